"""Statement by statement: what fails takes nothing else along, and nothing stops the loading."""

import builtins
import functools
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from autograder.sandbox.guest import loading
from autograder.sandbox.protocol.wire import NameSpec, SourceFile

NAMES = [
    NameSpec("softmax", "simplified", "function", ("scores",)),
    NameSpec("CausalAttention", "causal", "class", ("d_in", "d_out")),
]


def loaded_of(files, **options):
    sources = [
        SourceFile(path, "notebook", b"", tuple(content))
        if path.endswith(".ipynb")
        else SourceFile(path, "module", content if isinstance(content, bytes) else content.encode())
        for path, content in files.items()
    ]
    return loading.load(sources, NAMES, **options)


@pytest.fixture
def load():
    """Load files given as path -> text, bytes or cells; all is undone after the test."""
    loaded = []

    def of(files, **options):
        loaded.append(loaded_of(files, **options))
        return loaded[-1]

    yield of
    for each in reversed(loaded):
        each.close()


def namespace(loaded, name):
    """The globals of a module, by its full name."""
    return next(vars(each) for each in loaded.modules if each.__name__ == f"handed_in.{name}")


class TestWhatRaises:
    """An exception ends its own statement and is told with its place."""

    @pytest.mark.parametrize(
        ("statement", "told"),
        [
            ("1 / 0", "ZeroDivisionError"),
            ("undefined", "NameError: name 'undefined' is not defined"),
            ("open('data.txt')", "FileNotFoundError"),
            ("import sys; sys.exit(3)", "SystemExit"),
            ("raise KeyboardInterrupt", "KeyboardInterrupt"),
            ("raise GeneratorExit", "GeneratorExit"),
            ("raise BaseException('secret 0x7f00')", "BaseException"),
            ("input('your name? ')", "EOFError"),
            ("f = lambda: f(); f()", "RecursionError"),
            ("raise type('Odd\\x1b[31m', (Exception,), {})", "Odd [31m"),
        ],
    )
    def test_the_rest_of_the_file_runs(self, load, statement, told):
        """Whatever kind of exception it is."""
        loaded = load({"main.py": f"x = 1\n{statement}\ndef softmax(scores): return scores"})
        assert loaded.report.found[0].name == "softmax"
        assert loaded.report.notes == (f"main.py line 2 raised {told}; the rest ran",)

    def test_the_line_within_a_block_is_told(self, load):
        """A loop is one statement; the line that raised is within it."""
        loaded = load({"main.py": "for i in range(3):\n    x = i\n    y = 1 / (i - 1)\n"})
        assert loaded.report.notes == ("main.py line 3 raised ZeroDivisionError; the rest ran",)
        assert namespace(loaded, "main")["x"] == 1

    def test_an_exception_that_lies_about_itself_is_noted_like_any(self, load):
        """Its own words are not asked for."""
        loaded = load(
            {
                "main.py": (
                    "class Odd(Exception):\n"
                    "    args = __traceback__ = __class__ = property(lambda self: 1 / 0)\n"
                    "    def __str__(self): raise SystemExit\n"
                    "raise Odd()\n"
                )
            }
        )
        assert loaded.report.notes == ("main.py line 4 raised Odd; the rest ran",)

    def test_a_long_row_of_failures_is_summed_up(self, load):
        """One missing name makes many statements fail."""
        loaded = load({"main.py": "undefined\n" * 12})
        assert len(loaded.report.notes) == 6
        assert loaded.report.notes[-1] == "main.py: 7 more statements raised"

    def test_replaced_builtins_harm_nobody(self, load):
        """They are put back after the statement."""
        real = (builtins.len, builtins.BaseException, builtins.isinstance)
        loaded = load(
            {
                "a.py": (
                    "import builtins\n"
                    "builtins.len = builtins.isinstance = lambda *x: True\n"
                    "builtins.BaseException = None; raise ValueError\n"
                    "del builtins.len\n"
                ),
                "b.py": "def softmax(scores): return len(scores)",
            }
        )
        assert (builtins.len, builtins.BaseException, builtins.isinstance) == real
        assert loaded.objects["softmax"]([1, 2]) == 2

    def test_a_lowered_recursion_limit_is_put_back(self, load):
        """Finding the names needs some depth."""
        before = sys.getrecursionlimit()
        try:
            load({"main.py": "import sys\nsys.setrecursionlimit(60)"})
            assert sys.getrecursionlimit() >= 900
        finally:
            sys.setrecursionlimit(before)


class TestWhatIsNoPython:
    """Only the broken piece is dropped."""

    @pytest.mark.parametrize(
        ("broken", "message"),
        [
            ("def f(x)\n    return x\n", "expected ':'"),
            ("x = (1, 2\n", "'(' was never closed"),
            ('"""never ended\n', "unterminated triple-quoted string literal"),
            ("    y = 1\n", "unexpected indent"),
            ("if x:\n    a = 1\n\tb = 2\n", "inconsistent use of tabs and spaces"),
            ("%matplotlib inline\n", "invalid syntax"),
            ("!pip install torch\n", "invalid syntax"),
            ("<<<<<<< HEAD\n", "invalid syntax"),
            ("else:\n    pass\n", "invalid syntax"),
            ("return 3\n", "'return' outside function"),
        ],
    )
    def test_the_statements_around_it_run(self, load, broken, message):
        """Before and after."""
        after = "@staticmethod\ndef softmax(scores):\n    '''All\nof it.'''\n    return before\n"
        loaded = load({"main.py": f"before = 1\n{broken}{after}"})
        assert loaded.objects["softmax"](0) == 1
        (note,) = loaded.report.notes
        assert note.startswith("main.py line ")
        assert message in note

    def test_line_numbers_stay_right_behind_a_broken_piece(self, load):
        """They belong to the file as it was handed in."""
        loaded = load({"main.py": "x = = 1\n\n\ndef softmax(scores):\n    return 1 / 0\n"})
        assert loaded.report.notes == (
            "main.py line 1 is no Python (invalid syntax); the rest was read",
        )
        assert loaded.report.found[0].line == 4
        with pytest.raises(ZeroDivisionError) as caught:
            loaded.objects["softmax"](1)
        assert caught.traceback[-1].lineno + 1 == 5

    def test_an_import_from_the_broken_piece_tells_why_it_is_missing(self, load):
        """The mistake is in the other file."""
        loaded = load({"a.py": "def f(x)\n    return x\n", "b.py": "from a import f\n"})
        assert any(
            note.startswith("b.py line 1: f could not be imported from a.py, where line 1")
            for note in loaded.report.notes
        )


class TestFutureImports:
    """`from __future__` holds for the statements after it, as in a file compiled at once."""

    def test_postponed_annotations_are_not_evaluated(self, load):
        """Each statement is compiled alone, yet with the flag."""
        text = (
            "from __future__ import annotations\ndef softmax(scores: Unknown) -> Nothing: return 1"
        )
        loaded = load({"main.py": text})
        assert loaded.objects["softmax"].__annotations__ == {
            "scores": "Unknown",
            "return": "Nothing",
        }

    def test_it_holds_for_its_own_file_alone(self, load):
        """The next file evaluates its annotations."""
        loaded = load(
            {"a.py": "from __future__ import annotations", "b.py": "def softmax(scores: 1): ..."}
        )
        assert loaded.objects["softmax"].__annotations__ == {"scores": 1}


FILES = {
    "a.py": "x = 1\nimport b\ny = 2",
    "b.py": "def softmax(scores): return 1\nz = 3",
    "c.ipynb": ["v = 4", "class CausalAttention: pass"],
}


class TestTheBudgetOfLoading:
    """Every statement has a number, told before it runs, and can be skipped."""

    def test_numbers_are_told_in_the_order_of_running(self, load):
        """An import within a statement is told with its own numbers, then the outer goes on."""
        told: list[object] = []
        load(FILES, started=told.append)
        a, b, c = 1 << 32, 2 << 32, 3 << 32
        assert told == [a + 1, a + 2, b + 1, b + 2, a + 2, a + 3, c + 1, c + 2]

    def test_a_skipped_statement_is_not_run_and_noted(self, load):
        """Its numbers are those of the first load."""
        told: list[object] = []
        loaded = load(FILES, skip=frozenset([(2 << 32) + 1, (3 << 32) + 1]), started=told.append)
        assert (2 << 32) + 1 not in told
        assert loaded.report.notes == (
            "b.py line 1 was skipped: it used up the time for loading",
            "c.ipynb cell 1 line 1 was skipped: it used up the time for loading",
        )
        assert "softmax" not in loaded.objects
        assert "CausalAttention" in loaded.objects

    def test_an_import_of_a_skipped_name_tells_why_it_is_missing(self, load):
        """So that the wrong file is not suspected."""
        loaded = load(
            {"a.py": "def f(): pass", "b.py": "from a import f"}, skip=frozenset([(1 << 32) + 1])
        )
        assert loaded.report.notes[-1].startswith(
            "b.py line 1: f could not be imported from a.py, where line 1 takes too long"
        )

    def test_reading_a_very_large_file_has_a_number_too(self, load):
        """Parsing takes time as well."""
        told: list[object] = []
        load({"a.py": "x = 1\n" + "#" * 300_000}, started=told.append)
        assert told == [1 << 32, (1 << 32) + 1]
        loaded = load({"a.py": "x = 1\n" + "#" * 300_000}, skip=frozenset([1 << 32]))
        assert loaded.report.notes == ("a.py was skipped: reading it used up the time for loading",)


class TestOrder:
    """Modules in the order of their paths, then notebooks."""

    def test_modules_come_before_notebooks(self, load):
        """Whatever their names are."""
        loaded = load(
            {
                "a.ipynb": ["import sys", "sys.order.append('notebook')"],
                "z.py": "import sys\nsys.order = ['module']",
                "zz.py": "import sys\nsys.order.append('second')",
            }
        )
        assert sys.__dict__.pop("order") == ["module", "second", "notebook"]
        assert loaded.report.notes == ()

    def test_a_guarded_main_part_of_a_module_is_not_run(self, load):
        """A training demo at the end of a file."""
        loaded = load({"main.py": "if __name__ == '__main__':\n    1 / 0\n"})
        assert loaded.report.notes == ()


@functools.cache
def prepared():
    loading.prepare()


@given(data=st.binary(max_size=400))
@example(b"\xef\xbb\xbf\xff\xfe")
@example(b"# coding: rot13\nx")
@example(b"# coding: utf-7\n+/v8-")
@example(b"\xff\xfe\x00\xd8")
@example(b"(" * 300)
@example(b"x" + b".y" * 30_000)
@example(b"-" * 20_000 + b"1")
@example(b"\x00" * 50)
@example(b"def f():\n\tif 1:\n        pass\x0c\n")
@example(b"'" * 3 + b"\n" * 2000)
def test_any_bytes_as_a_module_end_in_notes_at_worst(data):
    """Nothing that a file can hold stops the loading of the others."""
    loaded = loaded_of({"a.py": data, "b.py": "def softmax(scores): return scores"})
    loaded.close()
    assert "softmax" in loaded.objects
    assert all(note.isprintable() for note in loaded.report.notes)


_CODE = st.lists(
    st.sampled_from(
        [
            *("%time", "%%bash", "%%writefile a.py", "!ls", "x = !ls", "?x", "x??", "/f 1", ",f a"),
            *(
                "def f(x):",
                "    return x",
                "class A:",
                "\tpass",
                "(",
                ")",
                '"""',
                "'''",
                "\\",
                "@f",
            ),
            *("await x", "else:", "\r", "\x0c", "\ud800", "é", "\u2028", "x = 1", "import b", ""),
        ]
    )
    | st.text(max_size=12),
    max_size=12,
).map("\n".join)


@given(cells=st.lists(_CODE, max_size=4))
def test_any_text_as_a_cell_ends_in_notes_at_worst(cells):
    """Nothing that a cell can hold stops the loading of the others."""
    prepared()
    loaded = loaded_of({"a.ipynb": [*cells, "def softmax(scores): return scores"]})
    loaded.close()
    assert "softmax" in loaded.objects
    assert all(note.isprintable() for note in loaded.report.notes)


@given(broken=_CODE.filter(lambda text: not {'"', "'", "@"} & set(text)))
def test_a_broken_piece_never_takes_a_later_function_along(broken):
    """As long as it opens no string, in which everything may stand, and decorates nothing."""
    text = f"{broken}\n\ndef softmax(scores):\n    return scores\n"
    loaded = loaded_of({"a.py": text.encode("utf-8", "replace")})
    loaded.close()
    assert "softmax" in loaded.objects


def test_patched_libraries_do_not_keep_other_files_from_being_read(load, monkeypatch):
    """What loading itself needs of them was taken before."""
    for name in ("warnings.catch_warnings", "difflib.SequenceMatcher", "inspect.getattr_static"):
        monkeypatch.setattr(name, getattr(__import__(name.split(".")[0]), name.split(".")[1]))
    loaded = load(
        {
            "a.py": (
                "import difflib, inspect, warnings\n"
                "warnings.catch_warnings = difflib.SequenceMatcher = None\n"
                "inspect.getattr_static = None\n"
            ),
            "b.py": "def soft_max(scores): return scores",
            "c.ipynb": ["%time x = 1\nclass CausalAtention:\n    def forward(self): return 1"],
        }
    )
    assert set(loaded.objects) == {"softmax", "CausalAttention"}


class TestWhatScriptsExpect:
    """A way out, and a compiler that lets everything pass."""

    @pytest.mark.parametrize("leave", ["exit()", "quit(3)", "import sys; sys.exit(1)"])
    def test_a_script_that_leaves_is_told_and_the_rest_ran(self, load, leave):
        """`exit` and `quit` are there, as in a script that is run."""
        loaded = load({"a.py": f"{leave}\nx = 1\n"})
        assert namespace(loaded, "a")["x"] == 1
        assert loaded.report.notes == ("a.py line 1 raised SystemExit; the rest ran",)

    def test_what_is_compiled_stays_as_it_is(self, load):
        """By `torch.compile`, bare or with options, and by `torch.compiler.disable`."""
        loaded = load(
            {
                "a.py": (
                    "import torch\n"
                    "@torch.compile(dynamic=True)\ndef f(x): return x\n"
                    "g, h = torch.compile(f), torch.compiler.disable(f)\n"
                    "same = f is g is h and f.__code__.co_filename.endswith('a.py')\n"
                )
            }
        )
        assert namespace(loaded, "a")["same"]
        assert loaded.report.notes == ()


TRAINS = """
import sys
import torch
from autograder.sandbox.guest import loading
from autograder.sandbox.protocol.wire import SourceFile
lines = [
    "import torch",
    "torch.use_deterministic_algorithms(False)",
    "weight = torch.nn.Parameter(torch.ones(2))",
    "optimizer = torch.optim.AdamW([weight])",
    "weight.sum().backward()",
    "optimizer.step()",
    "optimizer.zero_grad()",
    "moved = bool((weight < 1).all())",
]
loaded = loading.load([SourceFile("a.py", "module", chr(10).join(lines).encode())], [])
print(loaded.report.notes, vars(loaded.modules[-1])["moved"], "torch._dynamo.utils" in sys.modules)
loaded.close()
print("torch._dynamo" in sys.modules)
"""


def test_an_optimizer_trains_without_the_compiler():
    """In a process of its own: in this one the compiler may have been imported before."""
    run = subprocess.run([sys.executable, "-c", TRAINS], capture_output=True, text=True, check=True)
    assert run.stdout == "() True False\nFalse\n"
