"""What checks see of a submission: names, values, gradients, modules, and what goes wrong."""

from collections.abc import Iterator

import pytest
import torch

from autograder.assignment.assignment import Limits
from autograder.checks.session import other_names
from autograder.errors import InternalError
from autograder.sandbox.host.line import CUT
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.sandbox.host.session import Session
from autograder.sandbox.host.student import (
    ModuleProxy,
    NameMissing,
    NotImplementedYet,
    Opaque,
    StudentFault,
    StudentKilled,
    StudentRaised,
    StudentTimeout,
    WireBroken,
)
from autograder.submissions.submission import SourceFile
from tests.conftest import ASSIGNMENT

NAMES = (
    NameSpec("softmax", "simplified", "function", ("scores",)),
    NameSpec("context_vector", "simplified", "function", ("query", "inputs")),
    NameSpec("SelfAttention_v1", "trainable", "class", ("d_in", "d_out")),
    NameSpec("SelfAttention_v2", "trainable", "class", ("d_in", "d_out", "qkv_bias")),
    NameSpec("copy_weights", "trainable", "function", ("source", "target")),
)
LIMITS = Limits(load_seconds=1.0, call_seconds=0.3, check_seconds=1.0, memory_mb=256)

ATTENTION = """
import torch
from torch import nn

def softmax(scores):
    exponentials = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return exponentials / exponentials.sum(dim=-1, keepdim=True)

def context_vector(query, inputs):
    raise NotImplementedError

class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.register_buffer("mask", torch.zeros(3), persistent=False)
        self.kept = torch.ones(4)
        self.heads = [nn.Linear(2, 2)]
        self.width = d_out

    def forward(self, inputs):
        queries, keys = self.W_query(inputs), self.W_key(inputs)
        weights = softmax(queries @ keys.T / keys.shape[-1] ** 0.5)
        return weights @ self.W_value(inputs)

def copy_weights(source, target):
    with torch.no_grad():
        target.W_query.weight.copy_(source.W_query.weight)
    return target
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(LIMITS, NAMES, parameters=other_names(ASSIGNMENT)) as made:
        made.wait_ready()
        yield made


@pytest.fixture
def opened(sandbox: Sandbox) -> Iterator[list[Session]]:
    sessions: list[Session] = []
    yield sessions
    for session in sessions:
        session.close()


@pytest.fixture
def begin(sandbox: Sandbox, opened: list[Session]):  # type: ignore[no-untyped-def]
    """Opens a submission of one module."""

    def begin(source: str = ATTENTION) -> Session:
        session = sandbox.open([SourceFile("attention.py", "module", source.encode(), ())])
        opened.append(session)
        return session

    return begin


def call(session: Session, name: str = "softmax", *args: object) -> object:
    return session.student("check").proxy(name)(*(args or (torch.ones(2),)))


class TestNames:
    def test_a_function_is_called_as_if_it_were_here(self, begin) -> None:
        scores = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 90.0]])
        weights = begin().student("check").softmax(scores)
        assert torch.allclose(weights, torch.softmax(scores, dim=-1))

    def test_the_report_tells_where_names_are(self, begin) -> None:
        report = begin().report
        assert report.found["softmax"].path == "attention.py"
        assert report.found["softmax"].line == 5
        assert report.found["context_vector"].stub
        assert "SelfAttention_v1" in report.missing

    def test_how_arguments_found_their_places_is_kept_once(self, begin) -> None:
        session = begin(ATTENTION.replace("qkv_bias", "use_bias").replace("d_in", "dim_in"))
        student = session.student("check")
        for _ in range(3):
            student.SelfAttention_v2(d_in=2, d_out=3, qkv_bias=True)
        assert session.matched == (
            "SelfAttention_v2: d_in was given as dim_in (a near name)",
            "SelfAttention_v2: qkv_bias was given as use_bias (a near name)",
        )

    def test_a_layer_outside_of_the_class_follows_its_mode_and_is_told(self, begin) -> None:
        outside = "\ndropout = nn.Dropout(0.5)\n\nclass SelfAttention_v2"
        source = ATTENTION.replace("\nclass SelfAttention_v2", outside).replace(
            "return weights @", "return dropout(weights) @"
        )
        session = begin(source)
        attention = session.student("check").SelfAttention_v2(d_in=2, d_out=3).eval()
        tokens = torch.ones(4, 2)
        first = attention(tokens)
        assert torch.equal(attention(tokens), first)
        trained = attention.train()(tokens)
        assert not torch.equal(trained, first)
        assert any("leans on dropout, a layer" in note for note in session.matched)

    def test_a_missing_name_says_what_was_looked_for(self, begin) -> None:
        with pytest.raises(NameMissing, match="SelfAttention_v1 was not found"):
            begin().student("check").SelfAttention_v1(d_in=2, d_out=3)

    def test_a_stub_is_not_implemented_yet(self, begin) -> None:
        with pytest.raises(NotImplementedYet):
            begin().student("check").context_vector(torch.ones(2), torch.ones(3, 2))

    def test_a_name_outside_the_contract_is_the_kits_fault(self, begin) -> None:
        with pytest.raises(InternalError):
            begin().student("check").no_such_name  # noqa: B018

    def test_what_was_printed_is_kept_and_cut(self, begin) -> None:
        session = begin("def softmax(scores):\n    print('x' * 10_000)\n    return scores\n")
        assert session.student("check").softmax.ask(torch.ones(2)).printed
        assert session.output == "x" * LIMITS.output_chars + CUT

    def test_input_is_at_its_end(self, begin) -> None:
        with pytest.raises(StudentRaised, match="EOFError"):
            call(begin("def softmax(scores):\n    return input()\n"))


class TestCalls:
    @pytest.mark.parametrize("layout", ["contiguous", "transposed", "sliced", "expanded"])
    def test_every_layout_holds_the_same_numbers(self, begin, layout: str) -> None:
        session = begin(
            "def softmax(scores):\n"
            "    return [scores, list(scores.stride()), scores.storage_offset()]\n"
        )
        scores = torch.arange(3.0).expand(4, 3) if layout == "expanded" else torch.randn(4, 3)
        found, stride, offset = (
            session.student("check").softmax.ask(scores, layouts={0: layout}).value
        )
        assert torch.equal(found, scores)
        expected = {
            "contiguous": ([3, 1], 0),
            "transposed": ([1, 4], 0),
            "sliced": ([7, 2], 1),
            "expanded": ([0, 1], 0),
        }
        assert (stride, offset) == expected[layout]

    def test_arguments_come_back_as_the_call_left_them(self, begin) -> None:
        session = begin("def softmax(scores):\n    scores += 1\n    return scores\n")
        reply = session.student("check").softmax.ask(torch.zeros(2), arguments=True)
        assert torch.equal(reply.arguments[0], torch.ones(2))

    def test_a_changed_argument_is_seen_with_a_gradient_too(self, begin) -> None:
        session = begin("def softmax(scores):\n    scores += 1\n    return scores * 2\n")
        reply = session.student("check").softmax.ask(
            torch.zeros(2), arguments=True, cotangent=torch.tensor([1.0, 10.0])
        )
        assert torch.equal(reply.arguments[0], torch.ones(2))
        assert reply.gradients is not None
        assert torch.equal(reply.gradients["argument:0"], torch.tensor([2.0, 20.0]))

    def test_gradients_are_those_of_torch(self, begin) -> None:
        student = begin().student("check")
        scores, cotangent = torch.randn(3, 4), torch.randn(3, 4)
        reply = student.softmax.ask(scores, cotangent=cotangent)
        leaf = scores.clone().requires_grad_()
        torch.softmax(leaf, dim=-1).backward(cotangent)
        assert reply.gradients is not None
        assert torch.allclose(reply.gradients["argument:0"], leaf.grad, atol=1e-6)

    def test_gradients_are_there_when_the_call_turned_them_off_at_its_end(self, begin) -> None:
        session = begin(
            "import torch\n"
            "def softmax(scores):\n"
            "    result = scores * 2\n"
            "    torch.set_grad_enabled(False)\n"
            "    return result\n"
        )
        reply = session.student("check").softmax.ask(torch.ones(2), cotangent=torch.ones(2))
        assert reply.gradients is not None
        assert torch.equal(reply.gradients["argument:0"], torch.full((2,), 2.0))

    def test_an_output_of_another_shape_has_no_gradient(self, begin) -> None:
        reply = begin().student("check").softmax.ask(torch.ones(3), cotangent=torch.ones(4))
        assert reply.gradients is None

    def test_the_right_tensor_of_a_tuple_gives_the_gradient(self, begin) -> None:
        session = begin("def softmax(scores):\n    return scores.sum(), scores * 3\n")
        reply = session.student("check").softmax.ask(torch.ones(2), cotangent=torch.ones(2))
        assert reply.gradients is not None
        assert torch.equal(reply.gradients["argument:0"], torch.full((2,), 3.0))

    def test_operators_are_counted_by_their_names(self, begin) -> None:
        session = begin(
            "import torch\ndef softmax(scores):\n    return torch.nn.Softmax(-1)(scores @ scores.T)"
        )
        counts = session.student("check").softmax.ask(torch.ones(2, 3), operators=True).operators
        assert counts["aten._softmax"] == 1
        assert counts["aten.mm"] == 1

    @pytest.mark.parametrize("shape", [(1, 3, 4), (1, 2, 3, 4)])
    @pytest.mark.parametrize(
        "door",
        [
            "torch.nn.functional.scaled_dot_product_attention(s, s, s)",
            "torch._C._nn.scaled_dot_product_attention(s, s, s)",
            "torch.ops.aten.scaled_dot_product_attention.default(s, s, s)",
        ],
    )
    def test_library_attention_is_seen_through_every_door(
        self, begin, door: str, shape: tuple[int, ...]
    ) -> None:
        session = begin(f"import torch\ndef softmax(s):\n    return {door}\n")
        counts = session.student("check").softmax.ask(torch.ones(shape), operators=True).operators
        assert any("._scaled_dot_product" in name for name in counts)

    @pytest.mark.parametrize("weights", [True, False])
    def test_the_librarys_multi_head_attention_is_seen(self, begin, weights: bool) -> None:
        session = begin(
            "import torch\n"
            "attention = torch.nn.MultiheadAttention(4, 2, batch_first=True).eval()\n"
            f"def softmax(s):\n    return attention(s, s, s, need_weights={weights})[0]\n"
        )
        counts = session.student("check").softmax.ask(torch.ones(1, 3, 4), operators=True).operators
        assert counts["function._native_multi_head_attention"] == 1

    @pytest.mark.parametrize(
        "layer",
        [
            "torch.nn.TransformerEncoderLayer(4, 2, batch_first=True).eval()",
            "torch.nn.TransformerEncoderLayer(4, 2)",
            "torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2), 1).eval()",
            "torch.nn.TransformerDecoderLayer(4, 2, batch_first=True)",
        ],
    )
    def test_library_attention_is_seen_within_the_librarys_larger_layers(
        self, begin, layer: str
    ) -> None:
        inputs = "s, s" if "Decoder" in layer else "s"
        session = begin(
            f"import torch\nlayer = {layer}\ndef softmax(s):\n    return layer({inputs})\n"
        )
        counts = session.student("check").softmax.ask(torch.ones(1, 3, 4), operators=True).operators
        assert counts["function._native_multi_head_attention"] == 1 + ("Decoder" in layer)

    def test_values_that_cannot_travel_are_described(self, begin) -> None:
        session = begin("def softmax(scores):\n    return {'weights': scores, 'kind': object()}\n")
        value = session.student("check").softmax(torch.ones(2))
        assert isinstance(value, Opaque)
        assert torch.equal(value.parts["weights"], torch.ones(2))


class TestState:
    def test_random_numbers_depend_on_the_check_and_the_call_alone(self, begin) -> None:
        session = begin(
            "import random, torch, numpy\n"
            "def softmax(scores):\n"
            "    return [torch.rand(1), random.random(), float(numpy.random.rand())]\n"
        )
        first, second = call(session), call(session)
        session.begin_check("other")
        session.begin_check("check")
        assert repr(call(session)) == repr(first)
        assert repr(first) != repr(second)

    def test_what_one_call_leaves_behind_does_not_reach_the_next(self, begin) -> None:
        session = begin(
            "import torch\n"
            "def softmax(scores):\n"
            "    seen = [str(torch.get_default_dtype()), torch.get_num_threads(),\n"
            "            torch.is_grad_enabled(), str(torch.ones(1).device),\n"
            "            torch.are_deterministic_algorithms_enabled()]\n"
            "    torch.set_default_dtype(torch.float64)\n"
            "    torch.set_num_threads(3)\n"
            "    torch.set_grad_enabled(True)\n"
            "    torch.set_default_device('meta')\n"
            "    torch._C._set_deterministic_algorithms(True)\n"
            "    return seen\n"
        )
        first = call(session)
        assert first == ["torch.float32", 1, False, "cpu", False]
        assert call(session) == first

    def test_a_patched_torch_changes_the_students_results_only(self, begin) -> None:
        session = begin(
            "import torch\n"
            "torch.allclose = torch.equal = lambda *a, **k: True\n"
            "torch.Tensor.__eq__ = lambda *a: True\n"
            "torch.Tensor.detach = torch.Tensor.contiguous = lambda self: torch.zeros(1)\n"
            "torch.Tensor.shape = property(lambda self: (7,))\n"
            "def softmax(scores):\n    return scores\n"
        )
        scores = torch.arange(4.0)
        reply = session.student("check").softmax.ask(scores, arguments=True)
        assert torch.equal(reply.value, scores)
        assert torch.equal(reply.arguments[0], scores)


class TestModules:
    def make(self, session: Session, **keywords: object) -> ModuleProxy:
        return session.student("check").SelfAttention_v2(**({"d_in": 3, "d_out": 2} | keywords))

    def test_tables_come_with_the_module(self, begin) -> None:
        module = self.make(begin(), qkv_bias=True)
        assert module.class_name == "SelfAttention_v2"
        assert module.parameters["W_query.weight"].shape == (2, 3)
        assert "W_key.bias" in module.parameters
        assert list(module.buffers) == ["mask"]
        assert "mask" not in module.state_names
        assert ("W_query", "Linear") in module.submodules

    def test_weights_are_set_and_read_by_their_paths(self, begin) -> None:
        module = self.make(begin())
        weight = torch.arange(6.0).reshape(2, 3)
        module.set({"W_query.weight": weight, "mask": torch.ones(3)})
        assert torch.equal(module.tensors()["W_query.weight"], weight)
        assert torch.equal(module.tensors()["mask"], torch.ones(3))

    def test_a_weight_of_another_shape_is_refused_before_it_is_sent(self, begin) -> None:
        with pytest.raises(StudentFault, match=r"has the shape \(2, 3\), not \(3, 2\)"):
            self.make(begin()).set({"W_query.weight": torch.ones(3, 2)})

    def test_a_lazy_layer_has_a_shape_once_it_was_called(self, begin) -> None:
        session = begin(
            "from torch import nn\n"
            "class SelfAttention_v2(nn.Module):\n"
            "    def __init__(self, d_in, d_out, qkv_bias=False):\n"
            "        super().__init__()\n"
            "        self.W_query = nn.LazyLinear(d_out, bias=False)\n"
            "    def forward(self, inputs):\n        return self.W_query(inputs)\n"
        )
        module = self.make(session)
        assert module.parameters["W_query.weight"].shape == (0,)
        module(torch.ones(4, 3))
        assert module.child("W_query").parameters["weight"].shape == (2, 3)

    def test_modules_in_plain_lists_are_found_and_set(self, begin) -> None:
        module = self.make(begin())
        assert module.hidden_modules == [("heads.0", "Linear")]
        module.set({"heads.0.weight": torch.eye(2)})
        assert torch.equal(module.child("heads.0").tensors()["weight"], torch.eye(2))

    def test_several_are_built_in_one_frame_each_in_its_place(self, begin) -> None:
        made = (
            begin()
            .student("check")
            .SelfAttention_v2.make_each(
                [{"d_in": 3, "d_out": 2}, {"d_in": 4, "d_out": 5}, {"d_in": "four", "d_out": 5}]
            )
        )
        assert next(made).parameters["W_key.weight"].shape == (2, 3)
        assert next(made).parameters["W_key.weight"].shape == (5, 4)
        with pytest.raises(StudentRaised):
            next(made)

    def test_a_call_is_watched_before_and_after(self, begin) -> None:
        session = begin()
        source, target = self.make(session), self.make(session)
        source.set({"W_query.weight": torch.ones(2, 3)})
        target.set({"W_query.weight": torch.zeros(2, 3)})
        copy = session.student("check").copy_weights
        seen = copy.watched(source, target, before=(source, target), after=(target,))
        path = "W_query.weight"
        assert torch.equal(next(seen)[path], torch.ones(2, 3))
        assert torch.equal(next(seen)[path], torch.zeros(2, 3))
        assert next(seen).value.class_name == "SelfAttention_v2"
        assert torch.equal(next(seen)[path], torch.ones(2, 3))
        assert torch.equal(target.tensors()[path], torch.ones(2, 3))

    def test_what_a_watched_call_raises_comes_in_its_place(self, begin) -> None:
        session = begin()
        source = self.make(session)
        seen = session.student("check").copy_weights.watched(source, 3, before=(source,))
        assert "W_query.weight" in next(seen)
        with pytest.raises(StudentRaised):
            next(seen)

    def test_attributes_tell_tensors_that_are_no_buffers(self, begin) -> None:
        attributes = self.make(begin()).attributes
        assert attributes["kept"].shape == (4,)
        assert attributes["width"] == 2
        assert "mask" not in attributes

    def test_double_reaches_every_parameter(self, begin) -> None:
        module = self.make(begin()).double()
        assert module.parameters["W_key.weight"].dtype is torch.float64
        assert module(torch.ones(4, 3, dtype=torch.float64)).dtype is torch.float64

    def test_meta_reaches_what_moves_and_nothing_else(self, begin) -> None:
        module = self.make(begin()).to_meta()
        assert module.buffers["mask"].device == "meta"
        assert module.attributes["kept"].device == "cpu"

    def test_gradients_reach_every_parameter_in_one_product(self, begin) -> None:
        module = self.make(begin()).eval()
        reply = module.ask(torch.randn(4, 3), cotangent=torch.randn(4, 2))
        assert reply.gradients is not None
        assert set(reply.gradients) == {*module.parameters, "argument:0"}
        assert all(bool(value.abs().sum() > 0) for value in reply.gradients.values())

    def test_a_module_as_argument_arrives_as_that_module(self, begin) -> None:
        session = begin()
        source, target = self.make(session), self.make(session)
        source.set({"W_query.weight": torch.full((2, 3), 5.0)})
        returned = session.student("check").copy_weights(source, target)
        assert isinstance(returned, ModuleProxy)
        assert torch.equal(target.tensors()["W_query.weight"], torch.full((2, 3), 5.0))

    def test_a_module_of_an_earlier_check_is_the_kits_fault(self, begin) -> None:
        session = begin()
        module = self.make(session)
        session.begin_check("next")
        with pytest.raises(InternalError, match="another check"):
            module(torch.ones(4, 3))

    def test_a_module_of_a_guest_that_is_gone_is_the_kits_fault(self, begin) -> None:
        session = begin()
        module = self.make(session)
        session.restart()
        with pytest.raises(InternalError, match="gone"):
            module(torch.ones(4, 3))

    def test_functions_of_the_judge_take_the_students_place(self, begin) -> None:
        session = begin(ATTENTION.replace("exponentials.sum", "0 * exponentials.sum"))
        assert not torch.isfinite(self.make(session)(torch.ones(4, 3))).any()
        session.substitute(
            "import torch\ndef softmax(scores):\n    return torch.softmax(scores, dim=-1)\n"
        )
        assert torch.isfinite(self.make(session)(torch.ones(4, 3))).all()
        session.restart()
        assert not torch.isfinite(self.make(session)(torch.ones(4, 3))).any()

    def test_functions_of_the_judge_may_serve_the_students_own_and_not_be_called(
        self, begin
    ) -> None:
        session = begin(ATTENTION.replace("exponentials.sum", "0 * exponentials.sum"))
        session.substitute(
            "import torch\ndef softmax(scores):\n    return torch.softmax(scores, dim=-1)\n",
            called=False,
        )
        assert torch.isfinite(self.make(session)(torch.ones(4, 3))).all()
        assert not torch.isfinite(session.student("check").softmax(torch.ones(2, 3))).any()


class TestSeveralAtOnce:
    def test_replies_come_in_the_order_of_the_calls(self, begin) -> None:
        module = begin().student("check").SelfAttention_v2(3, 2)
        texts = [torch.eye(3)[:count] for count in (1, 2, 3)]
        found = [reply.value for reply in module.ask_each([module.asked(each) for each in texts])]
        assert [tuple(each.shape) for each in found] == [(1, 2), (2, 2), (3, 2)]
        assert all(torch.equal(each, module(text)) for each, text in zip(found, texts, strict=True))

    def test_what_one_raises_stands_in_its_place_and_ends_them(self, begin) -> None:
        module = begin().student("check").SelfAttention_v2(3, 2)
        replies = module.ask_each([module.asked(torch.eye(size)) for size in (3, 4, 3)])
        assert next(replies).value.shape == (3, 2)
        with pytest.raises(StudentRaised, match="mat1 and mat2"):
            next(replies)
        with pytest.raises(StopIteration):
            next(replies)

    def test_a_module_may_be_given_other_weights_from_call_to_call(self, begin) -> None:
        """As if they were set between; what is not given stays as it is by then."""
        student, eye = begin().student("check"), torch.eye(3)
        shapes = {"W_query.weight": (2, 3), "W_key.weight": (2, 3), "W_value.weight": (2, 3)}
        ones = {path: torch.ones(shape) for path, shape in shapes.items()}
        other = {"W_value.weight": torch.arange(6.0).reshape(2, 3)}
        together = student.SelfAttention_v2(3, 2).eval().set(ones)
        settings = (None, other, None, ones)
        calls = [together.asked(eye, holding=each) for each in settings]
        found = [reply.value for reply in together.ask_each(calls)]
        apart = student.SelfAttention_v2(3, 2).eval().set(ones)
        expected = [(apart.set(each) if each else apart)(eye) for each in settings]
        assert all(map(torch.equal, found, expected))
        assert torch.equal(found[0], found[3])
        assert not torch.equal(found[0], found[1])

    def test_weights_that_do_not_fit_are_told_before_anything_is_called(self, begin) -> None:
        module = begin().student("check").SelfAttention_v2(3, 2).eval()
        calls = [module.asked(torch.eye(3), holding={"W_key.weight": torch.ones(3, 2)})]
        with pytest.raises(StudentFault, match="W_key.weight has the shape"):
            next(module.ask_each(calls))

    def test_submodules_are_told_in_one_frame_and_are_called_with_their_owner(self, begin) -> None:
        module = begin().student("check").SelfAttention_v2(3, 2).eval()
        query, key = module.children(["W_query", "W_key"])
        assert (query.parameters["weight"].shape, key.training) == ((2, 3), False)
        calls = [query.asked(torch.eye(3)), module.asked(torch.eye(3))]
        first, second = module.ask_each(calls)
        assert torch.equal(first.value, query.tensors()["weight"].T)
        assert torch.equal(second.value, module(torch.eye(3)))

    def test_a_submodule_that_is_not_there_is_told(self, begin) -> None:
        module = begin().student("check").SelfAttention_v2(3, 2)
        with pytest.raises(StudentRaised, match="W_output"):
            module.children(["W_query", "W_output"])

    def test_numbers_of_several_modules_are_fetched_together(self, begin) -> None:
        student = begin().student("check")
        one, other = student.SelfAttention_v2(3, 2), student.SelfAttention_v2(4, 2)
        student.fetch([one, other])
        assert one.tensors()["W_key.weight"].shape == (2, 3)
        assert other.tensors()["W_key.weight"].shape == (2, 4)

    def test_hanging_in_one_of_them_is_one_timeout(self, begin) -> None:
        source = ATTENTION.replace(
            "queries, keys =", "while len(inputs) == 2: pass\n        queries, keys ="
        )
        module = begin(source).student("check").SelfAttention_v2(3, 2)
        replies = module.ask_each([module.asked(torch.eye(3)[:size]) for size in (1, 2, 3)])
        with pytest.raises(StudentTimeout):
            next(replies)


class TestUnfilled:
    SOURCE = """
import torch
from torch import nn

class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out)

def copy_weights(source, target):
    return SelfAttention_v2(5, 3)
"""

    def test_a_module_has_its_sizes(self, begin) -> None:
        found = begin(self.SOURCE).student("check").call("copy_weights", 0, 0, unfilled=True).value
        assert found.parameters["W_query.weight"].shape == (3, 5)

    def test_the_call_after_it_draws_as_always(self, begin) -> None:
        student = begin(self.SOURCE).student("check")
        student.call("copy_weights", 0, 0, unfilled=True)
        weight = student.call("copy_weights", 0, 0).value.tensors()["W_query.weight"]
        assert 0 < weight.abs().max() <= 5**-0.5
        assert len(weight.unique()) == 15


class TestFaults:
    def test_a_module_that_a_crash_took_along_tells_of_the_crash(self, begin) -> None:
        session = begin(ATTENTION + "\nimport os\ndef context_vector(q, x): os._exit(3)\n")
        student = session.student("check")
        module = student.SelfAttention_v2(d_in=3, d_out=2)
        with pytest.raises(StudentKilled, match="code 3"):
            student.context_vector(1, 2)
        with pytest.raises(StudentKilled, match="code 3"):
            module(torch.ones(4, 3))

    def test_sabotage_of_a_substitute_is_the_students_loss(self, begin) -> None:
        session = begin(
            "import sys\ndef softmax(scores):\n    return scores\nsys.modules['math'] = None\n"
        )
        session.substitute("import math\ndef softmax(scores):\n    return scores\n")
        with pytest.raises(StudentRaised):
            call(session)
        session.restart()
        assert torch.equal(call(session), torch.ones(2))

    def test_a_substitute_that_is_no_python_is_the_kits_own_fault(self, begin) -> None:
        with pytest.raises(SyntaxError):
            begin().substitute("def softmax(")

    def test_an_exception_is_told_with_its_line(self, begin) -> None:
        session = begin("def inner(x):\n    return x @ x\n\ndef softmax(s):\n    return inner(s)\n")
        with pytest.raises(StudentRaised) as caught:
            call(session, "softmax", torch.ones(2, 3))
        assert caught.value.kind == "RuntimeError"
        assert caught.value.where == "attention.py line 2"
        assert caught.value.line == "return x @ x"
        assert [frame.function for frame in caught.value.frames] == ["softmax", "inner"]

    def test_not_implemented_is_told_apart(self, begin) -> None:
        session = begin("def softmax(s):\n    if s.sum() > 0:\n        raise NotImplementedError\n")
        with pytest.raises(NotImplementedYet):
            call(session)

    @pytest.mark.parametrize(
        "statement", ["raise SystemExit(3)", "exit()", "raise KeyboardInterrupt"]
    )
    def test_leaving_is_an_exception_like_any_other(self, begin, statement: str) -> None:
        with pytest.raises((StudentRaised, StudentKilled)):
            call(begin(f"def softmax(s):\n    {statement}\n"))

    def test_an_exception_with_a_hostile_text_is_told_without_it(self, begin) -> None:
        session = begin(
            "class Bad(Exception):\n"
            "    def __str__(self):\n        raise RuntimeError\n"
            "def softmax(s):\n    raise Bad\n"
        )
        with pytest.raises(StudentRaised) as caught:
            call(session)
        assert (caught.value.kind, caught.value.text) == ("Bad", "")

    def test_an_exception_that_hides_its_traceback_is_told_with_it(self, begin) -> None:
        session = begin(
            "class Bad(Exception):\n"
            "    __traceback__ = property(lambda self: 1 / 0)\n"
            "def softmax(s):\n    raise Bad('text')\n"
        )
        with pytest.raises(StudentRaised) as caught:
            call(session)
        assert caught.value.where == "attention.py line 4"

    @pytest.mark.parametrize("loop", ["while True: pass", "sum(iter(int, 1))"])
    def test_an_endless_loop_is_a_timeout(self, begin, loop: str) -> None:
        with pytest.raises(StudentTimeout):
            call(begin(f"def softmax(s):\n    {loop}\n"))

    @pytest.mark.parametrize(
        "wait", ["time.sleep(10**6)", "threading.Event().wait()", "os.read(os.pipe()[0], 1)"]
    )
    def test_waiting_for_nothing_is_a_timeout_of_the_same_length(self, begin, wait: str) -> None:
        session = begin(f"import os, threading, time\ndef softmax(s):\n    {wait}\n")
        with pytest.raises(StudentTimeout, match="waited for more than 0.3 s"):
            call(session)

    def test_a_name_that_hung_twice_is_not_run_again(self, begin) -> None:
        session = begin("def softmax(s):\n    while True: pass\ndef copy_weights(a, b): return a\n")
        for _ in range(2):
            with pytest.raises(StudentTimeout, match="ran for more than"):
                call(session)
        with pytest.raises(StudentTimeout, match="not run again"):
            call(session)
        assert call(session, "copy_weights", 1, 2) == 1

    @pytest.mark.parametrize(
        ("statement", "reason"),
        [
            ("import os; os._exit(5)", "code 5"),
            ("import ctypes; ctypes.string_at(8)", "SIGSEGV"),
            ("import os; os.abort()", "SIGABRT"),
        ],
    )
    def test_a_guest_that_ends_is_told_why(self, begin, statement: str, reason: str) -> None:
        session = begin(f"def softmax(s):\n    {statement}\ndef copy_weights(a, b): return a\n")
        with pytest.raises(StudentKilled, match=reason):
            call(session)
        assert call(session, "copy_weights", 1, 2) == 1

    def test_memory_without_end_is_an_exception(self, begin) -> None:
        session = begin("import torch\ndef softmax(s):\n    return torch.ones(10**9)\n")
        with pytest.raises(StudentRaised, match="memory"):
            call(session)

    def test_fresh_guests_are_counted(self, begin) -> None:
        session = begin("import os\ndef softmax(s):\n    os._exit(0)\n")
        for _ in range(LIMITS.fresh_guests + 2):
            with pytest.raises(StudentKilled):
                call(session)
        assert session.guest_number == LIMITS.fresh_guests + 1

    def test_a_statement_that_hangs_is_left_out(self, begin) -> None:
        session = begin("while True: pass\ndef softmax(s):\n    return s\n")
        assert torch.equal(call(session), torch.ones(2))
        assert any("1" in note for note in session.report.notes)

    def test_a_statement_that_ends_the_process_is_left_out(self, begin) -> None:
        session = begin("import os\nos._exit(0)\ndef softmax(s):\n    return s\n")
        assert torch.equal(call(session), torch.ones(2))

    @pytest.mark.parametrize(
        "data",
        [
            "b'x' * 30",
            "b''",
            "(3).to_bytes(4, 'little') + bytes(8) + b'abc'",
            "b'\\xff' * 12",
            "(1).to_bytes(4, 'little') + bytes(8) + b'\\xc0' + b'more'",
        ],
    )
    def test_a_frame_out_of_turn_breaks_the_line_and_nothing_else(self, begin, data: str) -> None:
        session = begin(
            "import os\ndef softmax(s):\n"
            "    for descriptor in range(3, 20):\n"
            "        try: os.write(descriptor, " + data + ")\n"
            "        except OSError: pass\n"
            "    return s\ndef copy_weights(a, b): return a\n"
        )
        if data == "b''":
            assert torch.equal(call(session), torch.ones(2))
        else:
            with pytest.raises(WireBroken):
                call(session)
        assert call(session, "copy_weights", 1, 2) == 1

    def test_a_guest_that_hangs_up_is_gone(self, begin) -> None:
        session = begin("import os\ndef softmax(s):\n    os.closerange(3, 20)\n    return s\n")
        with pytest.raises(StudentKilled):
            call(session)
