"""Notebooks give their code cells, within bounds, and nothing else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.submissions.notebook import MAX_CELLS, code_cells

MOST = 1_000_000


def notebook(*cells: dict[str, object], **rest: object) -> bytes:
    return json.dumps({"nbformat": 4, "metadata": {}, "cells": cells, **rest}).encode()


def code(source: object) -> dict[str, object]:
    return {"cell_type": "code", "source": source, "outputs": [], "metadata": {}}


def test_code_cells_come_in_order_and_other_cells_are_left_out() -> None:
    data = notebook(code("a = 1"), {"cell_type": "markdown", "source": "# Title"}, code("b = 2"))
    assert code_cells(data, MOST) == ("a = 1", "b = 2")


def test_a_source_may_be_one_string_or_a_list_of_lines() -> None:
    assert code_cells(notebook(code(["a = 1\n", "b = 2"])), MOST) == ("a = 1\nb = 2",)


def test_a_byte_order_mark_is_no_part_of_the_notebook() -> None:
    assert code_cells(b"\xef\xbb\xbf" + notebook(code("a = 1")), MOST) == ("a = 1",)


def test_outputs_of_any_shape_are_skipped() -> None:
    cell = code("a = 1") | {"outputs": [{"data": {"image/png": "x" * 500_000}}, None, 7]}
    assert code_cells(notebook(cell), 10) == ("a = 1",)


def test_the_old_format_with_worksheets_is_read() -> None:
    cell = {"cell_type": "code", "input": ["a = 1\n", "b = 2"], "language": "python"}
    data = json.dumps({"nbformat": 3, "worksheets": [{"cells": [cell]}]}).encode()
    assert code_cells(data, MOST) == ("a = 1\nb = 2",)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty file"),
        (b"import torch\n", "not a notebook"),
        (b'{"a": 1}', "no cells in it"),
        (b"[1, 2]", "not a notebook"),
        (b'{"cells": 3}', "not a notebook"),
        (b'{"cells": [{"cell_type": "code", "source": 3}]}', "not a notebook"),
        (b'{"cells": [{"cell_type": "code", "source": "\\ud800"}]}', "not a notebook"),
        (b'{"cells": [], "x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "not a notebook"),
    ],
)
def test_what_is_no_notebook_is_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        code_cells(data, MOST)


def test_too_many_cells_are_refused() -> None:
    with pytest.raises(ValueError, match="more than 5000 cells"):
        code_cells(notebook(*[code("")] * (MAX_CELLS + 1)), MOST)


def test_too_much_code_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 1 MB of code"):
        code_cells(notebook(code("x" * (MOST + 1))), MOST)


@given(st.binary(max_size=300))
def test_random_bytes_give_cells_or_a_reason(data: bytes) -> None:
    try:
        assert isinstance(code_cells(data, MOST), tuple)
    except ValueError as reason:
        assert str(reason)
