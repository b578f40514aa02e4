"""Notebooks for people who learn by themselves, one for each stage.

Each has the handout's text, a cell for each name to write, and a cell that checks. They are built
from the same handouts and stubs as everything else; the self-check is in the folder beside.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.assignment.assignment import Assignment, Stage
from autograder.release.course import section_of

NOTEBOOKS = "notebooks"

#: The section after which code is written; what follows it is read afterwards.
LAST_BEFORE_CODE = "What to write"

SETUP = """\
# The self-check lies in the folder beside this one.
import sys

sys.path.insert(0, "..")

from selfcheck import check"""

FROM_BEFORE = (
    "`{names}` comes from `{package}/{module}.py`. If you wrote it in that stage's notebook, put "
    "your code in the cell below in place of the import."
)


def plain_notebook(assignment: Assignment, stage: Stage, handout: str, stub: str) -> str:
    """The notebook of one stage as the text of an `.ipynb` file.

    Args:
        assignment: The assignment.
        stage: The stage.
        handout: The stage's handout with its rubric.
        stub: The stage's stub.
    """
    titles = dict(_titles(handout))
    before, after = _around_code(_with_links_that_work(handout, titles))
    cells = [
        *(new_markdown_cell(each) for each in before),
        new_code_cell(SETUP),
        *_code(assignment, stage, stub, titles),
        new_markdown_cell(
            f"## Check\n\nRun this cell as often as you like. `python -m selfcheck hint {stage.id}`"
            " in a terminal, in the folder above, gives a hint."
        ),
        new_code_cell(f'check("{stage.id}")'),
        *(new_markdown_cell(each) for each in after),
    ]
    for number, cell in enumerate(cells):
        cell["id"] = f"{stage.id}-{number:02}"  # the same on every build
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    notebook = new_notebook(cells=cells, metadata=metadata)
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"


def sources(notebook: str) -> str:
    """The sources of a notebook's cells, joined."""
    cells = nbformat.reads(notebook, as_version=4).cells
    return "\n".join(cell.source for cell in cells)


def _around_code(handout: str) -> tuple[list[str], list[str]]:
    """The handout's sections up to where code is written, and those after it."""
    sections = [each.strip() for each in re.split(r"^(?=## )", handout, flags=re.MULTILINE)]
    for number, section in enumerate(sections, start=1):
        if section.startswith(f"## {LAST_BEFORE_CODE}"):
            return sections[:number], sections[number:]
    return sections, []


def _titles(handout: str) -> Iterator[tuple[str, str]]:
    """The handout's headings by the anchors that they have on the web."""
    for title in re.findall(r"^## (.+)$", handout, flags=re.MULTILINE):
        yield re.sub(r"[^\w -]", "", title).lower().replace(" ", "-"), title


def _with_links_that_work(handout: str, titles: Mapping[str, str]) -> str:
    """A notebook's anchors keep capitals, and pictures are in the folder beside."""
    text = handout.replace("](figures/", "](../handouts/figures/")
    for anchor, title in titles.items():
        text = text.replace(f"](#{anchor})", f"](#{title.replace(' ', '-')})")
    return text.replace("<!-- rubric -->\n", "").replace("<!-- end of rubric -->\n", "")


def _code(
    assignment: Assignment, stage: Stage, stub: str, titles: Mapping[str, str]
) -> Iterator[nbformat.NotebookNode]:
    lines = stub.splitlines()
    imports = []
    for node in ast.parse(stub).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            if isinstance(node, ast.ImportFrom) and node.level:
                names = ", ".join(each.name for each in node.names)
                told = FROM_BEFORE.format(
                    names=names, package=assignment.solutions.name, module=node.module
                )
                source = f"from {assignment.solutions.name}.{node.module} import {names}"
                yield new_markdown_cell(told)
                yield new_code_cell(source)
            else:
                imports.append(ast.unparse(node))
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            if imports:
                yield new_code_cell("\n".join(imports))
                imports = []
            section = titles[section_of(stage, node.name)]
            yield new_markdown_cell(f"### `{node.name}`\n\nSee “{section}” above.")
            yield new_code_cell("\n".join(lines[node.lineno - 1 : node.end_lineno]))
