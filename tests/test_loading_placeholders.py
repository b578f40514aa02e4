"""Imports that are not there: silent while loading, told by name when a graded call uses them."""

import pytest

from autograder.sandbox.guest import loading
from autograder.sandbox.guest.loading.placeholders import Placeholder, graded
from autograder.sandbox.protocol.wire import NameSpec, SourceFile

NAMES = [
    NameSpec("softmax", "simplified", "function", ("scores",)),
    NameSpec("CausalAttention", "causal", "class", ("d_in", "d_out")),
    NameSpec("MultiHeadAttentionWrapper", "multi_head", "class", ("d_in", "d_out")),
]


@pytest.fixture
def load():
    """Load modules given as path -> text; all is undone after the test."""
    loaded = []

    def of(files):
        sources = [SourceFile(path, "module", text.encode()) for path, text in files.items()]
        loaded.append(loading.load(sources, NAMES))
        return loaded[-1]

    yield of
    for each in reversed(loaded):
        each.close()


@pytest.fixture
def plt():
    """A placeholder, before grading."""
    graded(False)
    yield Placeholder("matplotlib is not installed here")
    graded(False)


USES = {
    "an attribute": lambda it: it.rcParams,
    "a call": lambda it: it(1, 2, key=3),
    "an item": lambda it: it["figure.figsize"],
    "a loop": list,
    "unpacking": lambda it: _unpacked(it),
    "a length": len,
    "a test": bool,
    "arithmetic": lambda it: (it + 1, 2 * it, -it, it @ it, it | None),
    "a number": lambda it: (int(it), float(it), range(it)),
    "a comparison": lambda it: (it < 1, it >= 1),
    "membership": lambda it: 1 in it,
    "a block": lambda it: _entered(it),
    "setting": lambda it: setattr(it, "x", 1),
    "setting an item": lambda it: it.__setitem__("x", 1),
    "a decorated function": lambda it: it(len.__class__),
    "a class made from it": lambda it: _derived(it),
    "asking for its kind": lambda it: isinstance(3, it),
    "the next item": next,
}


def _unpacked(it):
    figure, (left, *rest) = it
    return figure, left, rest


def _entered(it):
    with it as inner:
        return inner


def _derived(it):
    class Derived(it):  # type: ignore[valid-type, misc]
        pass

    return Derived


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_every_use_is_silent_while_loading(plt, use):
    """A figure or a tokenizer is nobody's concern."""
    use(plt)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_every_use_raises_when_graded(plt, use):
    """With the name of what is missing."""
    graded(True)
    with pytest.raises(ImportError, match="matplotlib is not installed here"):
        use(plt)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_only_shows_things_never_raises(use):
    """IPython's display, for one."""
    graded(True)
    try:
        use(Placeholder("shown only", quiet=True))
    finally:
        graded(False)


def test_unpacking_finds_as_many_things_as_it_wants(plt):
    """`figure, axes = plt.subplots()` must not fail."""
    figure, axes = plt.subplots(1, 2)
    first, *rest = plt
    assert all(type(each) is Placeholder for each in (figure, axes, first))
    assert rest == []


def test_a_decorated_function_stays_what_it_is(plt):
    """With and without arguments of the decorator."""

    def function():
        return 3

    assert plt.njit(function) is function
    assert plt.njit(parallel=True)(function) is function


def test_a_class_made_from_it_raises_when_built_in_a_graded_call(plt):
    """Its base is what is missing."""

    class Net(plt.Module):  # type: ignore[name-defined, misc]
        def __init__(self):
            super().__init__()

    assert Net().anything is not None
    graded(True)
    with pytest.raises(ImportError, match="matplotlib"):
        Net()


def test_libraries_that_ask_what_it_can_do_get_no_for_an_answer(plt):
    """Else `hasattr` would send them astray."""
    assert not any(hasattr(plt, name) for name in ("__wrapped__", "__array__", "__path__"))
    assert f"{plt} {plt:>10}".startswith("<matplotlib")


class TestImportsInASubmission:
    """Which statements bind a placeholder, and what is told."""

    def test_a_missing_library_costs_nothing_until_it_is_used(self, load):
        """The other names of the file are there."""
        loaded = load(
            {
                "main.py": (
                    "import matplotlib.pyplot as plt\nimport tiktoken\n"
                    "plt.plot([1, 2])\n"
                    "def softmax(scores): return scores\n"
                    "class CausalAttention:\n    def forward(self): return tiktoken.encode('x')\n"
                )
            }
        )
        assert loaded.objects["softmax"](1) == 1
        with pytest.raises(ImportError, match="tiktoken is not installed here"):
            loaded.objects["CausalAttention"]().forward()
        assert loaded.report.notes == (
            "main.py line 1: matplotlib is not installed here; it costs nothing unless a graded "
            "name uses it",
            "main.py line 2: tiktoken is not installed here; it costs nothing unless a graded "
            "name uses it",
        )

    def test_of_one_statement_only_the_missing_names_are_placeholders(self, load):
        """Before and after the missing one."""
        loaded = load({"main.py": "from math import pi, nothing, tau\nx = pi + tau\nnothing(x)"})
        assert loaded.report.notes == (
            "main.py line 1: math has no nothing; it costs nothing unless a graded name uses it",
        )

    def test_a_package_is_bound_although_its_module_is_missing(self, load):
        """`import os.nothing` still gives `os`."""
        loaded = load({"main.py": "import os.nothing\nhere = os.sep"})
        assert len(loaded.report.notes) == 1

    def test_a_guarded_import_takes_the_students_own_way_out(self, load):
        """`try` and `except ImportError` work as in Python."""
        loaded = load(
            {
                "main.py": (
                    "try:\n    import tiktoken\nexcept ImportError:\n    tiktoken = None\n"
                    "assert tiktoken is None\n"
                )
            }
        )
        assert loaded.report.notes == ()

    def test_an_import_within_a_block_is_bound_too(self, load):
        """The block ends there; what comes after it finds the name."""
        loaded = load({"main.py": "if True:\n    import tiktoken\ntiktoken.encode('x')"})
        assert [note.partition(";")[0] for note in loaded.report.notes] == [
            "main.py line 1: tiktoken is not installed here",
            "main.py line 2 raised ModuleNotFoundError: No module named 'tiktoken'",
        ]

    def test_the_same_library_is_told_once(self, load):
        """Not once for each file."""
        loaded = load({"a.py": "import tiktoken", "b.py": "from tiktoken import x"})
        assert len(loaded.report.notes) == 1

    def test_a_star_import_that_fails_binds_nothing(self, load):
        """There is no telling which names it had."""
        loaded = load({"main.py": "from tiktoken import *\nx = 1"})
        assert len(loaded.report.notes) == 1

    def test_a_name_whose_definition_raised_tells_the_cause_when_used(self, load):
        """The mistake is in the file that was to define it."""
        loaded = load(
            {
                "causal.py": "class CausalAttention(Undefined):\n    pass\n",
                "multi_head.py": (
                    "from .causal import CausalAttention\n"
                    "class MultiHeadAttentionWrapper:\n"
                    "    def __init__(self): self.head = CausalAttention()\n"
                ),
            }
        )
        with pytest.raises(ImportError) as caught:
            loaded.objects["MultiHeadAttentionWrapper"]()
        assert str(caught.value) == (
            "CausalAttention could not be imported from causal.py, where line 1 raised "
            "NameError: name 'Undefined' is not defined"
        )

    def test_a_module_that_was_not_handed_in_is_named(self, load):
        """By the name that was asked for."""
        loaded = load({"attention/causal.py": "from .helper import x\nfrom ..far import y"})
        assert [note.partition(";")[0] for note in loaded.report.notes] == [
            "attention/causal.py line 1: the submission has no module attention.helper",
            "attention/causal.py line 2: the submission has no module far",
        ]

    def test_a_library_that_raises_while_it_is_imported_is_a_missing_one(
        self, load, tmp_path, monkeypatch
    ):
        """A broken installation is not the student's fault."""
        (tmp_path / "broken_library.py").write_text("1 / 0")
        monkeypatch.syspath_prepend(tmp_path)
        loaded = load({"main.py": "from broken_library import x\nx()"})
        assert loaded.report.notes == (
            "main.py line 1: importing broken_library raised ZeroDivisionError; it costs nothing "
            "unless a graded name uses it",
        )
