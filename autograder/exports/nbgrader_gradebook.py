"""Writes scores into nbgrader's own gradebook, through its API, for work graded elsewhere.

Grade cells are named as `autograder release nbgrader` names them: `causal-masking` for the
criterion `masking` of the stage `causal`, in any notebook. Late penalties go where nbgrader keeps
them, beside the scores. Manual scores and comments stay as they are.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from autograder.errors import MissingRequirement, UsageError
from autograder.exports.filling import Filled, Wanted, found_in, who_of
from autograder.exports.final import Final
from autograder.results.criterion_keys import criterion_key
from autograder.submissions.roster import Person, Roster


def fill(database: Path, finals: Iterable[Final], wanted: Wanted) -> Filled:
    """Write a class's scores into a gradebook.

    Args:
        database: nbgrader's `gradebook.db`; written to.
        finals: The scores.
        wanted: The assignment.

    Returns:
        An account of who got a score and who did not.

    Raises:
        MissingRequirement: nbgrader is not installed.
        UsageError: The gradebook does not have the assignment, or not these criteria.
    """
    try:
        from nbgrader.api import Gradebook, MissingEntry
    except ImportError:
        raise MissingRequirement(
            "writing into nbgrader's gradebook needs nbgrader:"
            " pip install 'attention-autograder[nbgrader]'; a .csv works without"
        ) from None
    if not database.is_file():
        raise UsageError(f"{database}: no such file; name the gradebook.db of the course")
    filled = Filled()
    with Gradebook(f"sqlite:///{database}") as book:
        try:
            assignment = book.find_assignment(wanted.id)
        except MissingEntry:
            known = ", ".join(each.name for each in book.assignments) or "none"
            raise UsageError(f"{database}: no assignment {wanted.id}; known are {known}") from None
        _expect(database, assignment, wanted)
        roster = Roster(_person(student) for student in book.students)
        taken: dict[str, str] = {}
        for final in finals:
            for student in _students(final, roster, taken, filled):
                submission = book.update_or_create_submission(wanted.id, student)
                _grade(submission, final, wanted)
                filled.rows[len(filled.rows) + 1] = final
        book.db.commit()
        filled.left += [
            (person.student, "nothing graded")
            for person in roster.people
            if person.student not in taken
        ]
    return filled


def _expect(database: Path, assignment: Any, wanted: Wanted) -> None:
    """Make sure that every graded criterion has its cell, with its points."""
    cells = {
        cell.name: cell.max_score for each in assignment.notebooks for cell in each.grade_cells
    }
    for stage in wanted.stages:
        for criterion in stage.criteria:
            name = criterion_key(stage.id, criterion.id)
            if cells.get(name) != criterion.points:
                found = f"{cells[name]:g} points" if name in cells else "no such cell"
                raise UsageError(
                    f"{database}: expected a grade cell {name} of {criterion.points} points in"
                    f" {wanted.id}; found {found}; the notebooks must come from this release"
                )


def _students(final: Final, roster: Roster, taken: dict[str, str], filled: Filled) -> Iterable[str]:
    """The nbgrader students whose score it is; those without a match are listed in `filled`."""
    for candidates in final.people("nbgrader"):
        who = who_of(final, candidates)
        found = found_in(roster, candidates)
        if len(found) != 1:
            filled.strangers.append(
                (who, "several matching students" if found else "no matching student")
            )
        elif taken.setdefault(found[0].student, final.student) != final.student:
            filled.strangers.append((who, f"{found[0].student} already has a score"))
        elif final.score is None:
            filled.left.append((who, "the kit failed on the work"))
        else:
            yield found[0].student


def _grade(submission: Any, final: Final, wanted: Wanted) -> None:
    """The graded criteria's scores; work that could not be read has none of them."""
    earned = {
        criterion_key(stage.id, criterion.id): 0.0
        for stage in wanted.stages
        for criterion in stage.criteria
    } | {
        criterion_key(stage.id, criterion.id): criterion.score
        for stage in final.result.stages
        for criterion in stage.criteria
    }
    for notebook in submission.notebooks:
        graded = [grade for grade in notebook.grades if grade.cell.name in earned]
        for grade in graded:
            grade.auto_score = float(earned[grade.cell.name])
            grade.needs_manual_grade = False
        if graded:
            raw = sum(grade.auto_score for grade in graded)
            notebook.late_submission_penalty = round(raw * final.lateness.percent / 100, 2)


def _person(student: Any) -> Person:
    names = [each for each in (student.last_name, student.first_name) if each]
    return Person(
        student=student.id,
        name=", ".join(names),
        id=student.lms_user_id or "",
        email=student.email or "",
    )
