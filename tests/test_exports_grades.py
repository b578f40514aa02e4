"""`grades.csv`: student, each stage, score, status."""

import csv

from autograder.exports.grades import grades_csv
from autograder.results.result import Result, StageResult
from tests.conftest import ASSIGNMENT

STAGES = ASSIGNMENT.stages[:2]


def rows(*results: Result) -> list[list[str]]:
    return list(csv.reader(grades_csv(results, STAGES).splitlines()))


def graded(name: str, *scores: float) -> Result:
    stages = tuple(
        StageResult(stage.id, stage.title, score, float(stage.points), ())
        for stage, score in zip(STAGES, scores, strict=True)
    )
    return Result(1, name, "d", "attention", sum(scores), 40.0, stages, ())


def test_it_has_the_columns_of_the_contract() -> None:
    assert rows() == [["student", "simplified", "trainable", "score", "status"]]


def test_a_graded_student_has_each_stage() -> None:
    assert rows(graded("ada", 15.0, 7.5))[1] == ["ada", "15", "7.5", "22.5", "graded"]


def test_an_unreadable_submission_has_zeros() -> None:
    eve = Result(1, "eve", "", "attention", 0.0, 40.0, (), (), "error", "damaged")
    assert rows(eve)[1] == ["eve", "0", "0", "0", "error"]


def test_what_the_kit_failed_on_stays_empty() -> None:
    assert rows(Result(1, "kim", "d", "attention", None, 40.0, (), ()))[1] == [
        "kim",
        "",
        "",
        "",
        "ungraded",
    ]


def test_names_are_neither_formulas_nor_lines() -> None:
    table = rows(graded('=cmd|"/c calc"!A0', 1, 1), graded("a,b\nc", 1, 1))
    assert [row[0] for row in table[1:]] == ['\'=cmd|"/c calc"!A0', "a,b c"]
