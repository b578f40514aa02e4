"""CSV with everything in it, nbgrader's CSV, JUnit's XML."""

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime
from xml.etree import ElementTree

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.assignment.assignment import Late
from autograder.exports.filling import Wanted
from autograder.exports.final import Final, final_scores
from autograder.exports.neutral import as_csv, as_junit, as_nbgrader
from autograder.gradebook.adjustments import Adjusted
from autograder.results.result import Result
from autograder.submissions.downloads.handin import Origin
from autograder.submissions.roster import Person

Finals = Callable[..., tuple[Final, ...]]


def as_graded(result: Result) -> Adjusted:
    """A result that no teacher changed."""
    return Adjusted(result, result)


LATE = Late(datetime(2026, 10, 1, tzinfo=UTC), flat_percent=25)
ADA = Origin(
    "canvas",
    Person(name="sampleada", id="4021"),
    (Person("ada", "Sample Example, Ada", "4021", login="al1", email="ada@x.org"),),
    late=True,
)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


class TestCsv:
    def test_raw_and_final_score_stand_side_by_side(self, finals: Finals, wanted: Wanted) -> None:
        (row,) = rows(as_csv(finals(LATE, ada=(0.8, ADA)), wanted))
        assert row == {
            "student": "ada",
            "name": "Sample Example, Ada",
            "id": "4021",
            "number": "",
            "login": "al1",
            "email": "ada@x.org",
            "github": "",
            "group": "",
            "simplified": "12",
            "trainable": "20",
            "causal": "24",
            "multi_head": "24",
            "raw_score": "80",
            "adjusted_score": "80",
            "late_percent": "25",
            "late": "late, unknown by how much",
            "score": "60",
            "max_score": "100",
            "status": "graded",
        }

    def test_everyone_of_a_group_has_a_line(self, finals: Finals, wanted: Wanted) -> None:
        team = Origin("moodle", Person(name="Team A"), (Person("gabo"), Person("chen")))
        found = rows(as_csv(finals(**{"Team A": (1.0, team)}), wanted))
        assert [(row["student"], row["score"]) for row in found] == [
            ("gabo", "100"),
            ("chen", "100"),
        ]

    def test_without_a_roster_the_platforms_marks_stand(
        self, finals: Finals, wanted: Wanted
    ) -> None:
        said = Origin("canvas", Person(name="sampleada", id="4021"))
        (row,) = rows(as_csv(finals(sampleada=(1.0, said)), wanted))
        assert (row["student"], row["id"]) == ("sampleada", "4021")

    def test_what_the_kit_failed_on_is_empty(self, finals: Finals, wanted: Wanted) -> None:
        (row,) = rows(as_csv(finals(ada=None), wanted))
        assert (row["causal"], row["score"], row["status"]) == ("", "", "ungraded")

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.text(min_size=1))
    def test_no_name_is_a_formula_or_breaks_the_table(
        self, grade: Callable[..., Result], wanted: Wanted, name: str
    ) -> None:
        origins = {name: Origin("canvas", Person(name=name, login="=1+1"))}
        (row,) = rows(as_csv(final_scores([as_graded(grade(name))], origins, LATE), wanted))
        for cell in (row["student"], row["name"], row["login"]):
            assert not cell.startswith(("=", "+", "-", "@", "|", "%", "\t", "\r", "\n"))
        assert row["score"] == "100"


class TestNbgrader:
    def test_it_has_the_columns_of_nbgraders_export(self, finals: Finals, wanted: Wanted) -> None:
        (row,) = rows(as_nbgrader(finals(LATE, ada=(0.8, ADA)), wanted, "2026-10-01"))
        assert row == {
            "assignment": "attention",
            "duedate": "2026-10-01",
            "timestamp": "",
            "student_id": "ada",
            "last_name": "Sample Example",
            "first_name": "Ada",
            "email": "ada@x.org",
            "raw_score": "80",
            "late_submission_penalty": "20",
            "score": "60",
            "max_score": "100",
        }

    def test_a_name_without_a_comma_ends_in_the_surname(
        self, finals: Finals, wanted: Wanted
    ) -> None:
        said = Origin("moodle", Person(name="Ada King Sample"))
        (row,) = rows(as_nbgrader(finals(ada=(1.0, said)), wanted, ""))
        assert (row["first_name"], row["last_name"]) == ("Ada King", "Sample")


class TestJunit:
    def test_points_are_properties_of_each_case(self, finals: Finals, wanted: Wanted) -> None:
        root = ElementTree.fromstring(as_junit(finals(LATE, ada=(0.8, ADA)), wanted))
        (suite,) = root.iter("testsuite")
        assert suite.attrib == {"name": "ada", "tests": "4", "failures": "4", "errors": "0"}
        own = {each.get("name"): each.get("value") for each in suite.findall("properties/property")}
        assert own == {
            "score": "60",
            "max_score": "100",
            "late": "25%: late, unknown by how much",
        }
        case = suite.findall("testcase")[2]
        assert case.get("classname") == "causal"
        points = {
            each.get("name"): each.get("value") for each in case.findall("properties/property")
        }
        assert points == {"points": "24", "max_points": "30"}
        failure = case.find("failure")
        assert failure is not None
        assert failure.get("message") == "failed"

    def test_full_marks_have_no_failure(self, finals: Finals, wanted: Wanted) -> None:
        root = ElementTree.fromstring(as_junit(finals(ada=1.0), wanted))
        assert list(root.iter("failure")) == []

    def test_work_that_could_not_be_read_is_an_error(self, wanted: Wanted) -> None:
        eve = Result(1, "eve", "", "attention", 0.0, 100.0, (), (), "error", "eve.zip: damaged")
        root = ElementTree.fromstring(as_junit(final_scores([as_graded(eve)], {}, LATE), wanted))
        (error,) = root.iter("error")
        assert error.get("message") == "eve.zip: damaged"

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.text(min_size=1), st.text())
    def test_no_name_and_no_message_breaks_the_file(
        self, grade: Callable[..., Result], wanted: Wanted, name: str, message: str
    ) -> None:
        final = final_scores([as_graded(grade(name, 0.5, message))], {}, LATE)
        root = ElementTree.fromstring(as_junit(final, wanted))
        assert len(list(root.iter("failure"))) == 4
