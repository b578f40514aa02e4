"""Cuts a text at the lines on which its top-level statements begin.

Most texts are cut by their lines alone: each piece then compiles by itself, which is twice as
quick as parsing the whole into Python's own tree. Where that does not come out even, the tree is
made; and where the text is no Python, only the pieces that cannot be parsed are dropped.
"""

import ast
import re
from dataclasses import dataclass
from typing import Any
from warnings import catch_warnings, simplefilter

MAX_REPARSED = 1_000_000  # characters parsed anew while the good pieces are looked for

_CONTINUES = re.compile(r"(?:[\s#)\]}]|(?:else|elif|except|finally)\b|$)")
_UNFINISHED = ("was never closed", "unterminated triple", "unexpected EOF", "EOF in multi-line")
_CLOSERS = ('"""', "'''", ")", "]", "}")
_compile: Any = compile  # kept, like other builtins here, from a submission that replaces it


@dataclass(frozen=True, slots=True)
class Piece:
    """One top-level statement, by its text or by its tree."""

    start: int  # lines before it
    text: str
    node: ast.stmt | None = None

    def tree(self) -> ast.stmt | None:
        """The statement, with the line numbers of the whole text; None if it is too deep."""
        if self.node is not None:
            return self.node
        try:
            nodes = parsed(self.text)
        except SyntaxError:
            return None
        return ast.increment_lineno(nodes[0], self.start) if nodes else None


@dataclass(frozen=True, slots=True)
class Broken:
    """A piece that is no Python."""

    line: int
    message: str
    text: str


def parsed(text: str) -> list[ast.stmt]:
    """The statements of a text.

    Raises:
        SyntaxError: The text cannot be parsed, for whatever reason.
    """
    try:
        with catch_warnings():
            simplefilter("ignore")
            tree: ast.Module = _compile(text, "<submission>", "exec", ast.PyCF_ONLY_AST, True)
    except SyntaxError:
        raise
    except (ValueError, MemoryError, RecursionError, OverflowError, SystemError) as error:
        raise SyntaxError(f"cannot be parsed ({type(error).__name__})") from None
    return tree.body


def pieces(text: str) -> list[Piece]:
    """The statements of a text, cut by lines if possible.

    Raises:
        SyntaxError: The text is not Python.
    """
    if "__future__" not in text:  # such an import changes how all that follows is compiled
        try:
            return _by_lines(text)
        except _Uneven:
            pass
    return whole(text)


def whole(text: str) -> list[Piece]:
    """The statements of a text by their syntax trees.

    Raises:
        SyntaxError: The text is not Python.
    """
    return [Piece(0, "", node) for node in parsed(text)]


class _Uneven(Exception):
    """The lines alone do not tell the statements apart."""


def _by_lines(text: str) -> list[Piece]:
    """The statements of a text, told apart by the lines on which they begin.

    That a piece compiles is left to be seen. What could be two statements in one is looked at.
    """
    lines = [line + "\n" for line in text.split("\n")]
    starts = [*_beginnings(lines), len(lines)]
    found: list[Piece] = []
    at = 0
    while at < len(starts) - 1:
        first, end = starts[at], at + 1
        piece = "".join(lines[first : starts[end]])
        quotes = piece.count('"""') + piece.count("'''")
        is_open = quotes % 2 == 1
        while quotes % 2 == 1 and end < len(starts) - 1:
            more = "".join(lines[starts[end] : starts[end + 1]])
            quotes += more.count('"""') + more.count("'''")
            piece += more
            end += 1
        if not piece.isspace():
            if first == 0 and _CONTINUES.match(piece):
                if any(line.strip() and line.lstrip()[0] != "#" for line in piece.split("\n")):
                    raise _Uneven
            elif (is_open or ";" in piece or "\\\n" in piece) and len(_tried(piece)) != 1:
                raise _Uneven
            else:
                found.append(Piece(first, piece))
        at = end
    return found


def _tried(piece: str) -> list[ast.stmt]:
    try:
        return parsed(piece)
    except SyntaxError:
        raise _Uneven from None


def recovered(text: str) -> tuple[list[Piece], list[Broken]]:
    """The statements of a text of which some pieces are no Python, and those pieces."""
    lines = [line + "\n" for line in text.split("\n")]
    starts = _beginnings(lines)
    nodes: list[ast.stmt] = []
    broken: list[Broken] = []
    at, left = 0, MAX_REPARSED + len(text)
    while at < len(starts):
        first = starts[at]
        found, end, error, spent = _longer(lines, starts, at, left)
        left -= spent
        if found is not None:
            for node in found:
                nodes.append(ast.increment_lineno(node, first) if first else node)
            at = end
            continue
        stop = starts[at + 1] if at + 1 < len(starts) else len(lines)
        kept = _before(lines[first:stop], error)
        nodes.extend(ast.increment_lineno(node, first) for node in kept)
        line = first + min(max(error.lineno or 1, 1), stop - first)
        broken.append(Broken(line, str(error.msg), "".join(lines[first:stop])))
        at += 1
    return [Piece(0, "", node) for node in nodes], broken


def _beginnings(lines: list[str]) -> list[int]:
    """The lines at which a statement may begin: not indented, and no continuation of another."""
    starts = [0]
    for number, line in enumerate(lines[1:], 1):
        before = lines[number - 1]
        if _CONTINUES.match(line) or before.endswith("\\\n") or before.startswith("@"):
            continue
        starts.append(number)
    return starts


def _longer(
    lines: list[str], starts: list[int], at: int, left: int
) -> tuple[list[ast.stmt] | None, int, SyntaxError, int]:
    """Parse the piece that starts at a beginning, longer and longer while it is unfinished."""
    failure: SyntaxError | None = None
    first, spent = starts[at], 0
    for end in range(at + 1, len(starts) + 1):
        stop = starts[end] if end < len(starts) else len(lines)
        if failure is not None:
            added = "".join(lines[starts[end - 1] : stop])
            if not any(closer in added for closer in _CLOSERS):
                continue
        text = "".join(lines[first:stop])
        spent += len(text)
        if spent > left:
            break
        try:
            return parsed(text), end, SyntaxError(), spent
        except SyntaxError as error:
            failure = failure or error
            if not any(words in str(error.msg) for words in _UNFINISHED):
                break
    return None, at, failure or SyntaxError("too much of the file is no Python"), spent


def _before(lines: list[str], error: SyntaxError) -> list[ast.stmt]:
    """The simple statements of a piece that stand before its mistake.

    Half a function or class is not kept: it would pass for one that was written so.
    """
    try:
        nodes = parsed("".join(lines[: (error.lineno or 1) - 1]))
    except SyntaxError:
        return []
    return [] if any(hasattr(node, "body") for node in nodes) else nodes
