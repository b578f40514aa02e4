"""`final_scores`: the one place between the gradebook and an export where a score changes."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from autograder.assignment.assignment import Late
from autograder.exports.final import final_scores, without_hand_in
from autograder.exports.late import read_times
from autograder.gradebook.adjustments import Adjusted
from autograder.results.result import Result
from autograder.submissions.downloads.handin import Origin
from autograder.submissions.roster import Person
from tests.conftest import ASSIGNMENT

LATE = Late(datetime(2026, 10, 1, tzinfo=UTC), percent_per_day=10, cap_percent=50, flat_percent=20)
CAUSAL = ASSIGNMENT.stage("causal")


def as_graded(result: Result) -> Adjusted:
    """A result that no teacher changed."""
    return Adjusted(result, result)


def test_lateness_is_taken_off_total_and_stages_and_the_raw_score_is_kept(
    grade: Callable[..., Result],
) -> None:
    (final,) = final_scores(
        [as_graded(grade("ada", 0.8))], {"ada": Origin("canvas", late=True)}, LATE
    )
    assert (final.result.score, final.score) == (80.0, 64.0)
    assert final.stage(CAUSAL) == 19.2
    assert final.lateness.percent == 20


def test_nobody_is_charged_who_was_in_time(grade: Callable[..., Result]) -> None:
    (final,) = final_scores([as_graded(grade("ada", 0.8))], {}, LATE)
    assert (final.score, final.lateness.reason) == (80.0, "")


def test_what_the_kit_failed_on_has_no_score(grade: Callable[..., Result]) -> None:
    (final,) = final_scores(
        [as_graded(grade("ada", None))], {"ada": Origin("canvas", late=True)}, LATE
    )
    assert final.score is None


def test_unreadable_work_is_zero_in_every_stage() -> None:
    unreadable = Result(1, "eve", "", "attention", 0.0, 100.0, (), (), "error", "damaged")
    (final,) = final_scores([as_graded(unreadable)], {}, LATE)
    assert (final.score, final.stage(CAUSAL)) == (0.0, 0.0)


def test_a_teachers_changes_come_before_lateness(grade: Callable[..., Result]) -> None:
    raw = grade("ada", 0.8)
    told = Adjusted(msgspec.structs.replace(raw, score=90.0), raw)
    (final,) = final_scores([told], {"ada": Origin("canvas", late=True)}, LATE)
    assert (final.told.raw.score, final.result.score, final.score) == (80.0, 90.0, 72.0)


def test_times_find_students_groups_and_who_handed_nothing_in(
    grade: Callable[..., Result], tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(
        "student,submitted_at,group\n"
        "ada@x.org,2026-10-01T12:00Z,\n"
        ",2026-10-02T12:00Z,Team A\n"
        "nobody,2026-10-03T12:00Z,\n"
    )
    times = read_times(tmp_path / "t.csv", UTC)
    origins = {
        "ada": Origin("canvas", people=(Person("ada", email="ada@x.org"),)),
        "Team A": Origin("moodle", people=(Person("gabo"), Person("chen"))),
    }
    finals = final_scores(
        [as_graded(grade(name)) for name in ("ada", "Team A", "on time")], origins, LATE, times
    )
    assert [final.score for final in finals] == [90.0, 80.0, 100.0]
    assert [person.student for person in without_hand_in(finals, times)] == ["nobody"]


def test_a_groups_score_is_everyones(grade: Callable[..., Result]) -> None:
    origins = {"Team A": Origin("moodle", people=(Person("gabo"), Person("chen")))}
    (final,) = final_scores([as_graded(grade("Team A"))], origins, LATE)
    assert final.people("canvas") == ((Person("gabo"),), (Person("chen"),))


def test_a_student_is_looked_for_by_the_platforms_marks_first(grade: Callable[..., Result]) -> None:
    said, person = Person(name="sampleada", id="4021"), Person("ada", login="al1")
    (final,) = final_scores(
        [as_graded(grade("ada"))], {"ada": Origin("canvas", said, (person,))}, LATE
    )
    assert final.people("canvas") == ((said, person, Person(student="ada")),)


def test_another_platforms_numbers_are_not_looked_for(grade: Callable[..., Result]) -> None:
    said, person = Person(name="Ada Sample", id="4021"), Person("ada", login="al1", id="4021")
    told = [as_graded(grade("ada"))]
    (final,) = final_scores(told, {"ada": Origin("moodle", said, (person,))}, LATE)
    assert final.people("canvas") == (
        (Person(name="Ada Sample"), Person("ada", login="al1"), Person(student="ada")),
    )
    (cloned,) = final_scores(told, {"ada": Origin("github", Person(), (person,))}, LATE)
    assert cloned.people("canvas") == ((person, Person(student="ada")),)
