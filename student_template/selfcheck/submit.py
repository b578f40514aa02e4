"""Makes the zip to hand in, and says what of it will be graded."""

from __future__ import annotations

import ast
import json
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from .course import ROOT, Stage, course

NOTEBOOKS = ROOT / "notebooks"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same work gives the same zip


@dataclass(slots=True)
class Found:
    """What a source or a notebook has of the names: written out, or only as stubs."""

    written: set[str] = field(default_factory=set)
    stubs: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Submission:
    """The zip, what is in it, and how it stands with each name."""

    zip: Path
    files: tuple[Path, ...]
    written: dict[str, Path]
    stubs: tuple[tuple[Stage, str], ...]
    missing: tuple[tuple[Stage, str], ...]
    unreadable: tuple[str, ...]


def submit() -> Submission:
    """Look through the work, make the zip, and tell what was found."""
    candidates = sorted((ROOT / course().package).glob("*.py"))
    candidates += sorted(NOTEBOOKS.glob("*.ipynb")) if NOTEBOOKS.is_dir() else []
    unreadable: list[str] = []
    found = {file: _look_into(file, unreadable) for file in candidates}
    wanted = [(stage, name.name) for stage in course().stages for name in stage.names]
    written: dict[str, Path] = {}
    stubs, missing = [], []
    for stage, name in wanted:
        places = [file for file in candidates if name in found[file].written]
        if places:
            written[name] = places[0]
        elif any(name in found[file].stubs for file in candidates if file.suffix == ".py"):
            stubs.append((stage, name))
        else:
            missing.append((stage, name))
    notebooks = {file for file in written.values() if file.suffix == ".ipynb"}
    files = tuple(file for file in candidates if file.suffix == ".py" or file in notebooks)
    target = ROOT / f"{course().package}.zip"
    _pack(target, files)
    return Submission(target, files, written, tuple(stubs), tuple(missing), tuple(unreadable))


def _look_into(file: Path, unreadable: list[str]) -> Found:
    found = Found()
    inner = file.relative_to(ROOT).as_posix()
    try:
        text = file.read_text(encoding="utf-8")
        sources = _cells(text) if file.suffix == ".ipynb" else [text]
    except (OSError, ValueError, KeyError, TypeError):
        unreadable.append(f"{inner} cannot be read")
        return found
    for number, source in enumerate(sources, start=1):
        try:
            body = ast.parse(source).body
        except (SyntaxError, ValueError) as error:
            if file.suffix == ".py":
                line = getattr(error, "lineno", 1)
                unreadable.append(f"{inner}:{line} is not Python yet")
            elif "def " in source or "class " in source:
                unreadable.append(f"{inner}: code cell {number} is not Python yet")
            continue
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                (found.stubs if _is_stub(node) else found.written).add(node.name)
    return found


def _cells(text: str) -> list[str]:
    return [
        "".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"
    ]


def _is_stub(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """Whether any part of it still only raises `NotImplementedError`."""
    functions = [each for each in ast.walk(node) if isinstance(each, ast.FunctionDef)]
    return any(_only_raises(each) for each in functions)


def _only_raises(function: ast.FunctionDef) -> bool:
    last = function.body[-1]
    return (
        isinstance(last, ast.Raise)
        and isinstance(last.exc, ast.Call)
        and isinstance(last.exc.func, ast.Name)
        and last.exc.func.id == "NotImplementedError"
        and len(function.body) <= 2
    )


def _pack(target: Path, files: tuple[Path, ...]) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.relative_to(ROOT).as_posix(), EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, file.read_bytes())
