"""Text in Markdown: shown as it is, whatever is in it."""

import pytest
from markdown_it import MarkdownIt

from autograder.feedback.markdown import inline, markdown

HOSTILE = [
    "<script>alert(1)</script>",
    "[press](javascript:alert(1))",
    "![](https://example.invalid/seen.png)",
    "# A heading",
    "- a list",
    "1. a list",
    "> said",
    "    indented",
    "*bold* _and_ ~~gone~~ | a | table |",
    "https://example.invalid &amp; <https://example.invalid>",
    "a ` lone backtick",
    "$x$ \\(x\\)",
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("shown", [inline, markdown])
def test_a_reader_sees_the_text_and_nothing_else(text: str, shown: object) -> None:
    assert callable(shown)
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(shown(text))
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    children = tokens[1].children or []
    assert {token.type for token in children} <= {"text", "text_special"}
    assert "".join(token.content for token in children) == " ".join(text.split())


def test_what_stands_in_backticks_is_code() -> None:
    html = MarkdownIt().render(markdown("`softmax` raised `<b>` here: *no*"))
    assert html == ("<p><code>softmax</code> raised <code>&lt;b&gt;</code> here: *no*</p>\n")


def test_lines_become_paragraphs_and_control_codes_go() -> None:
    assert MarkdownIt().render(markdown("one\x1b[31m\ntwo")) == "<p>one\ufffd[31m</p>\n<p>two</p>\n"


def test_nothing_becomes_nothing() -> None:
    assert markdown("") == inline("") == ""
