"""The code cells of a notebook as Python, as far as they are Python."""

from __future__ import annotations

import json
import re

from .sources import tidy

# The magics whose cell is Python all the same.
_KEPT = frozenset(("time", "capture", "prun", "memit", "mprun"))
_RUN = re.compile(r"^\s*%run\s+(?:-\w+\s+)*[\"']?([^\s\"']+)", re.MULTILINE)
_MAGIC = re.compile(r"^(\s*)(?:[%!?].*|[\w.]+\?{1,2}\s*)$")
_ASSIGNED = re.compile(r"^(\s*[\w, ]+=\s*)[%!].*$")
_TIMED = re.compile(r"^(\s*)%(?:time|timeit|prun)\s+(?:-\w+\s+)*(?=[\w(\[])")


def code_cells(data: bytes) -> list[str]:
    """The sources of the code cells, in order. Raises ValueError where it is no notebook."""
    told = json.loads(data.removeprefix(b"\xef\xbb\xbf").decode("utf-8"))
    try:
        cells = told.get("cells")
        if cells is None:  # format 3
            cells = [cell for sheet in told["worksheets"] for cell in sheet.get("cells", ())]
        sources = [
            cell.get("source") or cell.get("input") or ""
            for cell in cells
            if cell.get("cell_type") == "code"
        ]
        return [each if isinstance(each, str) else "".join(each) for each in sources]
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no cells in it ({error})") from None


def body_of(cell: str) -> tuple[str, str | None]:
    """A cell's text without its cell magic, and the magic if it takes the whole cell with it.

    Lines keep their numbers: what is taken out leaves an empty line.
    """
    lines = tidy(cell).split("\n")
    for number, line in enumerate(lines):
        if line.startswith("%%"):
            name = line[2:].split(" ", 1)[0].strip()
            if name not in _KEPT:
                return "", f"%%{name}"
            lines[number] = ""
        elif line.strip():
            break
    return "\n".join(lines), None


def written_by(cell: str) -> tuple[str, str, bool] | None:
    """The file that a `%%writefile` cell writes, its text, and whether it adds to what is there."""
    first, _, text = tidy(cell).lstrip("\n").partition("\n")
    words = first.split()
    if not words or words[0] not in ("%%writefile", "%%file"):
        return None
    paths = [word.strip("'\"") for word in words[1:] if not word.startswith("-")]
    if len(paths) != 1:
        return None
    # Wherever it was written on the student's machine, here it lies beside the notebook.
    parts = paths[0].replace("\\", "/").split("/")
    is_elsewhere = paths[0].startswith(("/", "~")) or ".." in parts or ":" in paths[0]
    inside = parts[-1:] if is_elsewhere else [part for part in parts if part not in ("", ".")]
    return "/".join(inside), text, "-a" in words


def without_magics(text: str) -> str:
    """A cell's text with `pass` where a notebook's own syntax stood, line for line."""
    lines = []
    for line in text.split("\n"):
        line = _TIMED.sub(r"\1", line)
        line = _MAGIC.sub(r"\1pass", line)
        lines.append(_ASSIGNED.sub(r"\1None", line))
    return "\n".join(lines)


def run_files(text: str) -> list[str]:
    """The files that `%run` brings in."""
    return _RUN.findall(text)
