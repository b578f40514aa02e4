"""A guest that its student's code has taken over: replies that decode and answer nothing asked."""

from collections.abc import Iterator

import pytest
import torch

from autograder.assignment.assignment import Limits
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.sandbox.host.student import ModuleProxy, StudentFault, StudentKilled, WireBroken

NAMES = (
    NameSpec("softmax", "simplified", "function", ("scores",)),
    NameSpec("SelfAttention_v1", "trainable", "class", ("d_in", "d_out")),
)
LIMITS = Limits(load_seconds=2.0, call_seconds=1.0, check_seconds=4.0, memory_mb=256)

TAKEN_OVER = """
import sys
import msgspec
import torch

frame = sys._getframe()
while type(frame.f_locals.get("self")).__name__ != "Guest":
    frame = frame.f_back
guest = frame.f_locals["self"]
room = sys.modules[type(guest).__module__]
messages, wire = room.messages, room.wire
original = dict(guest._carry_out)

def softmax(scores):
    return scores * 1.0

class SelfAttention_v1(torch.nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = torch.nn.Parameter(torch.rand(d_in, d_out))
        self.rate = 0.5

    def forward(self, tokens):
        return tokens @ self.W_query

def answer_with(kind, **lies):
    guest._carry_out[kind] = lambda ask: msgspec.structs.replace(original[kind](ask), **lies)

"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(LIMITS, NAMES, "process") as made:
        yield made


@pytest.fixture
def begin(sandbox: Sandbox):
    sessions = []

    def begun(lie: str):
        from autograder.submissions.submission import SourceFile

        source = (TAKEN_OVER + lie + "\n").encode()
        sessions.append(sandbox.open([SourceFile("work.py", "module", source, ())]))
        return sessions[-1].student("check")

    yield begun
    for session in sessions:
        session.close()


def module(student) -> ModuleProxy:
    made = student.SelfAttention_v1(d_in=3, d_out=2)
    assert isinstance(made, ModuleProxy)
    return made


class TestKinds:
    @pytest.mark.parametrize(
        "lie",
        [
            "guest._carry_out[messages.Call] = lambda ask: messages.Done()",
            "guest._carry_out[messages.Assign] = lambda ask: messages.Answer(None)",
        ],
    )
    def test_an_answer_of_another_kind_breaks_the_line(self, begin, lie: str) -> None:
        made = module(begin(lie))
        calls = [made.asked(torch.ones(1, 3), holding={"W_query": torch.ones(3, 2)})] * 2
        with pytest.raises(WireBroken):
            next(made.ask_each(calls))


class TestArguments:
    @pytest.mark.parametrize(
        "lie",
        [
            "None",
            "[]",
            "[wire.Described('Tensor', '')] * 2",
            "[1.5]",
            "[wire.Text('x')]",
            "[wire.Many([])]",
            "[wire.ModuleValue(1, 'X')]",
        ],
    )
    def test_other_ones_than_were_handed_over_break_the_line(self, begin, lie: str) -> None:
        student = begin(f"answer_with(messages.Call, arguments={lie})")
        with pytest.raises(WireBroken):
            student.softmax.ask(torch.ones(2), arguments=True)

    def test_unasked_for_ones_break_the_line(self, begin) -> None:
        student = begin("answer_with(messages.Call, arguments=[wire.Described('Tensor', '')])")
        with pytest.raises(WireBroken):
            student.softmax(torch.ones(2))

    def test_honest_ones_come_as_before(self, begin) -> None:
        reply = begin("").softmax.ask(torch.ones(2), arguments=True)
        assert torch.equal(reply.arguments[0], torch.ones(2))


class TestAmounts:
    def test_answers_without_end_are_cut_off_for_good(self, begin) -> None:
        student = begin("full = [torch.zeros(1 << 23)]\ndef softmax(scores): return full")
        for _ in range(4):
            student.softmax(torch.ones(2))
        with pytest.raises(StudentKilled, match="MB in all"):
            student.softmax(torch.ones(2))
        with pytest.raises(StudentKilled, match="MB in all"):
            _ = student.softmax

    def test_the_weights_of_a_large_model_are_no_matter(self, begin) -> None:
        student = begin("full = [torch.zeros(768, 768).double()] * 4\ndef softmax(s): return full")
        assert len(student.softmax(torch.ones(2))) == 4


class TestModules:
    @pytest.mark.parametrize("lie", ["wire.Text('x')", "1.5", "None", "wire.Many([])"])
    def test_a_parameter_that_is_no_tensor_breaks_the_line(self, begin, lie: str) -> None:
        made = module(begin(f"answer_with(messages.Fetch, values={{'W_query': {lie}}})"))
        with pytest.raises(WireBroken):
            made.tensors()

    @pytest.mark.parametrize(
        "lie", ["wire.Many([])", "wire.TensorValue(0)", "wire.ModuleValue(1, 'X')"]
    )
    def test_a_scalar_that_is_none_breaks_the_line(self, begin, lie: str) -> None:
        made = module(begin(f"answer_with(messages.Attributes, scalars={{'rate': {lie}}})"))
        with pytest.raises(WireBroken):
            _ = made.attributes

    def test_honest_ones_come_as_before(self, begin) -> None:
        made = module(begin(""))
        assert made.tensors()["W_query"].shape == (3, 2)
        assert made.attributes["rate"] == 0.5

    def test_a_gradient_of_whole_numbers_breaks_the_line(self, begin) -> None:
        lie = (
            "slopes = room.Guest._slopes\n"
            "room.Guest._slopes = lambda self, found: slopes(\n"
            "    self, {path: torch.ones(3, 2).bool() for path in found})"
        )
        made = module(begin(lie))
        with pytest.raises(WireBroken):
            made.ask(torch.ones(1, 3), cotangent=torch.ones(1, 2))

    def test_a_line_that_was_broken_is_the_students_fault(self) -> None:
        assert issubclass(WireBroken, StudentFault)
