"""Modules handed on from check to check: built less often, and no result depends on it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import torch

from autograder.assignment.assignment import load_assignment
from autograder.attention.checks.subject import build, looked_at
from autograder.checks.sample import Sample, Sizes
from autograder.errors import InternalError
from autograder.grading.worker import Worker
from autograder.results.result import Result
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.sandbox.host.session import Session
from autograder.submissions.submission import SourceFile, read_submission

ASSIGNMENT = load_assignment()
NAMES = (NameSpec("Layer", "layer", "class", ("d_in",)),)
SOURCE = "import torch\nclass Layer(torch.nn.Linear):\n    def __init__(self, d_in):\n"
SOURCE += "        super().__init__(d_in, 2)\n"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(ASSIGNMENT.limits, NAMES, "process") as sandbox:
        yield sandbox


@pytest.fixture
def session(sandbox: Sandbox) -> Iterator[Session]:
    session = sandbox.open((SourceFile("layer.py", "module", SOURCE.encode(), ()),))
    session.shelf.open = True
    yield session
    session.close()


def test_a_later_check_is_given_the_module_of_an_earlier_one(session: Session) -> None:
    first = session.student("first")
    layer = first.Layer(d_in=3)
    first.keep("a layer", (layer,), "linear")
    taken = session.student("second").kept("a layer")
    assert taken is not None
    (again,), told = taken
    assert (again.handle, told) == (layer.handle, "linear")
    assert again(torch.ones(4, 3)).shape == (4, 2)
    assert session.shelf.touched


def test_a_module_that_was_not_handed_on_is_void_in_the_next_check(session: Session) -> None:
    layer = session.student("first").Layer(d_in=3)
    session.student("second")
    with pytest.raises(InternalError):
        layer(torch.ones(4, 3))


def test_a_converted_module_is_not_handed_on(session: Session) -> None:
    first = session.student("first")
    layer = first.Layer(d_in=3)
    first.keep("a layer", (layer,), None)
    layer.double()
    assert session.student("second").kept("a layer") is None


def test_no_module_outlives_its_guest(session: Session) -> None:
    first = session.student("first")
    first.keep("a layer", (first.Layer(d_in=3),), None)
    session.restart()
    second = session.student("second")
    assert second.kept("a layer") is None
    second.Layer(d_in=3)  # in the next guest
    assert second.kept("a layer") is None


def test_nothing_is_given_while_the_shelf_is_closed(session: Session) -> None:
    first = session.student("first")
    first.keep("a layer", (first.Layer(d_in=3),), None)
    session.shelf.open = False
    second = session.student("second")
    assert second.kept("a layer") is None
    assert not session.shelf.touched


def test_a_check_that_only_looks_takes_over_what_another_has_called() -> None:
    trainable = next(spec for spec in ASSIGNMENT.name_specs if spec.name == "SelfAttention_v1")
    spec = NameSpec(trainable.name, trainable.module, trainable.kind, trainable.parameters)
    source = (ASSIGNMENT.solutions / "trainable.py").read_bytes()
    sizes = Sizes(d_in=7, d_out=5, tokens=6)
    with (
        Sandbox(ASSIGNMENT.limits, (spec,), "process") as sandbox,
        closing(sandbox.open((SourceFile("trainable.py", "module", source, ()),))) as session,
    ):
        session.shelf.open = True
        sample = Sample(b"practice")
        called = build(session.student("first"), sample, spec.name, sizes)
        called(sample.tokens("strong", sizes))
        looked = looked_at(session.student("second"), spec.name, sizes)
        assert looked.handle == called.module.handle
        assert list(looked.parameters) == ["W_query", "W_key", "W_value"]
        session.shelf.open = False
        assert looked_at(session.student("third"), spec.name, sizes).handle != looked.handle


# Whole submissions --------------------------------------------------------------------------


def wearing_out(after: int, folder: Path) -> Result:
    """The result of work whose `MultiHeadAttention` is right for so many calls of a module."""
    package = folder / "attention"
    shutil.copytree(ASSIGNMENT.solutions, package, ignore=shutil.ignore_patterns("__pycache__"))
    source = (package / "multi_head.py").read_text()
    begins, ends = "        num_tokens = tokens.shape[-2]\n", ".flatten(-2))\n"
    assert source.count(begins) == source.count(ends) == 1
    counting = '        self.calls = getattr(self, "calls", 0) + 1\n' + begins
    source = source.replace(begins, counting)
    source = source.replace(ends, f".flatten(-2)) + (self.calls > {after})\n")
    (package / "multi_head.py").write_text(source)
    with Worker(ASSIGNMENT.folder) as worker:
        return worker.grade(read_submission(package, ASSIGNMENT.limits)).result


def test_what_a_module_remembers_from_an_earlier_check_costs_nothing(tmp_path: Path) -> None:
    """No single check calls a module more than eight times, all together do."""
    assert wearing_out(8, tmp_path).score == 100


def test_what_a_module_remembers_within_a_check_is_seen(tmp_path: Path) -> None:
    """After four calls it is wrong, which the two checks with more calls see, and no others."""
    result = wearing_out(4, tmp_path)
    lost = {
        criterion.id
        for stage in result.stages
        for criterion in stage.criteria
        if criterion.score < criterion.max_score
    }
    assert lost == {"form", "projections"}


def test_what_a_call_leaves_on_a_module_costs_nothing_where_it_is_only_looked_at(
    tmp_path: Path,
) -> None:
    """A wrapper that has come apart by its first call is looked at as it is built."""
    package = tmp_path / "attention"
    shutil.copytree(ASSIGNMENT.solutions, package, ignore=shutil.ignore_patterns("__pycache__"))
    source = (package / "multi_head.py").read_text()
    stacked = "return torch.cat([head(tokens) for head in self.heads], dim=-1)\n"
    assert source.count(stacked) == 1
    left = "heads = [head for head in self.heads if not isinstance(head, nn.Identity)]\n"
    left += "        self.heads = nn.ModuleList([*heads, nn.Identity()])\n"
    source = source.replace(stacked, f"{left}        {stacked.replace('self.heads', 'heads')}")
    (package / "multi_head.py").write_text(source)
    with Worker(ASSIGNMENT.folder) as worker:
        assert worker.grade(read_submission(package, ASSIGNMENT.limits)).result.score == 100
