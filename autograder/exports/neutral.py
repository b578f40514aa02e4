"""Formats that belong to no platform: CSV with everything in it, nbgrader's CSV, JUnit's XML."""

from collections.abc import Iterable
from xml.etree import ElementTree

from autograder.exports.filling import Wanted, shown
from autograder.exports.final import Final
from autograder.feedback.plain import plain, spreadsheet_cell
from autograder.feedback.words import status_of
from autograder.submissions.roster import Person
from autograder.submissions.sheet import written

PERSONAL = ("name", "id", "number", "login", "email", "github", "group")
SCORES = (
    "raw_score",
    "adjusted_score",
    "late_percent",
    "late",
    "score",
    "max_score",
    "status",
)
NBGRADER = (
    "assignment",
    "duedate",
    "timestamp",
    "student_id",
    "last_name",
    "first_name",
    "email",
    "raw_score",
    "late_submission_penalty",
    "score",
    "max_score",
)


def as_csv(finals: Iterable[Final], wanted: Wanted) -> str:
    """A line for each person: who, stages, score as graded, with changes, and after lateness.

    The stages include the teacher's changes, but not lateness.

    Args:
        finals: The scores.
        wanted: The assignment.
    """
    stages = [stage.id for stage in wanted.stages]
    header = ["student", *PERSONAL, *stages, *SCORES]
    rows = [header]
    for final in finals:
        graded = {stage.id: stage.score for stage in final.result.stages}
        unseen = None if final.result.score is None else 0.0
        for person in _people(final):
            rows.append(
                [
                    spreadsheet_cell(person.student or final.student),
                    *(spreadsheet_cell(getattr(person, key)) for key in PERSONAL),
                    *(_points(graded.get(stage, unseen)) for stage in stages),
                    _points(final.told.raw.score),
                    _points(final.result.score),
                    shown(final.lateness.percent),
                    spreadsheet_cell(final.lateness.reason),
                    _points(final.score),
                    shown(final.result.max_score),
                    status_of(final.result),
                ]
            )
    return written(rows)


def as_nbgrader(finals: Iterable[Final], wanted: Wanted, due: str) -> str:
    """The columns of `nbgrader export`, except that names with commas are quoted here.

    Args:
        finals: The scores.
        wanted: The assignment.
        due: The due date for its column; may be empty.
    """
    rows = [list(NBGRADER)]
    for final in finals:
        raw, score = final.result.score, final.score
        penalty = None if raw is None or score is None else raw - score
        for person in _people(final):
            last, _, first = person.name.partition(",")
            if not first:
                first, _, last = person.name.rpartition(" ")
            rows.append(
                [
                    wanted.id,
                    due,
                    spreadsheet_cell(final.origin.submitted),
                    spreadsheet_cell(person.student or final.student),
                    spreadsheet_cell(last.strip()),
                    spreadsheet_cell(first.strip()),
                    spreadsheet_cell(person.email),
                    _points(raw),
                    _points(penalty),
                    _points(score),
                    shown(final.result.max_score),
                ]
            )
    return written(rows)


def as_junit(finals: Iterable[Final], wanted: Wanted) -> bytes:
    """JUnit's XML: a suite for each student, a case for each criterion.

    Points are properties, since JUnit has no field for them.

    Args:
        finals: The scores.
        wanted: The assignment.
    """
    root = ElementTree.Element("testsuites", name=wanted.title)
    for final in finals:
        result = final.result
        cases = [(stage, criterion) for stage in result.stages for criterion in stage.criteria]
        lost = [criterion for _, criterion in cases if criterion.status != "passed"]
        unread = result.score is None or result.status == "error"
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=_xml(final.student),
            tests=str(len(cases) or 1),
            failures=str(len(lost)),
            errors=str(int(unread)),
        )
        _properties(suite, "score", final.score, result.max_score)
        if final.lateness.percent:
            told = suite.find("properties")
            assert told is not None
            value = f"{shown(final.lateness.percent)}%: {final.lateness.reason}"
            ElementTree.SubElement(told, "property", name="late", value=value)
        if unread:
            case = ElementTree.SubElement(suite, "testcase", classname="submission", name="read")
            ElementTree.SubElement(case, "error", message=_xml(result.message or "no score"))
        for stage, criterion in cases:
            case = ElementTree.SubElement(
                suite, "testcase", classname=stage.id, name=f"{criterion.id}: {criterion.title}"
            )
            _properties(case, "points", criterion.score, criterion.max_score)
            if criterion.status != "passed":
                failure = ElementTree.SubElement(case, "failure", message=criterion.status)
                failure.text = _xml(criterion.message)
    ElementTree.indent(root)
    return (
        b"<?xml version='1.0' encoding='utf-8'?>\n%b\n"
        % ElementTree.tostring(root, encoding="unicode").encode()
    )


def _properties(parent: ElementTree.Element, name: str, score: float | None, most: float) -> None:
    properties = ElementTree.SubElement(parent, "properties")
    if score is not None:
        ElementTree.SubElement(properties, "property", name=name, value=shown(score))
    ElementTree.SubElement(properties, "property", name=f"max_{name}", value=shown(most))


def _people(final: Final) -> tuple[Person, ...]:
    """The people who get a line: everyone in a group, or the student with all that is known."""
    people, said = final.origin.people, final.origin.said
    return people or (Person(**{**_fields(said), "student": final.student}),)


def _fields(person: Person) -> dict[str, str]:
    return {key: getattr(person, key) for key in (*PERSONAL, "repository")}


def _points(score: float | None) -> str:
    return "" if score is None else shown(score)


def _xml(text: str) -> str:
    """Text that XML can hold, without control codes and the two code points that it forbids."""
    return plain(text).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
