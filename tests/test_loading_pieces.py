"""Cutting a text by its lines gives what Python's parser gives."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.sandbox.guest.loading.pieces import pieces, recovered, whole
from autograder.sandbox.guest.loading.statements import Script

LINES = st.lists(
    st.sampled_from(
        [
            *("x = 1", "x = 1; y = 2", "x = (", "1,", ")", "]", "x = [", "+ 2", "# a comment", ""),
            *('"""', "'''", '"""one line"""', "'''# \"\"\"'''", "x = '''", 'y = """a', '# """'),
            *("if x:", "else:", "elif y:", "try:", "except E:", "finally:", "    pass", "\tpass"),
            *(
                "def f(a):",
                "    '''doc",
                "text at the left",
                "    '''",
                "    return a",
                "@d",
                "@d(",
            ),
            *(
                "class A:",
                "    x = 1",
                "x = 1 \\",
                "    + 1",
                "y \\",
                "# a \\",
                "\x0cx = 1",
                "é = 1",
            ),
            *("with a:", "for i in b:", "import os", "from a import (", "match x:", "    case 1:"),
            "async def f():",
            "lambda: 0",
        ]
    ),
    max_size=10,
).map("\n".join)


def beginnings(nodes):
    """The first line of each statement."""
    decorated = [[node, *getattr(node, "decorator_list", [])] for node in nodes]
    return [min(each.lineno for each in group) for group in decorated]


def compiled(text, cut):
    """First lines of statements by one way of cutting; None where the text is no Python."""
    script = Script("a.py")
    try:
        script.add(cut(text), "a.py", None)
    except SyntaxError:
        return None
    return [statement.line for statement in script.statements]


@given(LINES)
def test_both_ways_find_the_same_statements(text):
    """Wherever the quick way does not give up, which it may."""
    quick = compiled(text, pieces)
    assert quick is None or quick == compiled(text, whole)


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\ny = 2\n",
        "'''Of the\nmodule.'''\n\nimport os\n",
        "def f():\n    return '''\nat the left\n'''\n\n\nx = 1",
        "@a\n@b\ndef f():\n    pass\n\n\n# end",
        "if x:\n    y\nelif z:\n    y\nelse:\n    y\n",
        "try:\n    y\nexcept E:\n    y\nfinally:\n    y",
        "x = [\n    1,\n]\ny = f(\n    2\n)",
    ],
)
def test_the_quick_way_serves_ordinary_texts(text):
    """Docstrings, decorators, blocks, brackets that close at the left."""
    assert all(piece.node is None for piece in pieces(text))
    assert [piece.start + 1 for piece in pieces(text)] == beginnings(ast.parse(text).body)


@pytest.mark.parametrize(
    "text", ["x = 1; y = 2", "from __future__ import annotations", "x = 1 # \\\ny = 2"]
)
def test_the_tree_serves_what_lines_do_not_tell(text):
    """Two statements in one line, and an import that changes how the rest is compiled."""
    assert all(piece.node is not None for piece in pieces(text))


def test_two_statements_of_a_line_are_two():
    """The first may fail without the second."""
    assert compiled("x = 1; y = 2", pieces) == [1, 1]


@given(LINES)
def test_recovering_keeps_all_of_a_text_that_is_python(text):
    """And names broken pieces where there are some."""
    try:
        nodes = ast.parse(text).body
    except (SyntaxError, ValueError):
        assert recovered(text)[1]
        return
    kept, broken = recovered(text)
    assert not broken
    assert beginnings(each.node for each in kept) == beginnings(nodes)


def test_recovering_ends_on_a_text_of_nothing_but_open_brackets():
    """Its time is bounded, whatever the text is."""
    kept, broken = recovered("x = (\n)]\n" * 3000)
    assert not kept
    assert broken
