"""Notebooks as JSON, made cell by cell; the bench needs no more of the format than this."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.classroom import STAGES

IMPORTS = "import math\nimport torch\nimport torch.nn as nn"
Cell = dict[str, Any]


def cell(name: str, source: str, metadata: dict[str, Any] | None = None) -> Cell:
    """A code cell that has not been run."""
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": name,
        "metadata": metadata or {},
        "outputs": [],
        "source": source.splitlines(keepends=True),
    }


def write(path: Path, cells: Iterable[Cell]) -> None:
    """A notebook for a Python kernel."""
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {
        "cells": list(cells),
        "metadata": {"kernelspec": python, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook, indent=1), "utf-8")


def read(path: Path) -> list[Cell]:
    """The cells of a notebook."""
    cells: list[Cell] = json.loads(path.read_text("utf-8"))["cells"]
    return cells


def filled(cells: Sequence[Cell], answers: Sequence[str]) -> list[Cell]:
    """The cells that a student fills in, each one named after its stage, with the answers."""
    given = dict(zip(STAGES, answers, strict=True))
    return [
        {**each, "source": given[each["id"]].splitlines(keepends=True)}
        if each["id"] in given
        else each
        for each in cells
    ]
