"""`diff`, `adjust`, `explain` and `report --text`: what a teacher types after grading."""

import csv
import importlib.util
import io
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from typer.testing import CliRunner
from typer.testing import Result as Outcome

from autograder.cli.main import app
from autograder.gradebook.gradebook import Gradebook, Record
from autograder.gradebook.similarity import Pair
from autograder.results.details import AttentionSeen, Comparison, Details, HeadWeights, Numbers
from autograder.results.grading_key import GradingKey
from autograder.results.result import (
    CheckOutcome,
    CriterionResult,
    Result,
    ShareResult,
    StageResult,
)
from tests.conftest import ASSIGNMENT

KEY = GradingKey(*"abcdefghi")


def run(*args: str | Path | float) -> Outcome:
    return CliRunner().invoke(app, [str(each) for each in args])


def graded(folder: Path, scores: dict[str, float], key: GradingKey = KEY, **kept: object) -> None:
    """A run in which each student has so many of the 9 points for masking in stage 3."""
    with Gradebook(folder, create=True) as book:
        held = book.begin(ASSIGNMENT.folder, key, ())
        for student, score in scores.items():
            lost = score < 9
            status: Literal["failed", "passed"] = "failed" if lost else "passed"
            checks = (CheckOutcome("causal::test_mask", status),)
            share = ShareResult("CausalAttention", score, 9.0, status, checks)
            named = ("no-mask",) if lost else ()
            criterion = CriterionResult(
                "masking", "No peeking", score, 9.0, status, "Mask it." * lost, named, (share,)
            )
            stage = StageResult("causal", "Causal attention", score, 9.0, (criterion,))
            result = Result(1, student, "d", "attention", score, 9.0, (stage,), ())
            record = Record(result, details=msgspec.json.encode(kept.get(student, Details())))
            book.add(held, record, reusable=True)
        book.finish(held, "finished")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "out"


class TestDiff:
    def test_it_tells_who_where_and_why(self, folder: Path) -> None:
        graded(folder, {"ada": 9, "bob": 9})
        graded(folder, {"ada": 4, "bob": 9}, msgspec.structs.replace(KEY, checks="changed"))
        outcome = run("diff", folder)
        assert outcome.exit_code == 0
        for told in (
            "changed between them: the hidden checks",
            "ada: 9 → 4",
            "causal/masking: 9 → 4",
            "passed before, failed (no-mask) now",
            "1 changed, 1 the same",
        ):
            assert told in " ".join(outcome.stdout.split())

    def test_any_two_runs_can_be_named(self, folder: Path) -> None:
        for score in (9, 4, 9):
            graded(folder, {"ada": score})
        assert "0 changed, 1 the same" in run("diff", folder, 1, 3).stdout
        assert "ada: 9 → 4" in run("diff", folder, 1, 2).stdout
        assert "ada: 4 → 9" in run("diff", folder, 2).stdout

    def test_who_came_and_went_is_told(self, folder: Path) -> None:
        graded(folder, {"ada": 9, "bob": 9})
        graded(folder, {"ada": 9, "zoë": 9})
        told = run("diff", folder).stdout
        assert "new in the later run: zoë" in told
        assert "no longer in the later run: bob" in told

    def test_one_run_alone_is_listed(self, folder: Path) -> None:
        graded(folder, {"ada": 9})
        outcome = run("diff", folder)
        assert outcome.exit_code == 0
        assert "Only one run is kept" in outcome.stdout

    def test_a_run_that_is_none_is_wrong_use(self, folder: Path) -> None:
        graded(folder, {"ada": 9})
        outcome = run("diff", folder, 1, 7)
        assert outcome.exit_code == 2
        assert "no run 7" in outcome.stderr

    def test_a_folder_without_a_gradebook_is_wrong_use(self, tmp_path: Path) -> None:
        assert run("diff", tmp_path).exit_code == 2


class TestAdjust:
    def adjust(self, folder: Path, *options: str | float) -> Outcome:
        return run("adjust", folder, "ada", "--criterion", "causal/masking", *options)

    def rows(self, folder: Path) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO((folder / "grades.csv").read_text())))

    def test_it_counts_in_table_and_pages_and_is_told_apart(self, folder: Path) -> None:
        graded(folder, {"ada": 4, "bob": 9})
        outcome = self.adjust(folder, "--points", 8, "--reason", "right, read by me")
        assert outcome.exit_code == 0
        assert outcome.stdout == "ada: causal/masking counts 8; the score is 8 of 9\n"
        ada, bob = self.rows(folder)
        assert (ada["score"], ada["changed by hand"]) == ("8", "4")
        assert (bob["score"], bob["changed by hand"]) == ("9", "")
        page = (folder / "students" / "ada" / "feedback.html").read_text()
        assert "from 4 to 8 points: right, read by me" in page
        assert "right, read by me" in (folder / "class.html").read_text()

    def test_result_json_stays_what_the_checks_found(self, folder: Path) -> None:
        graded(folder, {"ada": 4})
        run("report", folder)
        before = (folder / "students" / "ada" / "result.json").read_bytes()
        self.adjust(folder, "--points", 8, "--reason", "read")
        assert (folder / "students" / "ada" / "result.json").read_bytes() == before

    def test_it_survives_a_new_run(self, folder: Path) -> None:
        graded(folder, {"ada": 4})
        self.adjust(folder, "--points", 8, "--reason", "read")
        graded(folder, {"ada": 0}, msgspec.structs.replace(KEY, checks="changed"))
        assert "ada" in run("report", folder).stdout
        assert self.rows(folder)[0]["score"] == "8"

    def test_it_can_be_taken_back(self, folder: Path) -> None:
        graded(folder, {"ada": 4})
        self.adjust(folder, "--points", 8, "--reason", "read")
        assert "counts as graded again" in self.adjust(folder, "--remove").stdout
        assert self.rows(folder)[0]["score"] == "4"
        assert "changed by hand" not in self.rows(folder)[0]

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            (("--points", 8), "needs a --reason"),
            (("--points", 8, "--reason", "  "), "needs a --reason"),
            (("--points", 12, "--reason", "x"), "is worth 9 points, not 12"),
            ((), "either --points P or --remove"),
            (("--points", 8, "--reason", "x", "--remove"), "either --points P or --remove"),
            (("--remove",), "has no change to remove"),
        ],
    )
    def test_wrong_use_is_told(
        self, folder: Path, options: tuple[str | float, ...], told: str
    ) -> None:
        graded(folder, {"ada": 4})
        outcome = self.adjust(folder, *options)
        assert outcome.exit_code == 2
        assert told in outcome.stderr

    def test_negative_points_are_refused(self, folder: Path) -> None:
        graded(folder, {"ada": 4})
        assert self.adjust(folder, "--points", "-1", "--reason", "x").exit_code == 2

    def test_a_student_who_is_not_there_is_told_with_those_who_are(self, folder: Path) -> None:
        graded(folder, {"ada": 4, "bob": 9})
        outcome = run(
            *("adjust", folder, "eve", "--criterion", "stacking", "--points", 1, "--reason", "x")
        )
        assert outcome.exit_code == 2
        assert "no student 'eve'; known are ada, bob" in outcome.stderr

    def test_a_reason_is_text_wherever_it_is_shown(self, folder: Path) -> None:
        graded(folder, {"ada": 4})
        self.adjust(folder, "--points", 8, "--reason", "<script>x</script>\x1b[2J")
        for page in (folder / "class.html", folder / "students" / "ada" / "feedback.html"):
            assert "<script>x" not in page.read_text()
            assert "\x1b" not in page.read_text()
        assert "\x1b" not in run("explain", folder, "ada").stdout


class TestExplain:
    @pytest.fixture
    def kept(self) -> Details:
        told = {
            "standings": {"CausalAttention": {"kind": "explained", "misconceptions": ["no-mask"]}},
            "titles": {"no-mask": "no mask in force"},
            "output": "hello\x1b[2J\nthere",
            "failures": [
                {
                    "check": "causal::test_mask",
                    "status": "failed",
                    "expected": "outputs that depend on earlier tokens",
                    "found": "something else",
                    "numbers": "found [0.123], expected [0.456]",
                }
            ],
            "comparisons": [
                Comparison(
                    "CausalAttention",
                    "causal::test_mask",
                    "`CausalAttention` was called",
                    {"tokens": Numbers((2, 2), (0.25, 0.5, None, 1.0))},
                    Numbers((2,), (0.125, 0.75)),
                    Numbers((300,), tuple([0.0625] * 120)),
                ),
                Comparison(
                    "softmax", "s::t", "called", {}, Numbers((1,), (1.0,)), None, "TypeError: no"
                ),
            ],
            "attention": [
                AttentionSeen(
                    "CausalAttention",
                    "causal",
                    ("one", "two"),
                    (HeadWeights(((0.7, 0.3), (0.5, 0.5)), ((1.0, 0.0), (0.4, 0.6))),),
                    causal=True,
                )
            ],
        }
        return msgspec.json.decode(msgspec.json.encode(told), type=Details)

    def test_it_tells_inputs_expected_and_found(self, folder: Path, kept: Details) -> None:
        graded(folder, {"ada": 4, "bob": 9}, ada=kept)
        outcome = run("explain", folder, "ada")
        assert outcome.exit_code == 0
        told = " ".join(outcome.stdout.split())
        for each in (
            "CausalAttention: explained by no-mask (no mask in force)",
            "causal::test_mask: failed; expected outputs that depend",
            "found [0.123], expected [0.456]",
            "tokens (2, 2) 0.25 0.5 – 1",
            "expected (2,) 0.125 0.75",
            "found (300,) 0.0625",
            "and 180 more",
            "found nothing: TypeError: no",
            "CausalAttention: how much each word (row) attends",
            "what it printed hello",
            ".60",  # an expected weight: a teacher may see it
        ):
            assert each in told

    def test_a_change_by_hand_is_told_with_what_was_graded(self, folder: Path) -> None:
        graded(folder, {"ada": 4})
        run(
            *("adjust", folder, "ada", "--criterion", "causal/masking"),
            *("--points", 8, "--reason", "read"),
        )
        told = " ".join(run("explain", folder, "ada").stdout.split())
        assert re.search(r"changed by hand: causal/masking: graded 4, counts 8 since \d{4}-", told)

    def test_what_was_never_run_says_so(self, folder: Path) -> None:
        graded(folder, {"ada": 9})
        assert "it was not run" in run("explain", folder, "ada").stdout

    def test_a_student_who_is_not_there_is_wrong_use(self, folder: Path) -> None:
        graded(folder, {"ada": 9})
        outcome = run("explain", folder, "eve")
        assert outcome.exit_code == 2
        assert "known are ada" in outcome.stderr


class TestReport:
    def test_text_is_the_class_report_in_words(
        self, class_of: Callable[[int], Path], tmp_path: Path
    ) -> None:
        folder = tmp_path / "out"
        shutil.copytree(class_of(30), folder)
        outcome = run("report", folder, "--text")
        assert outcome.exit_code == 0
        assert "most common misconceptions" in outcome.stdout
        assert "\x1b" not in outcome.stdout  # nothing but text in a pipe

    def test_without_it_the_table_of_students_comes(
        self, class_of: Callable[[int], Path], tmp_path: Path
    ) -> None:
        folder = tmp_path / "out"
        shutil.copytree(class_of(2), folder)
        assert "ada 000" in run("report", folder).stdout


class TestSimilarity:
    def test_what_was_found_stays_on_the_pages_until_the_next_run(self, folder: Path) -> None:
        graded(folder, {"ada": 4, "bob": 4})
        with Gradebook(folder) as book:
            (held,) = book.runs()
            book.keep_similar(held, [Pair("ada", "bob", 0.9, 0.8, 300)])
        adjusting = ("adjust", folder, "ada", "--criterion", "causal/masking", "--points", 5)
        assert run(*adjusting, "--reason", "read").exit_code == 0
        assert "a place to look, not a verdict" in (folder / "class.html").read_text()
        assert "ada, bob" in run("report", folder, "--text").stdout
        graded(folder, {"ada": 4, "bob": 4}, msgspec.structs.replace(KEY, checks="changed"))
        run("report", folder)
        assert "a place to look" not in (folder / "class.html").read_text()

    def test_that_nothing_was_found_is_told_too(self, folder: Path) -> None:
        graded(folder, {"ada": 4})
        with Gradebook(folder) as book:
            book.keep_similar(book.runs()[0], [])
        run("report", folder)
        assert "No two submissions are more alike" in (folder / "class.html").read_text()

    @pytest.mark.skipif(
        importlib.util.find_spec("copydetect") is not None, reason="the extra is installed"
    )
    def test_without_the_extra_nothing_is_graded_in_vain(self, tmp_path: Path) -> None:
        (tmp_path / "class").mkdir()
        (tmp_path / "class" / "ada.py").write_text("x = 1")
        outcome = run(
            *("grade", tmp_path / "class", "--out", tmp_path / "out", "--similarity"),
        )
        assert outcome.exit_code == 3
        assert "pip install" in outcome.stderr
        assert not (tmp_path / "out").exists()
