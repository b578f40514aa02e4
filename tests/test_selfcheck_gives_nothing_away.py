"""No file that students receive holds a piece of a solution.

Statements are compared token by token. Names that a writer chooses count as alike; what follows a
dot, keywords, numbers and signs are kept. No run within one statement may be shared, beyond what
the stubs hold themselves. Short statements of a solution are compared whole.
"""

import io
import json
import keyword
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.release.stubs import find_regions

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = ROOT / "student_template"
SOLUTIONS = sorted((ROOT / "solutions" / "attention").glob("*.py"))
RUN = 12
TELLING = 9  # tokens of a whole statement that would be found in a shorter one
SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.INDENT, tokenize.DEDENT}

Tokens = tuple[str, ...]


def statements(text: str) -> Iterator[Tokens]:
    """The statements of a text as tokens, names of the writer's own as `_`."""
    current: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            if current:
                yield tuple(current)
            current = []
        elif token.type not in SKIPPED:
            current.append(_plain(token, current[-1:] == ["."]))


def _plain(token: tokenize.TokenInfo, after_dot: bool) -> str:
    if token.type == tokenize.NAME and not after_dot and not keyword.iskeyword(token.string):
        return "_"
    return "text" if token.type == tokenize.STRING else token.string


def runs(text: str, length: int = RUN) -> set[Tokens]:
    return {
        each[at : at + length] for each in statements(text) for at in range(len(each) - length + 1)
    }


def bodies() -> str:
    """What stands between the marks of all solutions."""
    parts = []
    for file in SOLUTIONS:
        source = file.read_text("utf-8")
        lines = source.splitlines()
        for region in find_regions(source, file.name):
            inside = lines[region.first : region.last - 1]
            margin = min(len(each) - len(each.lstrip()) for each in inside if each.strip())
            parts += [each[margin:] for each in inside]
    return "\n".join(parts) + "\n"


STUBS = "\n".join(file.read_text("utf-8") for file in sorted((TEMPLATE / "attention").glob("*.py")))
SECRET = runs(bodies()) - runs(STUBS)
WHOLE = {
    each
    for each in statements(bodies())
    if TELLING <= len(each) < RUN and sum(word.isidentifier() and word != "_" for word in each) > 1
} - {*statements(STUBS)}


def released() -> Iterator[tuple[str, str]]:
    for file in sorted(TEMPLATE.rglob("*")):
        inner = file.relative_to(TEMPLATE).as_posix()
        if file.suffix == ".py" and not inner.startswith("attention/") and ".venv" not in inner:
            yield inner, file.read_text("utf-8")
        elif file.suffix == ".ipynb":
            cells = json.loads(file.read_text("utf-8"))["cells"]
            sources = ["".join(each["source"]) for each in cells if each["cell_type"] == "code"]
            yield inner, "\n".join(sources) + "\n"


FILES = dict(released())


def test_there_is_something_to_find() -> None:
    assert len(SECRET) > 100
    assert len(WHOLE) > 5
    renamed = bodies().replace("queries", "q").replace("scores", "s")
    assert runs(renamed) == runs(bodies())


@pytest.mark.parametrize("name", FILES)
def test_no_run_of_a_solution_is_shipped(name: str) -> None:
    text = FILES[name]
    shared = runs(text) & SECRET
    for length in {len(each) for each in WHOLE}:
        shared |= runs(text, length) & WHOLE
    assert not shared
