"""`selfcheck/course.json`: what the self-check knows about the course, stubs included."""

from __future__ import annotations

import json
from collections.abc import Mapping

from autograder.assignment.assignment import Assignment, Stage
from autograder.assignment.subject import hook
from autograder.checks.declaration import rounded

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
        **_example(assignment),
    }
    return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def section_of(stage: Stage, name: str) -> str:
    """The handout's section for a name: that of the first criterion with a share for it."""
    for criterion in stage.criteria:
        if any(share.name == name for share in criterion.shares):
            return criterion.section
    return ""


def _example(assignment: Assignment) -> dict[str, object]:
    """The worked example of the handouts, where the subject has one."""
    example = hook(assignment, "example")
    if example is None:
        return {}
    tokens, inputs, weights = example()
    return {
        "example": {
            "tokens": tokens,
            "inputs": inputs,
            "weights": {
                name: {role: rounded(weight, DIGITS) for role, weight in each.items()}
                for name, each in weights.items()
            },
        }
    }


def _names(assignment: Assignment, stage: Stage) -> list[dict[str, str]]:
    kinds = {spec.name: spec.kind for spec in assignment.name_specs}
    return [
        {"name": name, "kind": kinds[name], "section": section_of(stage, name)}
        for name in stage.names
    ]
