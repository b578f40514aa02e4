"""Whatever a submission draws from, and wherever it imports that, it draws the same every time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from autograder.assignment.assignment import Limits
from autograder.sandbox.guest import reset_state
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.sandbox.host.session import Session
from autograder.submissions.submission import SourceFile

NAMES = tuple(NameSpec(name, "any", "function", ("count",)) for name in ("early", "late"))
LIMITS = Limits(load_seconds=5.0, call_seconds=5.0, memory_mb=256)
Begin = Callable[[str, str], Session]

DRAWS = {
    "python": ("import random", "random.random()"),
    "python's gauss": ("from random import gauss", "gauss(0, 1)"),
    "numpy": ("import numpy as np", "float(np.random.rand())"),
    "numpy's submodule": ("import numpy.random as drawn", "float(drawn.rand())"),
    "importlib": (
        "import importlib\nrandom = importlib.import_module('random')",
        "random.random()",
    ),
    "__import__": ("random = __import__('random')", "random.random()"),
    "sys": ("import sys\nrandom = sys.modules['random']", "random.random()"),
    "torch": ("import torch", "float(torch.rand(()))"),
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(LIMITS, NAMES, "process") as made:
        yield made


@pytest.fixture
def begin(sandbox: Sandbox) -> Iterator[Begin]:
    sessions: list[Session] = []

    def begin(above: str, body: str) -> Session:
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        source = f"{above}\ndef early(count):\n{lines}\ndef late(count):\n{lines}"
        sessions.append(sandbox.open((SourceFile("work.py", "module", source.encode(), ()),)))
        return sessions[-1]

    yield begin
    for session in sessions:
        session.close()


def drawn(session: Session, *names: str) -> list[object]:
    return [session.student(f"check of {name}").proxy(name)(3) for name in names]


@pytest.mark.parametrize(("above", "draw"), DRAWS.values(), ids=DRAWS)
class TestNumbersDrawn:
    def body(self, draw: str) -> str:
        return f"return [{draw} for _ in range(count)]"

    def test_depend_on_the_check_alone(self, begin: Begin, above: str, draw: str) -> None:
        both = drawn(begin(above, self.body(draw)), "early", "late")
        assert drawn(begin(above, self.body(draw)), "late") == both[1:]
        assert drawn(begin(above, self.body(draw)), "late", "early") == both[::-1]
        assert both[0] != both[1]

    def test_are_the_same_where_a_call_imports(self, begin: Begin, above: str, draw: str) -> None:
        within = f"{above}\n{self.body(draw)}"
        both = drawn(begin(above, self.body(draw)), "early", "late")
        assert drawn(begin("", within), "early", "late") == both
        assert drawn(begin("", within), "late") == both[1:]


class TestSeeding:
    @pytest.fixture(autouse=True)
    def seeded(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """The seeds given to Python's and numpy's generators."""
        seeds: list[int] = []
        monkeypatch.setattr(reset_state, "_seeds_everything", True)
        monkeypatch.setattr(reset_state, "_seed_others", seeds.append)
        return seeds

    def test_leaves_out_generators_that_nothing_imported_leads_to(self, seeded: list[int]) -> None:
        reset_state.reset(1, True)
        reset_state.nothing_imported()
        for library in ("torch", "math", "typing"):
            reset_state.imported(library)
        reset_state.reset(2, True)
        assert seeded == [1]

    @pytest.mark.parametrize("library", ["random", "numpy", "sys", "scipy", "nowhere"])
    def test_makes_up_for_it_as_soon_as_something_does(
        self, seeded: list[int], library: str
    ) -> None:
        reset_state.reset(1, True)
        reset_state.nothing_imported()
        reset_state.reset(2, True)
        reset_state.imported(library)
        reset_state.imported(library)
        reset_state.reset(3, True)
        assert seeded == [1, 2, 3]


def test_what_is_printed_is_bounded_for_each_operation() -> None:
    output = reset_state.Output(10)
    for text in ("a" * 20, "b" * 20):
        output.write(text)
        assert output.take() == text[:10]
