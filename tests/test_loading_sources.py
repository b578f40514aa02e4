"""Bytes to text: whatever an editor or a download made of a file."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.sandbox.guest.loading.sources import decode, is_ignored, tidy


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"x = 1\n", "x = 1\n"),
        (b"x = 1\r\ny = 2\rz = 3", "x = 1\ny = 2\nz = 3"),
        (b"\xef\xbb\xbfx = 1", "x = 1"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'", "# -*- coding: latin-1 -*-\nx = 'é'"),
        (b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n'\x80'", None),
        ("größe = 'ﬁ'".encode(), "größe = 'ﬁ'"),
        (b"# coding: nonsense\nx = 1", "# coding: nonsense\nx = 1"),
        (b"# coding: hex\nx = 1", "# coding: hex\nx = 1"),
        (b"x\n\n# coding: latin-1\n", "x\n\n# coding: latin-1\n"),
    ],
)
def test_it_is_read_as_python_reads_it(data, text):
    """Byte order marks, cookies, line ends."""
    read, remark = decode(data)
    assert remark is None
    assert read == (text if text is not None else data.decode("cp1252"))


@pytest.mark.parametrize(
    ("data", "text", "remark"),
    [
        (b"x = '\xe9'", "x = 'é'", "is no valid utf-8; it was read as latin-1"),
        (b"x = 1\0\0", "x = 1", "holds null bytes; they were taken out"),
        (
            "x = 1".encode("utf-16"),
            "x = 1",
            "is written in utf-16, which Python does not read",
        ),
        (
            b"# coding: ascii\n'\xff'",
            "# coding: ascii\n'ÿ'",
            "is no valid ascii; it was read as latin-1",
        ),
    ],
)
def test_what_python_would_refuse_is_read_with_a_remark(data, text, remark):
    """The code in it may be right."""
    assert decode(data) == (text, remark)


def test_lone_halves_of_characters_are_replaced():
    """JSON can hold them; the parser cannot."""
    assert tidy("x = '\ud800é'") == "x = '\ufffd\ufffd\ufffdé'"


@given(st.binary(max_size=200))
def test_any_bytes_become_text_that_the_parser_takes(data):
    """It may be no Python, but nothing worse."""
    text, _ = decode(data)
    assert "\0" not in text
    assert "\r" not in text
    try:
        ast.parse(text)
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        assert "surrogates" not in str(error)


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("attention/causal.py", False),
        ("contest.py", False),
        ("latest_causal.py", False),
        ("environment.py", False),
        ("tests/causal.py", True),
        ("a/tests/b/causal.py", True),
        ("Tests/causal.py", True),
        ("test_causal.py", True),
        ("conftest.py", True),
        ("setup.py", True),
        ("a/setup.py", True),
        ("selfcheck/watch.py", True),
        (".git/hooks/x.py", True),
        ("a/.ipynb_checkpoints/work.ipynb", True),
        ("__pycache__/x.py", True),
        ("__MACOSX/x.py", True),
        ("venv/lib/x.py", True),
        ("lib/site-packages/x.py", True),
    ],
)
def test_paths_that_hold_no_work(path, ignored):
    """The same as where submissions are read."""
    assert is_ignored(path) is ignored
