"""Finds names in the student's files, and brings their stubs back."""

from __future__ import annotations

import ast
from pathlib import Path

from .course import ROOT, Stage, course
from .state import FOLDER

ASIDE = FOLDER / "aside"


class CannotReset(Exception):
    """The stub cannot be put back; the text says why, and what to do."""


def reset(word: str) -> tuple[Path, Path | None]:
    """Put the stub of a name, or of a whole stage, back in its place.

    Returns:
        The file that was changed, and where the old text was put; None where there was none.
    """
    stage = course().stage(word)
    names = {name.name for name in stage.names}
    file = ROOT / stage.file
    old = file.read_text(encoding="utf-8", errors="surrogateescape") if file.is_file() else None
    new, kept = stage.stub, old
    if word in names and old is not None:
        new, kept = _with_stub(old, stage, word)
    if new == old:
        return file, None
    aside = None if not kept else _put_aside(word if word in names else stage.id, kept)
    file.parent.mkdir(exist_ok=True)
    file.write_text(new, encoding="utf-8", errors="surrogateescape", newline="\n")
    return file, aside


def _with_stub(text: str, stage: Stage, name: str) -> tuple[str, str]:
    """A file's text with the stub of one name, and the text that it replaces."""
    stub = _piece(stage.stub, name)
    assert stub is not None
    try:
        piece = _piece(text, name)
    except SyntaxError as error:
        raise CannotReset(
            f"{stage.file}:{error.lineno} is not Python yet, so `{name}` cannot be found in it\n"
            f"  what to do: mend that line, or reset the whole stage:"
            f" `python -m selfcheck reset {stage.id}`"
        ) from None
    lines = text.splitlines(keepends=True)
    stub_lines = stage.stub.splitlines(keepends=True)[stub[0] : stub[1]]
    if piece is None:
        return text.rstrip("\n") + "\n\n\n" + "".join(stub_lines), ""
    first, last = piece
    return "".join(lines[:first] + stub_lines + lines[last:]), "".join(lines[first:last])


def _piece(text: str, name: str) -> tuple[int, int] | None:
    """The lines of a top-level function or class, decorators included: first, and one after."""
    found = None
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            found = first - 1, node.end_lineno or node.lineno
    return found


def line_of(stage: Stage, name: str) -> int | None:
    """The line where a name is written in the student's file, if it is and can be read."""
    try:
        piece = _piece((ROOT / stage.file).read_text(encoding="utf-8"), name)
    except (OSError, ValueError, SyntaxError):
        return None
    return None if piece is None else piece[0] + 1


def _put_aside(name: str, text: str) -> Path:
    ASIDE.mkdir(parents=True, exist_ok=True)
    number = 1
    while (file := ASIDE / f"{name}-{number}.py").exists():
        number += 1
    file.write_text(text, encoding="utf-8", errors="surrogateescape", newline="\n")
    return file
