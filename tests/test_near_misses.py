"""Work that says nearly what the contract says: read, told, and paid for once.

The slips stand in `tests/variants/near/slips.toml`, each a change of a right submission that is
graded as a whole: a row of the interface's last section, what it may cost, what must be told.
"""

import tomllib

import msgspec
import pytest

from autograder.calibration.cases import lost
from autograder.calibration.variants import base_variant, overlaid, variants_folder
from autograder.grading.worker import Worker
from autograder.results.result import Result
from autograder.submissions.submission import Submission
from tests.conftest import ASSIGNMENT

FOLDER = variants_folder(ASSIGNMENT)
RIGHT = base_variant(ASSIGNMENT)


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text in a module, and what stands in its place everywhere."""

    module: str
    before: str
    after: str


class Slip(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row: what differs from the contract, and what comes of it."""

    what: str
    row: str
    changes: tuple[Change, ...]
    costs: tuple[str, ...] = ()
    told: tuple[str, ...] = ()


class _Slips(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    slip: tuple[Slip, ...]


SLIPS = msgspec.convert(
    tomllib.loads((FOLDER / "near" / "slips.toml").read_text("utf-8")), _Slips
).slip


def slipped(slip: Slip) -> Submission:
    """The right submission with the slip."""
    sources = {
        file.path.rpartition("/")[2].removesuffix(".py"): file.data.decode() for file in RIGHT.files
    }
    for change in slip.changes:
        assert change.before in sources[change.module], change.before
        sources[change.module] = sources[change.module].replace(change.before, change.after)
    found = RIGHT
    for module, source in sources.items():
        found = overlaid(found, f"{module}.py", source.encode(), "near")
    return found


def everything_told(result: Result) -> str:
    """All that a student reads: notes, and the messages of what was lost."""
    return "\n".join([*result.notes, *(criterion.message for _, criterion in lost(result))])


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: f"{slip.row}: {slip.what}")
def test_a_slip_costs_what_it_may_and_is_told(slip: Slip, worker: Worker) -> None:
    result = worker.grade(slipped(slip)).result
    assert {f"{stage}.{criterion.id}" for stage, criterion in lost(result)} == set(slip.costs)
    told = everything_told(result)
    for text in slip.told:
        assert text in told


def test_every_row_of_the_contract_is_tried() -> None:
    rows = [slip.row for slip in SLIPS]
    for row, least in (("names", 8), ("constructors", 12), ("roles", 8), ("tuples", 3)):
        assert rows.count(row) >= least, row
    assert rows.count("globals") >= 3


def test_one_slip_costs_one_criterion_unless_a_name_is_not_there_at_all() -> None:
    several = {slip.what for slip in SLIPS if len(slip.costs) > 1}
    assert several == {
        "v2 written, v1 not: never the one for the other",
        "another word: asked whether it was meant",
        "a size is a global that is nowhere",
    }


def test_what_costs_something_is_told_by_the_name_that_was_found_or_looked_for() -> None:
    assert all(slip.told for slip in SLIPS if slip.costs)
