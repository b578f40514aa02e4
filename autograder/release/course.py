"""`selfcheck/course.json`: what the self-check knows about the course, stubs included."""

from __future__ import annotations

import json
from collections.abc import Mapping

from torch import Tensor

from autograder.assignment.assignment import Assignment, Stage
from autograder.attention import worked_example

DIGITS = 6


def course_json(assignment: Assignment, handouts: str, stubs: Mapping[str, str]) -> str:
    """The course as the self-check reads it.

    Args:
        assignment: The assignment.
        handouts: The folder of the handouts within the template.
        stubs: The text of each stage's stub, by the stage's id.
    """
    told = {
        "title": assignment.title,
        "package": assignment.solutions.name,
        "stages": [
            {
                "id": stage.id,
                "title": stage.title,
                "module": stage.module,
                "handout": f"{handouts}/{stage.handout.name}",
                "tests": f"tests/test_{number}_{stage.id}.py",
                "names": _names(assignment, stage),
                "stub": stubs[stage.id],
            }
            for number, stage in enumerate(assignment.stages, start=1)
        ],
        "example": {
            "tokens": worked_example.TOKENS,
            "inputs": worked_example.INPUTS,
            "weights": {
                name: {role: rounded(weight) for role, weight in weights.items()}
                for name, weights in worked_example.all_weights().items()
            },
        },
    }
    return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def section_of(stage: Stage, name: str) -> str:
    """The handout's section for a name: that of the first criterion with a share for it."""
    for criterion in stage.criteria:
        if any(share.name == name for share in criterion.shares):
            return criterion.section
    return ""


def rounded(tensor: Tensor, digits: int = DIGITS) -> object:
    """A tensor's numbers as nested lists."""

    def shorter(value: object) -> object:
        if isinstance(value, list):
            return [shorter(each) for each in value]
        return round(value, digits) if isinstance(value, float) else value

    return shorter(tensor.tolist())


def _names(assignment: Assignment, stage: Stage) -> list[dict[str, str]]:
    kinds = {spec.name: spec.kind for spec in assignment.name_specs}
    return [
        {"name": name, "kind": kinds[name], "section": section_of(stage, name)}
        for name in stage.names
    ]
