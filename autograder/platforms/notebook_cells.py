"""Notebooks as they are released: cells with fixed ids, and the same bytes on every build."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import nbformat
from nbformat import v4

Cell = nbformat.NotebookNode

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def text_cell(name: str, source: str) -> Cell:
    """A Markdown cell."""
    cell: Cell = v4.new_markdown_cell(source, id=name)
    return cell


def code_cell(name: str, source: str, metadata: dict[str, Any] | None = None) -> Cell:
    """A code cell that has not been run."""
    cell: Cell = v4.new_code_cell(source, id=name, metadata=metadata or {})
    return cell


def raw_cell(name: str, source: str) -> Cell:
    """A raw cell, in which otter reads its marks."""
    cell: Cell = v4.new_raw_cell(source, id=name)
    return cell


def notebook_bytes(cells: Iterable[Cell]) -> bytes:
    """A valid notebook for a Python kernel, with a line break at its end."""
    notebook = v4.new_notebook(
        cells=list(cells),
        metadata={"kernelspec": KERNEL, "language_info": {"name": "python"}},
    )
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook, version=4)
    return (text.rstrip("\n") + "\n").encode()
