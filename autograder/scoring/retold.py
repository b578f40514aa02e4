"""What a teacher gets beyond the result: the first wrong call of each name, and titles of mistakes.

The judge writes it, since only the judge has tensors and the catalogue.
"""

from __future__ import annotations

import math
from functools import partial

from torch import Tensor

from autograder.assignment.assignment import Assignment, Stage
from autograder.checks.evidence import Evidence, Recorded, References
from autograder.checks.kept import Kept
from autograder.diagnosis.catalogue import stage_catalogue
from autograder.results.details import Comparison, Numbers
from autograder.results.result import Result
from autograder.scoring.student_messages import call_in_words

#: Numbers kept of one tensor: enough for a batch of outputs and their inputs, not for a model.
MOST_NUMBERS = 120
DIGITS = 4


def titles_of(assignment: Assignment, result: Result) -> dict[str, str]:
    """The titles of the misconceptions that a result names, by id."""
    return {
        each: stage_catalogue(assignment, assignment.stage(stage.id)).named(each).title
        for stage in result.stages
        for criterion in stage.criteria
        for each in criterion.misconceptions
    }


def comparisons(
    assignment: Assignment, evidence: Evidence, references: References
) -> tuple[Comparison, ...]:
    """The first call of each name whose output differed from the reference's.

    Args:
        assignment: The assignment.
        evidence: What the checks found.
        references: The reference's outputs for the same inputs.

    Returns:
        The comparisons in the assignment's order of names, numbers rounded to `DIGITS`.
    """
    wrong: dict[str, Recorded] = {}
    for entry in evidence.recorded:
        if not entry.right:
            wrong.setdefault(entry.check.name, entry)
    return tuple(
        _comparison(assignment, stage, wrong[name], references)
        for stage in assignment.stages
        for name in stage.names
        if name in wrong
    )


def _comparison(
    assignment: Assignment, stage: Stage, entry: Recorded, references: References
) -> Comparison:
    given = entry.observation.given
    chain = stage_catalogue(assignment, stage).chains[entry.check.name]
    expected = references.of(entry.check.name, chain, given).output
    found = entry.observation.value
    return Comparison(
        name=entry.check.name,
        check=entry.check_id,
        call=call_in_words(entry),
        inputs={name: _known_numbers(tensor) for name, tensor in given.inputs()},
        expected=_known_numbers(expected),
        found=None if found is None else _numbers(found),
        exception=entry.observation.exception,
    )


def _known_numbers(tensor: Tensor) -> Numbers:
    """The numbers of a tensor that all students share; computed once."""
    return NUMBERS.of((), (tensor,), partial(_numbers, tensor))


#: Tensors whose numbers are kept; more than one class asks about.
NUMBERS: Kept[Numbers] = Kept(200)


def _numbers(tensor: Tensor) -> Numbers:
    flat = tensor.detach().flatten()[:MOST_NUMBERS].double()
    return Numbers(
        tuple(tensor.shape),
        tuple(
            float(f"{number:.{DIGITS}g}") if math.isfinite(number) else None
            for number in flat.tolist()
        ),
    )
