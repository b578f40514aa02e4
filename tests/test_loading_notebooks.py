"""Notebooks: cells share a namespace, magics are left out, and what a notebook expects is there."""

import sys

import pytest

from autograder.sandbox.guest import loading
from autograder.sandbox.guest.loading import jupyter
from autograder.sandbox.protocol.wire import NameSpec, SourceFile

NAMES = [
    NameSpec("softmax", "simplified", "function", ("scores",), "attention"),
    NameSpec("attention_weights", "simplified", "function", ("inputs",), "attention"),
]


@pytest.fixture
def load():
    """Load one notebook given by its cells, with modules beside it; undone after the test."""
    loaded = []

    def of(*cells, **modules):
        sources = [SourceFile("work.ipynb", "notebook", b"", cells)]
        for name, text in modules.items():
            sources.append(SourceFile(f"{name}.py", "module", text.encode()))
        loaded.append(loading.load(sources, NAMES))
        return loaded[-1]

    yield of
    for each in reversed(loaded):
        each.close()


def namespace(loaded):
    """The globals of the notebook."""
    return next(vars(each) for each in loaded.modules if each.__name__ == "__main__")


class TestCells:
    """One namespace for all, named `__main__`."""

    def test_later_cells_see_what_earlier_ones_made(self, load):
        """In their order."""
        loaded = load("x = 1", "y = x + 1", "name = __name__")
        assert (namespace(loaded)["y"], namespace(loaded)["name"]) == (2, "__main__")

    def test_the_main_module_is_the_notebook(self, load):
        """As it is for whoever asks Python."""
        loaded = load("import __main__\nx = 1\nsame = __main__.x")
        assert namespace(loaded)["same"] == 1

    def test_modules_beside_it_are_imported(self, load):
        """With and without the package's name."""
        loaded = load("from attention.helper import size", helper="size = 4")
        assert namespace(loaded)["size"] == 4

    def test_a_cell_that_fails_is_named_by_its_number(self, load):
        """Code cells are counted from 1."""
        loaded = load("x = 1", "open('the-verdict.txt')\nx = 2")
        assert loaded.report.notes == ("work.ipynb cell 2 raised FileNotFoundError; the rest ran",)
        assert namespace(loaded)["x"] == 2

    def test_lines_of_a_cell_are_known_to_tracebacks(self, load):
        """With the cell's number and its lines as they were written."""
        loaded = load("x = 1", "\n%time y = 2\ndef softmax(scores):\n    return 1 / 0")
        filename = loaded.objects["softmax"].__code__.co_filename
        source = loaded.sources[filename]
        assert (source.path, source.cell, source.lines[1]) == ("work.ipynb", 2, "%time y = 2")
        found = loaded.report.found[0]
        assert (found.path, found.cell, found.line) == ("work.ipynb", 2, 3)

    def test_an_indented_cell_is_read_as_ipython_reads_it(self, load):
        """A piece of a longer block, pasted."""
        loaded = load("    x = 1\n    y = x + 1")
        assert namespace(loaded)["y"] == 2

    def test_pasted_prompts_are_taken_off(self, load):
        """From the documentation of a library."""
        loaded = load(">>> x = 1\n>>> y = [x,\n...      2]")
        assert namespace(loaded)["y"] == [1, 2]


class TestMagics:
    """Nothing but Python runs; what was left out is told."""

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("%matplotlib inline", "%matplotlib"),
            ("%load_ext autoreload", "%load_ext"),
            ("!pip install torch", "!pip"),
            ("%pip install -q torch", "%pip"),
            ("files = !ls", "!ls"),
            ("!!ls", "!ls"),
            ("for i in [1]:\n    !echo {i}", "!echo"),
            ("%cd ..", "%cd"),
            ("!pip install a \\\n    b", "!pip"),
            ("get_ipython().system('ls')", "!ls"),
            ("get_ipython().magic('matplotlib inline')", "%matplotlib"),
        ],
    )
    def test_a_line_is_left_out_and_the_cell_goes_on(self, load, line, told):
        """Also in the midst of a cell."""
        loaded = load(f"x = 1\n{line}\nx = 2")
        assert namespace(loaded)["x"] == 2
        assert loaded.report.notes == (f"work.ipynb: left out, being no Python: {told} (cell 1)",)

    @pytest.mark.parametrize("magic", ["%%bash", "%%html", "%%timeit", "%%javascript"])
    def test_a_cell_that_is_no_python_is_left_out(self, load, magic):
        """All of it."""
        loaded = load(f"\n{magic}\nx = 1", "y = 2")
        assert "x" not in namespace(loaded)
        assert loaded.report.notes == (f"work.ipynb: left out, being no Python: {magic} (cell 1)",)

    @pytest.mark.parametrize("magic", ["%%time", "%%capture out", "%%prun -q", "%%time\n%%capture"])
    def test_a_cell_that_is_only_watched_runs(self, load, magic):
        """Its body is Python."""
        loaded = load(f"{magic}\nx = 1")
        assert namespace(loaded)["x"] == 1
        assert loaded.report.notes == ()

    def test_a_timed_line_runs(self, load):
        """Statements and expressions."""
        loaded = load("%time x = 3", "x\n%time x + 1\n%time y = x")
        assert (namespace(loaded)["y"], loaded.report.notes) == (3, ())

    @pytest.mark.parametrize("line", ["len?", "?len", "len??", "%time?"])
    def test_a_question_needs_no_note(self, load, line):
        """It was asked of the notebook, not of the kit."""
        loaded = load(f"{line}\nx = 1")
        assert (namespace(loaded)["x"], loaded.report.notes) == (1, ())

    def test_line_numbers_stay_behind_a_continued_shell_line(self, load):
        """Two lines that became one leave an empty one."""
        loaded = load("!pip install a \\\n    b\ndef softmax(scores): return 1")
        assert loaded.report.found[0].line == 3

    def test_a_module_written_by_a_cell_is_there(self, load):
        """On the student's machine the file lay beside the notebook."""
        loaded = load("%%writefile ./extra.py\nsize = 5", "from extra import size")
        assert namespace(loaded)["size"] == 5
        assert loaded.report.notes == ("extra.py was read from work.ipynb cell 1, which writes it",)

    def test_a_file_that_was_handed_in_counts_before_one_that_a_cell_writes(self, load):
        """It is the newer one, or the same."""
        loaded = load("%%writefile extra.py\nsize = 5", "import extra", extra="size = 6")
        assert namespace(loaded)["extra"].size == 6

    def test_run_brings_the_names_of_a_file(self, load):
        """A file of the submission; any other is left out."""
        loaded = load("%run helper.py\n%run other.py", "y = size", helper="size = 7")
        assert namespace(loaded)["y"] == 7
        assert loaded.report.notes == ("work.ipynb: left out, being no Python: %run (cell 1)",)

    def test_a_magic_inside_a_function_does_nothing_when_called(self, load):
        """Neither while loading nor later."""
        loaded = load("def softmax(scores):\n    %time x = 1\n    !ls\n    return scores")
        assert loaded.objects["softmax"](3) == 3


class TestSurroundings:
    """What Jupyter offers is there and does nothing."""

    @pytest.mark.parametrize(
        "text",
        [
            "display(1)",
            "from IPython.display import display, HTML\ndisplay(HTML('<b>'), raw=True)",
            "from IPython import get_ipython as g\ng().run_line_magic('time', '1')",
            "from IPython.display import clear_output; clear_output(wait=True)",
            "import IPython; IPython.display.display(1)",
            "from IPython.core.interactiveshell import InteractiveShell as S\n"
            "S.ast_node_interactivity = 'all'",
            "get_ipython().events.register('post_run_cell', print)",
            "in_colab = 'google.colab' in str(get_ipython())\nassert not in_colab",
            "breakpoint()",
        ],
    )
    def test_it_works_without_a_note(self, load, text):
        """It only shows things."""
        assert load(text).report.notes == ()

    def test_ipython_itself_is_never_imported(self, load):
        """A student's `import IPython` meets the stand-in."""
        before = {name for name in sys.modules if name.startswith("IPython")}
        loading.prepare()
        assert {name for name in sys.modules if name.startswith("IPython")} == before
        loaded = load("import IPython.terminal.embed as e\nimport IPython\nx = IPython.anything")
        assert loaded.report.notes == ()

    def test_display_in_a_graded_call_does_no_harm(self, load):
        """Shown or not, the value is right."""
        loaded = load(
            "from IPython.display import display, Math\n"
            "def softmax(scores):\n    display(Math('x'))\n    return scores"
        )
        assert loaded.objects["softmax"](2) == 2


class TestAwait:
    """Top-level `await` runs, without threads and sockets."""

    def test_coroutines_tasks_and_sleep_run(self, load):
        """What asyncio does by itself."""
        loaded = load(
            "import asyncio\n"
            "async def double(x):\n    await asyncio.sleep(0.001)\n    return 2 * x\n"
            "one = await double(1)\n"
            "two, three = await asyncio.gather(double(2), double(3))\n",
        )
        assert [namespace(loaded)[name] for name in ("one", "two", "three")] == [2, 4, 6]

    def test_waiting_for_nothing_ends_with_a_note(self, load):
        """Where nobody could ever wake it."""
        loaded = load("import asyncio\nawait asyncio.Event().wait()\nx = 1")
        assert namespace(loaded)["x"] == 1
        assert loaded.report.notes == ("work.ipynb cell 1 raised RuntimeError; the rest ran",)

    def test_async_loops_and_blocks_run(self, load):
        """They may stand at the top of a cell, too."""
        loaded = load(
            "async def count():\n    for i in range(3): yield i\n"
            "x = []\nasync for i in count(): x.append(i)\n"
        )
        assert namespace(loaded)["x"] == [0, 1, 2]


def test_a_function_hidden_by_a_variable_is_still_found(load):
    """Trying a function out often gives its result its own name."""
    loaded = load("def attention_weights(inputs): return [inputs]", "attention_weights = [1.0]")
    assert loaded.objects["attention_weights"](2) == [2]
    assert loaded.report.notes == (
        "work.ipynb gives attention_weights another value later; that of cell 1 was graded",
    )


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("%%writefile a.py\nx = 1\n", ("a.py", "x = 1\n", False)),
        ("\n%%file -a src/a.py\nx", ("src/a.py", "x", True)),
        ("%%writefile /content/a.py\nx", ("a.py", "x", False)),
        ("%%writefile ../../a.py\nx", ("a.py", "x", False)),
        ("%%writefile C:\\work\\a.py\nx", ("a.py", "x", False)),
        ("%%writefile 'a.py'\nx", ("a.py", "x", False)),
        ("%%writefile\nx", None),
        ("%%bash\nx", None),
        ("", None),
    ],
)
def test_where_a_cell_writes_to(cell, expected):
    """Beside the notebook, wherever that was."""
    assert jupyter.written_by(cell) == expected
