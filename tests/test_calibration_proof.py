"""Parts of the proof: their cases, how they are graded, and the command that proves them."""

import re
from concurrent.futures import Future

import pytest
from typer.testing import CliRunner

from autograder.calibration.cases import (
    EVERY_POINT,
    NO_POINT,
    Case,
    Judge,
    Part,
    everything,
    nothing,
)
from autograder.calibration.proof import FAILED, PARTS, Plan, graded, one_coding_each
from autograder.calibration.variants import variants_folder, wrong_cases, wrong_variants
from autograder.cli.main import app
from autograder.errors import InternalError
from autograder.grading.exchange import Graded
from autograder.results.result import SCHEMA, Result
from autograder.submissions.submission import Submission
from tests.conftest import ASSIGNMENT, ROOT

FOLDER = variants_folder(ASSIGNMENT)


class Marked:
    """An executor that knows every score beforehand; a submission called `broken` fails it."""

    isolation = "process"
    width = 1

    def __init__(self, **scores: float) -> None:
        self.scores = scores

    def submit(self, submission: Submission, stages: tuple[str, ...] | None) -> Future[Graded]:
        future: Future[Graded] = Future()
        if submission.name == "broken":
            future.set_exception(InternalError("the worker died"))
        else:
            score = self.scores[submission.name]
            result = Result(SCHEMA, submission.name, "d", "attention", score, 100.0, (), ())
            future.set_result(Graded(result, 0.1, 0.1, self.isolation))
        return future

    def close(self) -> None:
        """Nothing is held."""


def case(name: str, judge: Judge) -> Case:
    return Case(name, Submission(name, (), "d1"), judge)


def test_every_case_is_judged_in_its_part_and_what_falls_short_is_kept() -> None:
    right = Part(
        "right", (EVERY_POINT,), [case(name, everything) for name in ("all", "some", "broken")]
    )
    null = Part("null", (NO_POINT,), [case("none", nothing)])
    done: list[str] = []
    executor = Marked(all=100.0, some=90.0, none=0.0)
    graded(executor, [right, null], lambda part: done.append(part.title))
    assert done == ["right", "right", "right", "null"]
    assert (right.count, right.good(EVERY_POINT)) == (3, 1)
    assert right.short[EVERY_POINT.title] == [
        ("some", "not scored"),
        ("broken", f"{FAILED}: the worker died"),
    ]
    assert not right.sound
    assert null.sound


def test_a_sample_is_spread_over_all_cases_and_the_whole_form_takes_every_one() -> None:
    cases = [case(str(number), nothing) for number in range(100)]
    assert Plan(ASSIGNMENT).thinned(cases, 10) == cases
    chosen = [int(each.label) for each in Plan(ASSIGNMENT, sample=True).thinned(cases, 10)]
    assert chosen == list(range(5, 100, 10))


def test_one_coding_of_every_mistake_of_every_stage_is_chosen() -> None:
    written = wrong_variants(FOLDER)
    chosen = one_coding_each(list(wrong_cases(ASSIGNMENT, FOLDER)), written)
    assert len(chosen) == len({(each.stage, each.id) for each in written})


@pytest.mark.parametrize("title", PARTS)
def test_every_part_has_cases_or_is_proved_by_itself(title: str) -> None:
    part = Plan(ASSIGNMENT, sample=True).part(title)
    assert part.title == title
    assert part.measures
    assert part.cases or part.count


def test_labels_are_told_apart() -> None:
    for title in ("misconceptions", "pairs", "mutants"):
        labels = [case.label for case in Plan(ASSIGNMENT).part(title).cases]
        assert len(labels) == len(set(labels)), title


class TestCommand:
    """`autograder calibrate`."""

    def run(self, *arguments: str) -> tuple[int, list[str], str]:
        done = CliRunner().invoke(app, ["calibrate", "--assignment", str(ROOT), *arguments])
        return done.exit_code, done.stdout.strip().splitlines(), done.stderr

    def test_a_part_that_holds_ends_well_with_a_summary(self) -> None:
        code, lines, _ = self.run("--only", "margins")
        assert code == 0
        assert any(line.startswith("margins  10 tolerances away") for line in lines)
        assert re.fullmatch(r"calibrated: \d+ cases in 1 part, everything holds", lines[-1])

    def test_an_unknown_part_is_wrong_use(self) -> None:
        code, _, told = self.run("--only", "pears")
        assert code == 2
        assert "pairs" in told

    def test_solutions_and_stubs_are_graded(self) -> None:
        code, lines, _ = self.run(
            "--only", "solutions", "--only", "stubs", "--isolation", "process"
        )
        assert code == 0
        assert [line.split("  ")[0].strip() for line in lines[:2]] == ["solutions", "stubs"]
        assert lines[-1].startswith("calibrated: 2 cases in 2 parts")

    def test_help_shows_an_example(self) -> None:
        code, lines, _ = self.run("--help")
        assert code == 0
        assert any("autograder calibrate --only pairs" in line for line in lines)
