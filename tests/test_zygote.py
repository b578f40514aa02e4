"""The zygote and its guests: beginning, measuring, ending, and being replaced."""

import os
import select
import signal
import socket
from collections.abc import Iterator

import pytest
import torch

from autograder.assignment.assignment import Limits
from autograder.errors import InternalError
from autograder.sandbox.host import guest_files, launch, wall
from autograder.sandbox.host.guest_process import Gone, GuestProcess, Overrun, mapped_bytes, told
from autograder.sandbox.host.launch import Zygote, ZygoteGone
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.sandbox.protocol import frames, messages, orders, wire
from autograder.submissions.submission import SourceFile

LIMITS = Limits(load_seconds=1.0, call_seconds=0.5)
NAMES = (
    wire.NameSpec("softmax", "simplified", "function", ("scores",)),
    wire.NameSpec("causal_mask", "causal", "function", ("num_tokens",)),
)
SOURCE = b"""
import os, time, torch
def softmax(scores):
    return torch.softmax(scores, dim=-1)
def causal_mask(num_tokens):
    end = time.process_time() + num_tokens / 1000
    while time.process_time() < end: pass
    return os.getpid()
"""
LOAD = messages.Load((wire.SourceFile("a.py", "module", SOURCE),), NAMES)


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    made = launch.Zygote(launch.LEVELS[-1])
    made.wait_ready()
    yield made
    made.close()


@pytest.fixture
def guest(zygote: Zygote) -> Iterator[GuestProcess]:
    made = GuestProcess(zygote, wall.fork_order(zygote, LIMITS))
    yield made
    made.kill()


def ask(guest: GuestProcess, *operations: messages.Operation, budget: float = 1.0) -> list[object]:
    seeds = tuple(range(len(operations)))
    return list(guest.ask(operations, seeds, (), [], budget, 10)[0])


class TestGuests:
    def test_several_operations_go_in_one_frame(self, guest: GuestProcess) -> None:
        loaded, answer = ask(guest, LOAD, messages.Call("causal_mask", (0,)))
        assert isinstance(loaded, messages.Loaded)
        assert isinstance(answer, messages.Answer)

    def test_operations_after_one_that_raised_are_not_carried_out(
        self, guest: GuestProcess
    ) -> None:
        wrong = messages.Call("causal_mask", (wire.Text("x"),))
        outcomes = ask(guest, LOAD, wrong, messages.Call("causal_mask", (0,)))
        assert [type(outcome) for outcome in outcomes] == [messages.Loaded, messages.Raised]

    def test_cpu_time_is_the_guests_own_and_begins_at_nothing(self, guest: GuestProcess) -> None:
        ask(guest, LOAD)
        before = guest.cpu_seconds()
        ask(guest, messages.Call("causal_mask", (200,)))
        assert guest.cpu_seconds() - before > 0.19
        assert before < 1.0

    def test_a_budget_that_is_used_up_ends_the_guest(self, guest: GuestProcess) -> None:
        ask(guest, LOAD)
        with pytest.raises(Overrun):
            ask(guest, messages.Call("causal_mask", (60_000,)), budget=0.1)
        assert not guest.alive

    def test_a_guest_that_was_killed_from_outside_is_gone(self, guest: GuestProcess) -> None:
        ask(guest, LOAD)
        os.kill(guest.pid, signal.SIGKILL)
        with pytest.raises(Gone, match="SIGKILL"):
            ask(guest, messages.Call("causal_mask", (0,)))

    def test_guests_share_nothing(self, zygote: Zygote) -> None:
        order = wall.fork_order(zygote, LIMITS)
        first, second = GuestProcess(zygote, order), GuestProcess(zygote, order)
        try:
            ask(first, LOAD)
            outcome = ask(second, messages.Call("causal_mask", (0,)))[0]
            assert isinstance(outcome, messages.Raised)
            assert first.pid != second.pid
        finally:
            first.kill()
            second.kill()

    def test_the_statement_that_was_being_run_is_known_afterwards(
        self, guest: GuestProcess
    ) -> None:
        endless = wire.SourceFile("a.py", "module", b"x = 1\nwhile True: pass\n")
        with pytest.raises(Overrun):
            ask(guest, messages.Load((endless,), NAMES), budget=0.2)
        assert guest.statement() > 0

    def test_a_request_larger_than_a_pipe_arrives_whole(self, guest: GuestProcess) -> None:
        ask(guest, LOAD)
        head = wire.TensorHead("float32", (1000, 1000))
        call = messages.Call("softmax", (wire.TensorValue(0),))
        outcomes, tensors = guest.ask((call,), (1,), (head,), [bytes(4_000_000)], 1.0, 10)
        assert isinstance(outcomes[0], messages.Answer)
        assert torch.allclose(tensors[0], torch.full((1000, 1000), 0.001))


class TestOrders:
    def test_a_forgotten_guest_does_not_stay_a_zombie(self, zygote: Zygote) -> None:
        order = wall.fork_order(zygote, LIMITS)
        first = GuestProcess(zygote, order)
        watched = os.pidfd_open(first.pid)
        first.dismiss()
        poller = select.poll()
        poller.register(watched, select.POLLIN)
        assert poller.poll(20_000)
        GuestProcess(zygote, order).kill()
        with pytest.raises(ProcessLookupError):
            os.kill(first.pid, 0)
        os.close(watched)

    def test_an_order_that_cannot_be_carried_out_is_refused(self, zygote: Zygote) -> None:
        with pytest.raises(ZygoteGone, match="No child"):
            zygote.ended(2**22 - 1)
        assert zygote.alive()

    def test_the_address_space_of_the_zygote_is_known(self, zygote: Zygote) -> None:
        assert zygote.itself is not None
        mapped = mapped_bytes(zygote.itself)
        assert mapped is not None
        assert 100 << 20 < mapped < 8 << 30

    def test_orders_and_descriptors_arrive_together(self) -> None:
        here, there = socket.socketpair()
        reading, writing = os.pipe()
        orders.tell(here, orders.Forked(7), [writing])
        heard = orders.hear(there)
        assert heard is not None
        order, descriptors = heard
        assert order == orders.Forked(7)
        os.write(descriptors[0], b"x")
        assert os.read(reading, 1) == b"x"
        here.close()
        assert orders.hear(there) is None
        for descriptor in (reading, writing, *descriptors):
            os.close(descriptor)
        there.close()

    @pytest.mark.parametrize(
        ("code", "words"),
        [(0, "code 0"), (3, "code 3"), (-9, "out of memory"), (-11, "SIGSEGV"), (-64, "SIGRTMAX")],
    )
    def test_how_a_guest_ended_is_told_in_words(self, code: int, words: str) -> None:
        assert words in told(code)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    names = (NameSpec("softmax", "simplified", "function", ("scores",)),)
    with Sandbox(LIMITS, names, "process") as made:
        yield made


class TestReplacing:
    def files(self, source: bytes = SOURCE) -> list[SourceFile]:
        return [SourceFile("a.py", "module", source, ())]

    def kill(self, sandbox: Sandbox) -> None:
        sandbox._zygote._process.kill()
        sandbox._zygote._process.wait()

    def test_a_zygote_that_is_gone_is_replaced_between_checks(self, sandbox: Sandbox) -> None:
        session = sandbox.open(self.files())
        first = session.student("one").softmax(torch.ones(2))
        self.kill(sandbox)
        assert torch.equal(session.student("two").softmax(torch.ones(2)), first)
        session.close()

    def test_a_zygote_that_is_gone_costs_the_next_submission_nothing(
        self, sandbox: Sandbox
    ) -> None:
        sandbox.wait_ready()
        self.kill(sandbox)
        session = sandbox.open(self.files())
        assert session.student("one").softmax(torch.ones(2)).tolist() == [0.5, 0.5]
        session.close()

    def test_a_zygote_that_never_starts_again_is_the_kits_fault(
        self, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sandbox.wait_ready()

        def refuse(*args: object) -> None:
            raise ZygoteGone("no more")

        monkeypatch.setattr(Zygote, "fork", refuse)
        monkeypatch.setattr(wall, "choose", lambda zygote, *args: zygote)
        with pytest.raises(InternalError, match="no guest can be started"):
            sandbox.open(self.files())


def test_a_channel_without_a_wait_blocks_by_itself() -> None:
    here, there = socket.socketpair()
    frames.Channel(here, 10, 10).send(b"m")
    assert bytes(frames.Channel(there, 10, 10).receive()[0]) == b"m"
    here.close()
    there.close()


class TestTheRoomAsAFolder:
    def test_a_folder_in_use_is_left_alone(self) -> None:
        first = guest_files.Folder()
        second = guest_files.Folder()
        assert first.path.is_dir()
        first.close()
        second.close()
        assert not first.path.exists()

    def test_what_a_killed_judge_left_behind_is_swept_up(self) -> None:
        left = guest_files.Folder()
        os.close(left._lock)  # as the system does for whoever is killed
        guest_files.Folder().close()
        assert not left.path.exists()
