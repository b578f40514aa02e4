"""Work as it really arrives: sixty odd shapes, each with the score and the notes that it must get.

`shapes/manifest.toml` says what is odd about each and what it is made of: files of a right variant,
moved, changed, and written beside. What is binary, archives and notebooks, is made here.
"""

import fnmatch
import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from autograder.grading.worker import Worker
from autograder.results.result import Result, decode_result
from autograder.submissions.submission import read_submission
from tests.conftest import ASSIGNMENT

HERE = Path(__file__).parent
SHAPES = HERE / "shapes"
RIGHT = HERE / "variants" / "right"


class Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the manifest: one hand-in, and what must come out.

    base: the right variant that it is made of; `without`: its files that are left out (patterns),
    `move`: what its files are called instead, `under`: the folder that it is put into; `change`:
    texts in its files and what stands there instead. `files`: more files; `{{path}}` stands for the
    text of a file of the base, and a notebook is written as its cells with `# %%` between them.
    What lies in `shapes/NAME/` comes on top; there a notebook is called `NAME.ipynb.py`.
    pack: how it is handed in. `notes`: a part of each note, and no other note may be there.
    lost: patterns of the criteria that lose points, as stage.criterion; `told`: parts of what is
    said of them. `awaits`: what in the kit has to change before this can be.
    """

    name: str
    what: str
    base: str = ""
    without: tuple[str, ...] = ()
    move: dict[str, str] = {}
    under: str = ""
    change: dict[str, list[tuple[str, str]]] = {}
    files: dict[str, str] = {}
    sizes: dict[str, int] = {}  # files of so many zero bytes
    encoding: dict[str, str] = {}  # of files that are not UTF-8
    line_end: str = "\n"
    notebook_format: Literal[3, 4] = 4
    pack: Literal["folder", "file", "zip", "zip in a folder"] = "folder"
    separator: str = "/"  # between the parts of a name in a zip
    score: float = 100.0
    lost: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    awaits: str = ""


class ClassEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One student of a class: a shape under the name that a platform or a teacher gave it."""

    path: str
    shape: str = ""  # "" for an entry that is no work
    student: str = ""  # whose entry it is; "" for nobody's


class ClassShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A class folder: what platforms hand out and teachers collect."""

    name: str
    what: str
    entries: tuple[ClassEntry, ...]


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of `manifest.toml`."""

    shape: tuple[Shape, ...]
    bulk: tuple[ClassShape, ...]

    def named(self, name: str) -> Shape:
        """A shape by its name."""
        return next(shape for shape in self.shape if shape.name == name)


MANIFEST = msgspec.convert(tomllib.loads((SHAPES / "manifest.toml").read_text("utf-8")), Manifest)


# --- making a hand-in -------------------------------------------------------------------------


def contents(shape: Shape) -> dict[str, bytes]:
    """Every file of a hand-in, by its path."""
    base = dict(_base_files(shape.base)) if shape.base else {}
    texts = {path: data.decode("utf-8") for path, data in base.items()}
    for path, changes in shape.change.items():
        for before, after in changes:
            assert before in texts[path], f"{shape.name}: {before!r} is not in {path}"
            texts[path] = texts[path].replace(before, after)
    files: dict[str, bytes] = {}
    for path, text in texts.items():
        if not any(fnmatch.fnmatchcase(path, pattern) for pattern in shape.without):
            files[shape.under + shape.move.get(path, path)] = _encoded(shape, path, text)
    for path, text in (shape.files | dict(_own_files(shape))).items():
        for other, source in texts.items():
            text = text.replace("{{" + other + "}}", source)
        assert "{{" not in text, f"{shape.name}: {path} names a file that is not there"
        files[path] = _written(shape, path, text)
    files |= {path: bytes(size) for path, size in shape.sizes.items()}
    return files


def _base_files(base: str) -> Iterator[tuple[str, bytes]]:
    root = RIGHT / base
    if root.is_file():
        yield root.name, root.read_bytes()
        return
    for file in sorted(root.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file.relative_to(root).as_posix(), file.read_bytes()


def _own_files(shape: Shape) -> Iterator[tuple[str, str]]:
    root = SHAPES / shape.name
    for file in sorted(root.rglob("*.py")):
        path = file.relative_to(root).as_posix()
        yield path.removesuffix(".py") if path.endswith(".ipynb.py") else path, file.read_text()


def _encoded(shape: Shape, path: str, text: str) -> bytes:
    data = text.replace("\n", shape.line_end)
    return data.encode(shape.encoding.get(path, "utf-8"))


def _written(shape: Shape, path: str, text: str) -> bytes:
    is_percent = path.casefold().endswith(".ipynb") and not text.startswith("{")
    return _notebook(shape, text) if is_percent else _encoded(shape, path, text)


def _notebook(shape: Shape, text: str) -> bytes:
    """A notebook file of the cells of a text."""
    cells: list[dict[str, Any]] = [{"cell_type": "markdown", "metadata": {}, "source": "# Work"}]
    key = "source" if shape.notebook_format == 4 else "input"
    for cell in text.split("# %%\n"):
        lines = cell.strip("\n").splitlines(keepends=True)
        if lines:
            outputs = [{"output_type": "stream", "name": "stdout", "text": ["softmax = 1\n"]}]
            cells.append({"cell_type": "code", "metadata": {}, key: lines, "outputs": outputs})
    body: dict[str, Any] = {"metadata": {}, "nbformat": shape.notebook_format, "nbformat_minor": 5}
    body |= {"cells": cells} if shape.notebook_format == 4 else {"worksheets": [{"cells": cells}]}
    return json.dumps(body).encode()


def hand_in(shape: Shape, folder: Path, name: str = "") -> Path:
    """Make a hand-in below `folder`, the way it is handed in; `name`: of the entry."""
    files = contents(shape)
    entry = folder / (name or shape.name)
    if shape.pack == "file":
        (path,) = files
        target = entry.with_name(name or path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(files[path])
        return target
    if shape.pack == "folder":
        for path, data in files.items():
            file = entry / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        return entry
    target = entry.with_name(entry.name.removesuffix(".zip") + ".zip")
    if shape.pack == "zip in a folder":
        target = entry / "work.zip"
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            info = zipfile.ZipInfo("x")
            info.filename = path.replace("/", shape.separator)
            archive.writestr(info, data)
    return entry if shape.pack == "zip in a folder" else target


# --- what must come out -----------------------------------------------------------------------


def shortcomings(shape: Shape, result: Result) -> list[str]:
    """Everything in which a result is not what the manifest says."""
    short = []
    if result.score != shape.score:
        short.append(f"score {result.score}, not {shape.score}")
    losers = [
        (f"{stage.id}.{criterion.id}", criterion)
        for stage in result.stages
        for criterion in stage.criteria
        if criterion.score < criterion.max_score
    ]
    short += [
        f"lost {name}: {each.status}, {each.message}"
        for name, each in losers
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in shape.lost)
    ]
    short += [
        f"nothing lost of {pattern}"
        for pattern in shape.lost
        if not fnmatch.filter([name for name, _ in losers], pattern)
    ]
    messages = "\n".join(each.message or "" for _, each in losers)
    short += [f"not told: {part!r} in {messages}" for part in shape.told if part not in messages]
    short += [
        f"no note has {part!r}"
        for part in shape.notes
        if not any(part in note for note in result.notes)
    ]
    short += [
        f"not expected: {note!r}"
        for note in result.notes
        if not any(part in note for part in shape.notes)
    ]
    return short


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(ASSIGNMENT.folder) as held:
        yield held


def test_there_are_sixty_of_them() -> None:
    shapes: tuple[Shape | ClassShape, ...] = (*MANIFEST.shape, *MANIFEST.bulk)
    names = [shape.name for shape in shapes]
    assert len(names) >= 60
    assert len(set(names)) == len(names)
    assert {folder.name for folder in SHAPES.iterdir() if folder.is_dir()} <= set(names)


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(
            shape,
            id=shape.name,
            marks=[pytest.mark.xfail(reason=shape.awaits)] if shape.awaits else [],
        )
        for shape in MANIFEST.shape
    ],
)
def test_a_shape_gets_its_score_and_its_notes(shape: Shape, worker: Worker, tmp_path: Path) -> None:
    submission = read_submission(hand_in(shape, tmp_path), ASSIGNMENT.limits)
    assert shortcomings(shape, worker.grade(submission).result) == []


@pytest.mark.parametrize(
    "bulk",
    [
        pytest.param(bulk, id=bulk.name, marks=pytest.mark.proof if number else ())
        for number, bulk in enumerate(MANIFEST.bulk)
    ],
)
def test_a_class_gets_what_each_would_get_alone(bulk: ClassShape, tmp_path: Path) -> None:
    wanted: dict[str, Shape | None] = {}
    for entry in bulk.entries:
        if entry.shape:
            made = hand_in(MANIFEST.named(entry.shape), tmp_path / "made", Path(entry.path).name)
            target = tmp_path / "class" / entry.path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(made, target)
        elif entry.path.endswith("/"):
            (tmp_path / "class" / entry.path).mkdir(parents=True)
        else:
            (tmp_path / "class" / entry.path).write_text("nothing to be graded\n")
        if entry.student:
            wanted[entry.student] = MANIFEST.named(entry.shape) if entry.shape else None
    out = tmp_path / "out"
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "autograder.cli.main",
        "grade",
        tmp_path / "class",
        "--out",
        out,
    ]
    run = subprocess.run([*command, "--jobs", "1"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    results = {
        folder.name: decode_result((folder / "result.json").read_bytes())
        for folder in (out / "students").iterdir()
    }
    assert sorted(results) == sorted(wanted)
    assert _all_shortcomings(wanted, results) == {}


def _all_shortcomings(
    wanted: Mapping[str, Shape | None], results: Mapping[str, Result]
) -> dict[str, list[str]]:
    short: dict[str, list[str]] = {}
    for student, shape in wanted.items():
        result = results[student]
        if shape is None:
            found = [] if result.status == "error" else ["it should be unreadable"]
        else:
            found = shortcomings(shape, result)
        if found:
            short[student] = found
    return short
