"""Modules of a submission: one object under every name, and never in a library's place."""

import importlib
import inspect
import linecache
import sys
import traceback

import pytest

from autograder.sandbox.guest import loading
from autograder.sandbox.protocol.wire import NameSpec, SourceFile

SOFTMAX = NameSpec("softmax", "simplified", "function", ("scores",), "attention")


@pytest.fixture
def load():
    """Load modules given as path -> text, in this process; all is undone after the test."""
    loaded = []

    def of(files):
        sources = [SourceFile(path, "module", text.encode()) for path, text in files.items()]
        loaded.append(loading.load(sources, [SOFTMAX]))
        return loaded[-1]

    yield of
    for each in reversed(loaded):
        each.close()


def namespace(loaded, name):
    """The globals of a module, by its full name."""
    return next(vars(each) for each in loaded.modules if each.__name__ == f"handed_in.{name}")


class TestOneModuleUnderAllItsNames:
    """However a file is imported, it is run once and is the same object."""

    def test_every_dotted_end_of_a_path_is_a_name_of_the_module(self, load):
        """A folder more or less above the package does not matter."""
        loaded = load(
            {
                "week3/work/attention/causal.py": "marker = object()",
                "main.py": (
                    "import causal, attention.causal\n"
                    "import work.attention.causal\n"
                    "import week3.work.attention.causal as whole\n"
                    "from attention.causal import marker\n"
                    "same = causal is attention.causal is work.attention.causal is whole\n"
                ),
            }
        )
        assert namespace(loaded, "main")["same"]
        assert loaded.report.notes == ()

    def test_relative_and_absolute_imports_at_once_give_the_same_object(self, load):
        """The two ways are often mixed within one hand-in."""
        loaded = load(
            {
                "attention/simplified.py": "def softmax(scores): return scores",
                "attention/causal.py": (
                    "from .simplified import softmax as relative\n"
                    "from simplified import softmax as bare\n"
                    "from attention.simplified import softmax as dotted\n"
                    "from . import simplified\n"
                    "same = relative is bare is dotted is simplified.softmax\n"
                ),
            }
        )
        assert namespace(loaded, "attention.causal")["same"]

    def test_relative_imports_work_between_files_without_a_folder(self, load):
        """Handed in without its folder, a package's modules still find one another."""
        loaded = load(
            {
                "simplified.py": "def softmax(scores): return scores",
                "causal.py": "from .simplified import softmax\nimport attention.simplified\n",
            }
        )
        assert namespace(loaded, "causal")["softmax"] is loaded.objects["softmax"]
        assert loaded.report.notes == ()

    def test_a_submodule_is_there_after_its_package_was_imported(self, load):
        """`import attention` is enough, with an `__init__.py` or without."""
        loaded = load(
            {
                "attention/causal.py": "size = 3",
                "main.py": "import attention\nsize = attention.causal.size",
            }
        )
        assert namespace(loaded, "main")["size"] == 3

    def test_importlib_finds_the_same_object(self, load):
        """Imports made by name go through Python's own import system."""
        loaded = load(
            {
                "attention/causal.py": "count = []",
                "main.py": (
                    "import importlib, attention.causal\n"
                    "same = importlib.import_module('attention.causal') is attention.causal\n"
                    "bare = importlib.import_module('causal') is attention.causal\n"
                    "again = importlib.reload(attention.causal) is attention.causal\n"
                ),
            }
        )
        main = namespace(loaded, "main")
        assert (main["same"], main["bare"], main["again"]) == (True, True, True)

    def test_a_module_is_run_once(self, load):
        """Counted through a list that outlives the runs."""
        loaded = load(
            {
                "a.py": "import b, attention.b\nfrom .b import runs",
                "attention/b.py": "import sys\nsys.runs = getattr(sys, 'runs', 0) + 1\nruns = 1",
                "c.py": "from b import runs\nimport sys\nruns = sys.__dict__.pop('runs')",
            }
        )
        assert namespace(loaded, "c")["runs"] == 1

    def test_of_two_files_of_one_name_the_nearest_is_meant(self, load):
        """An older copy of the whole package is a common thing to hand in."""
        loaded = load(
            {
                "new/attention/simplified.py": "age = 'new'",
                "new/attention/causal.py": "from attention.simplified import age",
                "old/attention/simplified.py": "age = 'old'",
                "old/attention/causal.py": "import simplified\nage = simplified.age",
            }
        )
        assert namespace(loaded, "new.attention.causal")["age"] == "new"
        assert namespace(loaded, "old.attention.causal")["age"] == "old"

    def test_a_package_init_runs_before_its_modules(self, load):
        """As Python does, also when a module is imported first."""
        loaded = load(
            {
                "attention/__init__.py": "order = ['package']\nfrom .causal import name",
                "attention/causal.py": (
                    "import attention\nattention.order.append('module')\nname = 1"
                ),
            }
        )
        package = namespace(loaded, "attention")
        assert (package["order"], package["name"]) == (["package", "module"], 1)

    def test_a_module_and_a_package_of_one_name_are_both_read(self, load):
        """Nothing that was handed in is passed over in silence."""
        loaded = load({"causal.py": "x = 1", "causal/__init__.py": "x = 2"})
        assert sorted(vars(each)["x"] for each in loaded.modules if "x" in vars(each)) == [1, 2]

    def test_file_names_that_are_no_identifiers_are_read(self, load):
        """Downloads and versions leave such names."""
        loaded = load({"1_simplified (2).py": "def softmax(scores): return 1", "a.b-c.py": "x = 1"})
        assert loaded.report.found[0].path == "1_simplified (2).py"


class TestCircles:
    """Imports in a circle behave as in Python, and lose as little as can be."""

    def test_modules_that_import_one_another_as_modules_work(self, load):
        """The attribute is looked up later, when it is there."""
        loaded = load(
            {
                "a.py": "import b\ndef one(): return b.two()",
                "b.py": "import a\ndef two(): return 2\ndef three(): return a.one()",
            }
        )
        assert namespace(loaded, "b")["three"]() == 2

    def test_a_name_that_was_not_there_yet_is_put_in_place_later(self, load):
        """Python would stop here; what only needs the name when called can go on."""
        loaded = load(
            {
                "a.py": "from b import two\ndef one(): return 1",
                "b.py": "from a import one\ndef two(): return one() + 1",
            }
        )
        assert namespace(loaded, "b")["two"]() == 2
        assert loaded.report.notes == (
            "b.py line 1: one was not there yet, as modules import one another in a circle; "
            "it was put in place later",
        )


class TestLibraries:
    """A file with a library's name changes nothing for anybody."""

    @pytest.mark.parametrize("library", ["torch", "numpy", "math", "typing"])
    def test_a_file_never_takes_a_librarys_place(self, load, library):
        """`import torch` is torch, also for the file's own neighbours."""
        real = importlib.import_module(library)
        loaded = load({f"{library}.py": "x = 1", "main.py": f"import {library} as meant"})
        assert namespace(loaded, "main")["meant"] is real
        assert sys.modules[library] is real
        assert loaded.report.notes == (
            f"{library}.py has the name of a library: `import {library}` is the library",
        )

    def test_such_a_file_is_still_read_and_reached_by_relative_imports(self, load):
        """Its own work counts."""
        loaded = load(
            {
                "math.py": "def softmax(scores): return scores",
                "main.py": "from .math import softmax as relative\nfrom math import softmax, pi",
            }
        )
        main = namespace(loaded, "main")
        assert main["relative"] is main["softmax"] is loaded.objects["softmax"]
        assert main["pi"] > 3

    def test_no_top_level_module_of_the_submission_is_left_in_the_way(self, load):
        """All modules live below one package that no library is called."""
        before = set(sys.modules)
        load({"causal.py": "x = 1", "main.py": "import causal"})
        assert {name.partition(".")[0] for name in set(sys.modules) - before} <= {
            "handed_in",
            "IPython",
            "torch",  # the stand-ins of its compiler
        }

    @pytest.mark.parametrize(
        "statement",
        [
            "import autograder",
            "from autograder.sandbox.protocol import wire",
            "import importlib; importlib.import_module('autograder.grading.judge')",
        ],
    )
    def test_the_kits_own_packages_are_not_there(self, load, statement):
        """Refused like something that is not installed."""
        loaded = load(
            {
                "main.py": (
                    f"try:\n    {statement.replace('; ', chr(10) + '    ')}\n"
                    "except ModuleNotFoundError as error:\n    missing = error.name\n"
                )
            }
        )
        assert namespace(loaded, "main")["missing"].startswith("autograder")


class TestWhatToolsSee:
    """Files that lie nowhere still show their lines."""

    SOURCE = (
        "import os\n\ndef softmax(scores):\n    return scores / 0\n\n"
        "here = os.path.dirname(__file__)"
    )

    def test_the_seeming_path_can_be_taken_apart(self, load):
        """`__file__` is often used to find data beside the module."""
        loaded = load({"attention/simplified.py": self.SOURCE})
        assert namespace(loaded, "attention.simplified")["here"] == "/submission/attention"

    def test_inspect_shows_the_source_of_functions_and_classes(self, load):
        """torch.jit asks in this way, too."""
        text = "class A:\n    size = 1\n\n    def f(self):\n        return 2\n"
        loaded = load({"simplified.py": self.SOURCE, "a.py": text})
        assert inspect.getsource(loaded.objects["softmax"]) == (
            "def softmax(scores):\n    return scores / 0\n"
        )
        assert inspect.getsource(namespace(loaded, "a")["A"]) == text

    def test_a_traceback_shows_the_line(self, load):
        """Line and text belong to the file as it was handed in."""
        loaded = load({"simplified.py": self.SOURCE})
        with pytest.raises(ZeroDivisionError) as caught:
            loaded.objects["softmax"](1)
        frame = traceback.extract_tb(caught.value.__traceback__)[-1]
        assert (frame.filename, frame.lineno) == ("/submission/simplified.py", 4)
        assert frame.line == "return scores / 0"
        assert loaded.sources[frame.filename].path == "simplified.py"

    def test_the_lines_are_found_again_after_the_cache_was_cleared(self, load):
        """Some libraries clear it."""
        loaded = load({"simplified.py": self.SOURCE})
        linecache.clearcache()
        assert "return scores / 0" in inspect.getsource(loaded.objects["softmax"])

    def test_dataclasses_with_postponed_annotations_work(self, load):
        """They look their module up by name while they are made."""
        loaded = load(
            {
                "main.py": (
                    "from __future__ import annotations\nfrom dataclasses import dataclass\n"
                    "@dataclass\nclass Sizes:\n    heads: int = 2\nheads = Sizes().heads"
                )
            }
        )
        assert namespace(loaded, "main")["heads"] == 2


def test_closing_takes_everything_back():
    """A process that loads one submission after another starts afresh each time."""
    before = (set(sys.modules), list(sys.meta_path), input, importlib.import_module, __import__)
    loaded = loading.load([SourceFile("causal.py", "module", b"import causal")], [])
    loaded.close()
    assert before == (
        set(sys.modules),
        list(sys.meta_path),
        input,
        importlib.import_module,
        __import__,
    )


@pytest.mark.parametrize(
    "path",
    [
        "tests/causal.py",
        "test_causal.py",
        "attention/conftest.py",
        "setup.py",
        "selfcheck/causal.py",
        ".hidden/causal.py",
        "attention/__pycache__/causal.py",
        "venv/lib/causal.py",
    ],
)
def test_what_is_no_work_is_not_run(load, path):
    """Dropped here as well, whatever was handed over."""
    loaded = load({path: "def softmax(scores): return 1", "work.py": "x = 1"})
    assert (loaded.objects, loaded.report.notes) == ({}, ())


class TestImportsThatFail:
    """What a name had before stays, and what the contract asks for is found elsewhere."""

    def test_a_name_keeps_the_value_that_it_had(self, load):
        """As in Python, where an import that fails binds nothing."""
        loaded = load({"a.py": "value = 1\nfrom nowhere import value, other\n"})
        assert namespace(loaded, "a")["value"] == 1
        assert len(loaded.report.notes) == 1

    def test_a_graded_name_takes_the_place_of_a_stub_that_others_imported(self, load):
        """The stub in its module, the work in another, a third that imports the stub."""
        loaded = load(
            {
                "attention/simplified.py": "def softmax(scores):\n    raise NotImplementedError\n",
                "attention/causal.py": (
                    "from .simplified import softmax\ndef weights(x): return softmax(x)\n"
                ),
                "work.py": "def softmax(scores):\n    return [scores]\n",
            }
        )
        assert namespace(loaded, "attention.causal")["weights"](1) == [1]

    def test_a_graded_name_takes_the_place_of_an_import_that_is_not_there(self, load):
        """Told, since the work as it was handed in could not run so."""
        loaded = load(
            {
                "causal.py": "from part_one import softmax\ndef weights(x): return softmax(x)\n",
                "work.py": "def softmax(scores):\n    return [scores]\n",
            }
        )
        assert namespace(loaded, "causal")["weights"](1) == [1]
        assert loaded.report.notes[-1] == (
            "causal.py: softmax, which could not be imported, was taken from work.py"
        )

    def test_a_stub_that_nobody_has_written_elsewhere_stays(self, load):
        """There is nothing to put in its place."""
        loaded = load({"simplified.py": "def softmax(scores):\n    raise NotImplementedError\n"})
        assert [each.stub for each in loaded.report.found] == [True]
