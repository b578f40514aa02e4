"""Work that nobody could grade says what it is: no 0 points without a word."""

import io
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.assignment.assignment import load_assignment
from autograder.feedback.class_page import class_page
from autograder.feedback.terminal import class_view, console
from autograder.gradebook.class_analysis import Graded
from autograder.grading.worker import Worker
from autograder.results.details import Details
from autograder.results.result import Result
from autograder.submissions.entries import entries_of
from autograder.submissions.submission import Unreadable, read_submission

HERE = Path(__file__).parent / "surroundings"
ASSIGNMENT = load_assignment(HERE.parents[1])
LIMITS = ASSIGNMENT.limits
RIGHT = (HERE / "name_test_prefix" / "test_hw3.py").read_text()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(ASSIGNMENT.folder, "process") as held:
        yield held


def graded(worker: Worker, path: Path, stages: tuple[str, ...] | None = None) -> Result:
    return worker.grade(read_submission(path, LIMITS), stages).result


def refusal(path: Path) -> str:
    with pytest.raises(Unreadable) as caught:
        read_submission(path, LIMITS)
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestNames:
    @pytest.mark.parametrize("name", ["test_hw3.py", "setup.py", "conftest.py"])
    def test_a_single_file_is_graded_whatever_its_name(self, worker: Worker, name: str) -> None:
        result = graded(worker, HERE / "name_test_prefix" / name)
        assert result.score == 100
        assert [note for note in result.notes if note.startswith(f"{name} has the name of a test")]

    @pytest.mark.parametrize("kind", ["folder", "zip", "zip in a folder"])
    def test_so_it_is_in_a_folder_or_a_zip(self, worker: Worker, tmp_path: Path, kind: str) -> None:
        place = tmp_path / "ada"
        place.mkdir()
        if kind == "folder":
            (place / "test_hw3.py").write_text(RIGHT)
        else:
            with zipfile.ZipFile(place / "hw.zip", "w") as archive:
                archive.writestr("hw/test_hw3.py", RIGHT)
        result = graded(worker, place / "hw.zip" if kind == "zip" else place)
        assert result.score == 100
        assert any("read as the work" in note for note in result.notes)

    def test_so_it_is_in_a_download(self, tmp_path: Path) -> None:
        for student, number in (("ada", 1), ("wang", 2)):
            (tmp_path / f"{student}_100{number}_500{number}_test_hw3.py").write_text(RIGHT)
        entry = entries_of(tmp_path, tmp_path / "out")[0]
        assert entry.read(LIMITS).notes[0].startswith("test_hw3.py has the name of a test")

    def test_beside_other_work_such_a_file_is_passed_over(
        self, worker: Worker, tmp_path: Path
    ) -> None:
        (tmp_path / "hw3.py").write_text(RIGHT)
        (tmp_path / "test_hw3.py").write_text("def softmax(scores): return scores")
        result = graded(worker, tmp_path)
        assert result.score == 100
        assert result.notes == ("ignored, being no part of the work: test_hw3.py",)


class TestKinds:
    @pytest.mark.parametrize(
        ("name", "what", "remedy"),
        [
            ("docx_as_py.py", "a Word document", "plain text"),
            ("ipynb_as_py.py", "a notebook (JSON)", "give it the ending .ipynb"),
            ("lfs_pointer.py", "a Git LFS pointer", "git lfs pull"),
            ("pdf_as_py.py", "a PDF document", "hand in the source file"),
            ("py_as_ipynb.ipynb", "not a notebook (Python source)", "give it the ending .py"),
            ("rtf_textedit.py", "a rich-text document (RTF)", "plain text"),
            ("zip_as_ipynb.ipynb", "a zip archive", "give it the ending .zip"),
            ("zip_as_py.py", "a zip archive", "give it the ending .zip"),
            ("empty_py.py", "there is no code in it", "was the file saved"),
            ("blank_py.py", "there is no code in it", "was the file saved"),
        ],
    )
    def test_what_is_no_source_is_an_error_that_says_what_it_is(
        self, name: str, what: str, remedy: str
    ) -> None:
        line = refusal(HERE / "wrong_content" / name)
        assert line.startswith(f"{name}: ")
        assert what in line
        assert remedy in line

    @pytest.mark.parametrize(
        ("data", "what"),
        [
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 100, "an office program"),
            (b"<!DOCTYPE html>\n<html><body>def softmax(x):</body></html>", "a web page"),
            (b"\x1f\x8b\x08" + b"\0" * 20, "a gzip archive"),
            (b"\x89PNG\r\n\x1a\n", "an image"),
            (b"\xef\xbb\xbf \n", "there is no code in it"),
            (b"\xff\xfe\n\0", "there is no code in it"),
        ],
    )
    def test_more_kinds(self, tmp_path: Path, data: bytes, what: str) -> None:
        (tmp_path / "hw.py").write_bytes(data)
        assert what in refusal(tmp_path / "hw.py")

    def test_a_spreadsheet(self, tmp_path: Path) -> None:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("xl/workbook.xml", "<workbook/>")
        (tmp_path / "hw.py").write_bytes(packed.getvalue())
        assert "a spreadsheet (.xlsx)" in refusal(tmp_path / "hw.py")

    def test_beside_other_work_it_is_left_out_with_a_note(
        self, worker: Worker, tmp_path: Path
    ) -> None:
        (tmp_path / "hw3.py").write_text(RIGHT)
        (tmp_path / "old.py").write_bytes(b"%PDF-1.7\n")
        (tmp_path / "__init__.py").write_bytes(b"")
        result = graded(worker, tmp_path)
        assert result.score == 100
        assert result.notes == (
            "old.py is left out: no Python but a PDF document; hand in the source file that it"
            " was made from",
        )

    def test_a_report_alone_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "report.pdf").write_bytes(b"%PDF-1.7\n")
        assert "(there is report.pdf)" in refusal(tmp_path)


class TestHiddenCode:
    def test_a_second_ending_within_a_zip_is_told(self, worker: Worker) -> None:
        result = graded(worker, HERE / "hidden_txt" / "mixed_txt.zip")
        assert result.notes[0] == (
            "attention/causal.py.txt is not read, since its name ends in .txt: rename it causal.py"
            " and hand it in anew"
        )

    def test_a_single_file_of_two_endings(self, tmp_path: Path) -> None:
        (tmp_path / "hw3.py.txt").write_text(RIGHT)
        assert "rename it hw3.py and hand it in anew" in refusal(tmp_path / "hw3.py.txt")

    @pytest.mark.parametrize(
        ("name", "text", "told"),
        [
            ("hw.ipynb.json", '{"cells": [], "nbformat": 4}', "rename it hw.ipynb"),
            ("hw.json", '{"cells": [], "nbformat": 4}', "rename it hw.ipynb"),
            ("hw.txt", "import torch\n\ndef softmax(x):\n    return x\n", "save it as a .py file"),
            ("onlinetext.html", "<p>def softmax(x):</p>", "typed into the platform's box"),
        ],
    )
    def test_code_that_is_not_read_is_named(
        self, tmp_path: Path, name: str, text: str, told: str
    ) -> None:
        with zipfile.ZipFile(tmp_path / "ada.zip", "w") as archive:
            archive.writestr(f"ada/{name}", text)
        assert told in refusal(tmp_path / "ada.zip")
        with zipfile.ZipFile(tmp_path / "ada.zip", "a") as archive:
            archive.writestr("ada/hw3.py", RIGHT)
        notes = read_submission(tmp_path / "ada.zip", LIMITS).notes
        assert len(notes) == 1
        assert told in notes[0]

    @pytest.mark.parametrize("name", ["README.txt", "README.md", "data.json", "notes.txt"])
    def test_of_other_files_nothing_is_said(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "hw3.py").write_text(RIGHT)
        (tmp_path / name).write_text('{"attention": "my notes on the class"}')
        assert read_submission(tmp_path, LIMITS).notes == ()


class TestNothingFound:
    @pytest.mark.parametrize("kind", ["Markdown", "raw"])
    def test_code_in_cells_that_nobody_runs(self, worker: Worker, kind: str) -> None:
        name = f"nb_{kind.lower()}_cells.ipynb"
        result = graded(worker, HERE / "markdown_cells" / name)
        assert result.score == 0
        assert f"{name} has code in {kind} cells, which nobody runs" in str(result.message)
        assert "change the type of these cells to Code" in str(result.message)

    def test_explanations_in_cells_are_no_news(self, tmp_path: Path) -> None:
        cells = [
            {"cell_type": "markdown", "source": "```\ndef softmax(scores):\n    ...\n```"},
            {"cell_type": "code", "source": "def softmax(scores):\n    return scores"},
        ]
        (tmp_path / "hw.ipynb").write_text(json.dumps({"cells": cells}))
        assert read_submission(tmp_path / "hw.ipynb", LIMITS).notes == ()

    def test_code_in_a_class(self, worker: Worker) -> None:
        result = graded(worker, HERE / "leet" / "solution_class.py")
        assert result.message == (
            "solution_class: no graded name was found: attention_scores, softmax, context_vector,"
            " attention_weights and context_vectors are defined inside the class Solution"
            " (solution_class.py line 4), where they are not looked for; write them outside of it,"
            " at the left margin"
        )

    def test_code_under_a_main_guard(self, worker: Worker) -> None:
        result = graded(worker, HERE / "leet" / "main_guard_defs.py")
        assert 'under `if __name__ == "__main__"` (main_guard_defs.py line 4)' in str(
            result.message
        )

    def test_part_of_the_code_within_a_function(self, worker: Worker, tmp_path: Path) -> None:
        inner = "def main():\n    def causal_mask(num_tokens):\n        return num_tokens\n"
        (tmp_path / "hw.py").write_text("def softmax(scores):\n    return scores\n\n" + inner)
        result = graded(worker, tmp_path / "hw.py", ("simplified", "causal"))
        assert result.message is None
        assert (
            "causal_mask is defined inside the function main (hw.py line 4), where they are not"
            " looked for; write them outside of it, at the left margin"
        ) in result.notes

    def test_the_work_of_another_stage(self, worker: Worker, tmp_path: Path) -> None:
        (tmp_path / "hw.py").write_text("def softmax(scores):\n    return scores\n")
        result = graded(worker, tmp_path / "hw.py", ("causal",))
        assert result.message == (
            "hw: nothing of causal was found, but softmax: is it the work of another stage?"
        )

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("#include <stdio.h>\nint main() { return 0; }\n", "looks like C or C++"),
            ("public class Attention {\n  int x = 1;\n}\n", "looks like Java"),
            ("const softmax = (x) => {\n  return x;\n};\n", "looks like JavaScript"),
            ("softmax <- function(x) {\n  exp(x) / sum(exp(x))\n}\n", "looks like R,"),
            ("My essay about attention is as follows.\n", "this is no Python"),
            ("def train(model): ...\nclass LinearRegression: ...\n", "train and LinearRegression"),
            ("# TODO\n", "nothing is defined here"),
        ],
    )
    def test_another_language_and_another_work(
        self, worker: Worker, tmp_path: Path, text: str, told: str
    ) -> None:
        (tmp_path / "hw.py").write_text(text)
        result = graded(worker, tmp_path / "hw.py")
        assert result.score == 0
        assert told in str(result.message)

    def test_table_and_class_page_say_why(self, worker: Worker) -> None:
        result = graded(worker, HERE / "leet" / "solution_class.py")
        screen = console()
        screen.file = io.StringIO()
        screen.width = 400
        screen.print(class_view([result], ASSIGNMENT.stages))
        assert "inside the class Solution" in screen.file.getvalue()
        page = class_page([Graded(result, Details())], ASSIGNMENT.stages, ASSIGNMENT)
        assert "inside the class Solution" in page


class TestEncodings:
    @pytest.mark.parametrize(
        ("name", "told"),
        [
            ("nb_cp1252.ipynb", "is no valid utf-8; it was read as cp1252"),
            ("nb_utf16.ipynb", "is written in utf-16; save it in UTF-8"),
        ],
    )
    def test_a_notebook_is_read_as_it_was_saved(self, worker: Worker, name: str, told: str) -> None:
        result = graded(worker, HERE / "notebook_encoding" / name)
        assert result.score == 100
        assert f"{name} {told}" in result.notes

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-be", "utf-32", "latin-1"])
    def test_more_encodings(self, tmp_path: Path, encoding: str) -> None:
        text = json.dumps(
            {"cells": [{"cell_type": "code", "source": "s = 'é'"}]}, ensure_ascii=False
        )
        (tmp_path / "hw.ipynb").write_bytes(text.encode(encoding))
        (file,) = read_submission(tmp_path / "hw.ipynb", LIMITS).files
        assert file.cells == ("s = 'é'",)


class TestNewerPython:
    @pytest.mark.parametrize(
        ("name", "version"),
        [("py312_fstring.py", "3.12"), ("py312_type.py", "3.12"), ("py314_except.py", "3.14")],
    )
    def test_the_version_is_named(self, worker: Worker, name: str, version: str) -> None:
        result = graded(worker, HERE / "newer_python" / name)
        if sys.version_info < tuple(map(int, version.split("."))):
            assert any(f"needs Python {version} or newer" in note for note in result.notes)
        assert not any("is no Python" in note for note in result.notes)

    def test_a_mistake_is_no_newer_python(self, worker: Worker, tmp_path: Path) -> None:
        (tmp_path / "hw.py").write_text("def softmax(scores)\n    return scores\nx = 1\n")
        (note,) = [each for each in graded(worker, tmp_path / "hw.py").notes if "line 1" in each]
        assert "is no Python" in note
