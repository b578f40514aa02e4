"""Names of the contract among what a submission defines: spelling, precedence, ownership."""

from cProfile import Profile
from typing import Literal

import pytest

from autograder.sandbox.guest import loading
from autograder.sandbox.guest.loading.spelling import closeness, distance, folded
from autograder.sandbox.protocol.wire import NameSpec, SourceFile

FUNCTIONS = {
    "simplified": "attention_scores softmax context_vector attention_weights context_vectors",
    "trainable": "copy_weights",
    "causal": "causal_mask renormalized_weights masked_weights",
    "multi_head": "merge_heads gpt2_attention",
}
CLASSES = {
    "trainable": "SelfAttention_v1 SelfAttention_v2",
    "causal": "CausalAttention",
    "multi_head": "MultiHeadAttentionWrapper MultiHeadAttention",
}
KINDS: tuple[tuple[Literal["function", "class"], dict[str, str]], ...] = (
    ("function", FUNCTIONS),
    ("class", CLASSES),
)
NAMES = [
    NameSpec(name, module, kind, package="attention")
    for kind, table in KINDS
    for module, names in table.items()
    for name in names.split()
]
STUB = "def softmax(scores):\n    '''Doc.'''\n    raise NotImplementedError('not yet')\n"
CLASS = "class {}:\n    def forward(self, x): return {!r}\n"


@pytest.fixture
def load():
    """Load files given as path -> text or cells; all is undone after the test."""
    loaded = []

    def of(files):
        sources = [
            SourceFile(path, "notebook", b"", tuple(content))
            if path.endswith(".ipynb")
            else SourceFile(path, "module", content.encode())
            for path, content in files.items()
        ]
        loaded.append(loading.load(sources, NAMES))
        return loaded[-1]

    yield of
    for each in reversed(loaded):
        each.close()


def found(loaded):
    """Contract name -> the name it was found under."""
    return {each.name: each.spelled for each in loaded.report.found}


def suggestion(loaded, name):
    """What may have been meant by a missing name."""
    return next(each.suggestion for each in loaded.report.missing if each.name == name)


def softmax_returning(value):
    return f"def softmax(scores): return {value!r}\n"


class TestSpelling:
    """Exact, then without case and underscores, then nearly so."""

    @pytest.mark.parametrize(
        ("name", "written"),
        [
            ("SelfAttention_v1", "SelfAttentionV1"),
            ("SelfAttention_v2", "self_attention_v2"),
            ("MultiHeadAttention", "MultiheadAttention"),
            ("MultiHeadAttention", "MultiHeadAtention"),
            ("CausalAttention", "CasualAttention"),
            ("CausalAttention", "CausalAttentionV2"),
            ("MultiHeadAttentionWrapper", "MultiHeadAttentionWraper"),
        ],
    )
    def test_a_class_is_found_under_a_name_that_is_near(self, load, name, written):
        """And a note says under which."""
        loaded = load({"main.py": CLASS.format(written, 1)})
        assert found(loaded) == {name: written}
        assert loaded.report.notes == (f"{written} (main.py line 1) was taken for {name}",)

    @pytest.mark.parametrize(
        ("name", "written"),
        [
            ("softmax", "Softmax"),
            ("softmax", "softmx"),
            ("renormalized_weights", "renormalised_weights"),
            ("causal_mask", "causalMask"),
            ("attention_weights", "attention_weight"),
            ("gpt2_attention", "gpt_2_attention"),
        ],
    )
    def test_a_function_is_found_under_a_name_that_is_near(self, load, name, written):
        """British spelling included."""
        loaded = load({"main.py": f"def {written}(x): return x"})
        assert found(loaded) == {name: written}

    def test_the_exact_name_is_taken_before_a_near_one(self, load):
        """Whichever stands last."""
        loaded = load({"main.py": softmax_returning(1) + "def SoftMax(x): return 2\n"})
        assert loaded.objects["softmax"](0) == 1

    @pytest.mark.parametrize(
        ("written", "name"),
        [
            ("class SelfAttention:\n    def forward(self): return 1", "SelfAttention_v1"),
            ("class SelfAttention_v3:\n    def forward(self): return 1", "SelfAttention_v2"),
            ("def softmin(x): return 1", "softmax"),
            ("def causal_attention(q, k, v): return 1", "CausalAttention"),
            ("class Softmax:\n    def forward(self): return 1", "softmax"),
            ("def context_vector(q, i): return 1", "context_vectors"),
            ("class SelfAttention_v1:\n    def forward(self): return 1", "SelfAttention_v2"),
        ],
    )
    def test_another_thing_with_a_similar_name_is_not_taken(self, load, written, name):
        """Another name of the contract, as near to two of them, another kind, another word."""
        assert name in {each.name for each in load({"main.py": written}).report.missing}

    @pytest.mark.parametrize(
        ("written", "name", "meant"),
        [
            (
                "class SelfAttention:\n    def forward(self): return 1",
                "SelfAttention_v1",
                "SelfAttention",
            ),
            ("def softmin(x): return 1", "softmax", "softmin"),
            ("def causal_attention(q, k, v): return 1", "CausalAttention", "causal_attention"),
            ("def unrelated(x): return 1", "softmax", None),
        ],
    )
    def test_a_missing_name_comes_with_one_that_may_be_meant(self, load, written, name, meant):
        """Where there is one."""
        assert suggestion(load({"main.py": written}), name) == meant

    def test_distance_counts_letters(self):
        """Changed, added, taken away; no further than the limit."""
        assert distance("softmax", "softmax") == 0
        assert distance("softmax", "sofmax") == 1
        assert distance("softmax", "softmin") == 2
        assert distance("softmax", "attention") == 3

    def test_closeness_does_not_depend_on_the_order(self):
        """Of the two names."""
        pairs = [("context_vecs", "context_vectors"), ("MHA", "MultiHeadAttention")]
        assert all(closeness(a, b) == closeness(b, a) for a, b in pairs)
        assert closeness("Causal_Mask", "causalmask") == 1.0
        assert folded("W_Query") == "wquery"


class TestPrecedence:
    """Which of several definitions is graded; a note tells of the others."""

    def test_a_written_one_before_a_stub(self, load):
        """The template beside a solved notebook."""
        loaded = load({"attention/simplified.py": STUB, "work.ipynb": [softmax_returning(1)]})
        assert loaded.objects["softmax"](0) == 1
        assert loaded.report.notes == (
            "softmax is defined in attention/simplified.py and work.ipynb; work.ipynb was graded",
        )

    def test_the_stages_own_module_before_others(self, load):
        """Whatever the order of their paths."""
        loaded = load({"a.py": softmax_returning(1), "simplified.py": softmax_returning(2)})
        assert loaded.objects["softmax"](0) == 2
        assert loaded.report.notes == (
            "softmax is defined in a.py and simplified.py; simplified.py was graded",
        )

    def test_the_packages_module_before_a_copy_elsewhere(self, load):
        """Two files of the stage's name."""
        loaded = load(
            {
                "archive/simplified.py": softmax_returning(1),
                "attention/simplified.py": softmax_returning(2),
            }
        )
        assert loaded.objects["softmax"](0) == 2

    def test_other_modules_in_the_order_of_their_paths(self, load):
        """The first one counts."""
        loaded = load({"b.py": softmax_returning(2), "a.py": softmax_returning(1)})
        assert loaded.objects["softmax"](0) == 1

    def test_a_module_before_a_notebook(self, load):
        """Whatever their names."""
        loaded = load({"a.ipynb": [softmax_returning(1)], "z.py": softmax_returning(2)})
        assert loaded.objects["softmax"](0) == 2

    def test_the_last_notebook_counts(self, load):
        """In the order of their names."""
        loaded = load({"2.ipynb": [softmax_returning(2)], "1.ipynb": [softmax_returning(1)]})
        assert loaded.objects["softmax"](0) == 2

    def test_the_last_definition_counts(self, load):
        """Of one file."""
        loaded = load({"work.ipynb": [softmax_returning(1), softmax_returning(2)]})
        assert loaded.objects["softmax"](0) == 2
        assert loaded.report.notes == (
            "softmax is defined in work.ipynb cell 1 and work.ipynb cell 2; "
            "work.ipynb cell 2 was graded",
        )

    def test_a_written_definition_counts_before_a_later_stub(self, load):
        """A cell of the template that was run again at the end."""
        loaded = load({"work.ipynb": [softmax_returning(1), STUB]})
        assert loaded.objects["softmax"](0) == 1

    def test_a_written_near_name_counts_before_an_exact_stub(self, load):
        """The stub fits in name only."""
        loaded = load({"a.py": STUB, "b.py": "def soft_max(scores): return 1"})
        assert loaded.objects["softmax"](0) == 1

    def test_one_object_under_its_name_in_many_files_is_one_definition(self, load):
        """Imports are no definitions, and there is nothing to note."""
        loaded = load(
            {
                "attention/__init__.py": "from .simplified import *",
                "attention/simplified.py": softmax_returning(1),
                "work.ipynb": ["from attention.simplified import softmax"],
            }
        )
        (place,) = loaded.report.found
        assert (place.path, place.line) == ("attention/simplified.py", 1)
        assert loaded.report.notes == ()

    def test_an_import_under_the_contracts_name_counts(self, load):
        """What it names is the submission's own."""
        loaded = load(
            {
                "engine.py": "def rows(scores): return 3",
                "main.py": "from engine import rows as softmax",
            }
        )
        assert loaded.objects["softmax"](0) == 3

    def test_names_that_share_their_places_share_a_note(self, load):
        """A whole template of stubs makes one note."""
        stubs = STUB + STUB.replace("softmax", "context_vector")
        work = softmax_returning(1) + softmax_returning(1).replace("softmax", "context_vector")
        loaded = load({"attention/simplified.py": stubs, "work.ipynb": [work]})
        assert loaded.report.notes == (
            "softmax and context_vector are defined in attention/simplified.py and work.ipynb; "
            "work.ipynb was graded",
        )

    def test_stubs_beside_the_stages_own_modules_share_one_note(self, load):
        """The template's notebooks, handed in as they were."""
        context = softmax_returning(1).replace("softmax", "causal_mask")
        loaded = load(
            {
                "attention/simplified.py": softmax_returning(1),
                "attention/causal.py": context,
                "notebooks/1.ipynb": [STUB],
                "notebooks/3.ipynb": [STUB.replace("softmax", "causal_mask")],
            }
        )
        assert loaded.objects["softmax"](0) == 1
        assert loaded.report.notes == (
            "notebooks/1.ipynb and notebooks/3.ipynb have nothing but stubs of what is written in "
            "the stages' modules; the modules were graded",
        )

    def test_a_written_definition_beside_the_stages_module_is_told_by_name(self, load):
        """Even where there are stubs besides."""
        loaded = load(
            {
                "attention/simplified.py": softmax_returning(1),
                "1.ipynb": [STUB],
                "2.ipynb": [softmax_returning(2)],
            }
        )
        assert loaded.report.notes == (
            "softmax is defined in 1.ipynb, 2.ipynb and attention/simplified.py; "
            "attention/simplified.py was graded",
        )

    def test_a_stub_in_a_file_that_was_worked_on_is_told_by_name(self, load):
        """A notebook of experiments, with one name left open."""
        loaded = load(
            {
                "attention/simplified.py": softmax_returning(1),
                "work.ipynb": [softmax_returning(2).replace("softmax", "causal_mask"), STUB],
            }
        )
        assert loaded.report.notes == (
            "softmax is defined in attention/simplified.py and work.ipynb; "
            "attention/simplified.py was graded",
        )

    def test_a_stub_that_stays_in_the_stages_module_itself_is_told_by_name(self, load):
        """Somebody wrote below it, and may wonder."""
        loaded = load({"attention/simplified.py": softmax_returning(1) + STUB})
        assert loaded.objects["softmax"](0) == 1
        (note,) = loaded.report.notes
        assert note.startswith("softmax is defined in attention/simplified.py line 1")


class TestOwnership:
    """Only what the submission defines itself counts."""

    @pytest.mark.parametrize(
        "text",
        [
            "softmax = lambda scores: scores",
            "import functools\ndef f(x, y): return x\nsoftmax = functools.partial(f, y=1)",
            "import functools\n@functools.lru_cache\ndef softmax(scores): return scores",
            "import functools\n@functools.wraps(print)\ndef softmax(scores): return scores",
            "import contextlib\n@contextlib.contextmanager\ndef softmax(scores): yield scores",
            "def deco(f):\n    return lambda *x: f(*x)\n@deco\ndef softmax(scores): return scores",
            "class S:\n    def __call__(self, scores): return scores\nsoftmax = S()",
            "class S:\n    def f(self, scores): return scores\nsoftmax = S().f",
            "@staticmethod\ndef softmax(scores): return scores",
            "exec('def softmax(scores): return scores')",
            "if True:\n    def softmax(scores): return scores",
            "try:\n    def softmax(scores): return scores\nfinally:\n    pass",
            "globals()['softmax'] = lambda scores: scores",
        ],
    )
    def test_it_counts_however_it_was_made(self, load, text):
        """Lambdas, partials, decorators, callable objects."""
        assert found(load({"main.py": text})) == {"softmax": "softmax"}

    @pytest.mark.parametrize(
        "text",
        [
            "from math import exp as softmax",
            "from shutil import copy as softmax",
            "import functools, shutil\nsoftmax = functools.partial(shutil.copy, 'a')",
            "import functools\nsoftmax = functools.lru_cache(print)",
            "from collections import OrderedDict as softmax",
            "import math as softmax",
            "softmax = [1, 2]",
            "import tiktoken as softmax",
            "from tiktoken import softmax",
        ],
    )
    def test_what_a_library_defines_does_not_count(self, load, text):
        """Under whatever name, and nothing of it runs."""
        loaded = load({"main.py": text})
        assert loaded.objects == {}
        assert "softmax" in {each.name for each in loaded.report.missing}

    def test_a_note_tells_what_bears_the_name_instead(self, load):
        """A value, or something imported."""
        loaded = load(
            {
                "main.py": "from math import exp as softmax\nattention_weights = [1]",
                "z.py": "class masked_weights:\n    def forward(self): return 1",
            }
        )
        assert loaded.report.notes == (
            "softmax in main.py is not defined in the submission, only used there",
            "attention_weights in main.py is a list; a function was looked for",
            "masked_weights (z.py line 1) is of the kind class; a function was looked for",
        )

    def test_a_function_that_makes_modules_may_stand_for_a_class(self, load):
        """Under the exact name."""
        loaded = load({"main.py": "def CausalAttention(d_in, d_out): return 1"})
        assert found(loaded) == {"CausalAttention": "CausalAttention"}

    def test_a_class_made_at_run_time_counts(self, load):
        """`type` and a metaclass that guards its attributes."""
        loaded = load(
            {
                "main.py": (
                    "class Meta(type):\n"
                    "    def __getattribute__(cls, name): raise SystemExit\n"
                    "CausalAttention = Meta('x', (), {'forward': lambda self: 1})\n"
                )
            }
        )
        assert found(loaded) == {"CausalAttention": "CausalAttention"}


class TestStubs:
    """What was left unwritten is found, and marked."""

    @pytest.mark.parametrize(
        "body",
        [
            "pass",
            "...",
            "'''Doc.'''",
            "raise NotImplementedError",
            "'''Doc.'''\n    raise NotImplementedError('softmax: not written yet')",
            "size = scores.shape\n    raise NotImplementedError",
        ],
    )
    def test_an_empty_body_is_a_stub(self, load, body):
        """With or without a docstring and what the template gives."""
        loaded = load({"main.py": f"def softmax(scores):\n    {body}\n"})
        assert loaded.report.found[0].stub

    @pytest.mark.parametrize(
        "body",
        [
            "return scores",
            "return scores\n    raise NotImplementedError",
            "if scores is None:\n        raise NotImplementedError\n    return scores",
            "raise ValueError",
            "print(scores)",
        ],
    )
    def test_anything_else_is_work(self, load, body):
        """Right or wrong."""
        loaded = load({"main.py": f"def softmax(scores):\n    {body}\n"})
        assert not loaded.report.found[0].stub

    @pytest.mark.parametrize(
        ("body", "stub"),
        [
            ("    pass\n", True),
            ("    def forward(self, x):\n        raise NotImplementedError\n", True),
            (
                "    def __init__(self):\n        raise NotImplementedError\n"
                "    def forward(self, x):\n        return x\n",
                True,
            ),
            ("    def __init__(self): self.x = 1\n", True),
            ("    def forward(self, x):\n        return x\n", False),
            ("    def __call__(self, x):\n        return x\n", False),
            ("    forward = lambda self, x: x\n", False),
        ],
    )
    def test_a_class_is_a_stub_by_its_constructor_or_forward(self, load, body, stub):
        """One that can do nothing is one, too."""
        loaded = load({"main.py": f"class CausalAttention:\n{body}"})
        assert loaded.report.found[0].stub is stub

    def test_a_class_that_inherits_its_forward_is_work(self, load):
        """Nothing is missing from it."""
        loaded = load(
            {"main.py": CLASS.format("Base", 1) + "class CausalAttention(Base):\n    pass\n"}
        )
        assert not loaded.report.found[0].stub

    def test_a_torch_module_without_a_forward_is_a_stub(self, load):
        """The forward that it inherits only raises."""
        pytest.importorskip("torch")
        text = "from torch import nn\nclass CausalAttention(nn.Module):\n    pass\n"
        assert load({"main.py": text}).report.found[0].stub


def test_many_helpers_do_not_slow_the_search(load):
    """Four times as many other names are about four times the work, counted in calls."""

    def work(helpers):
        names = (f"helper_of_attention_{helpers + i}" for i in range(helpers))  # none twice
        defined = (f"def {name}(x): return x\n" for name in names)
        counted = Profile()
        counted.runcall(load, {"main.py": STUB + "".join(defined)})
        return sum(entry.callcount for entry in counted.getstats())

    work(1)  # what is imported and compiled once
    assert work(400) < 8 * work(100)  # every pair of names would be sixteen times as much
