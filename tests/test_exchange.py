"""What is asked of a worker arrives as it was sent, whole or not at all."""

import socket
import threading
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.grading.exchange import (
    Answer,
    Fault,
    Graded,
    Ready,
    Request,
    receive_answer,
    receive_request,
    send,
)
from autograder.results.result import SCHEMA, Result
from autograder.submissions.submission import SourceFile, Submission

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
files = st.builds(
    SourceFile,
    path=texts,
    kind=st.sampled_from(["module", "notebook", "data"]),
    data=st.binary(max_size=200),
    cells=st.lists(texts, max_size=3).map(tuple),
)
submissions = st.builds(
    Submission,
    name=texts,
    files=st.lists(files, max_size=3).map(tuple),
    digest=texts,
    notes=st.lists(texts, max_size=2).map(tuple),
)

Ends = tuple[socket.socket, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def graded() -> Graded:
    result = Result(SCHEMA, "ada", "d1", "attention", 12.5, 100.0, (), ("é",))
    return Graded(result, 1.5, 2.5, "landlock", b'{"standings": {}}')


@given(submission=submissions, stages=st.none() | st.lists(texts, max_size=3).map(tuple))
def test_a_submission_arrives_as_it_was_sent(
    submission: Submission, stages: tuple[str, ...] | None
) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send(ours, Request(submission, stages))
        assert receive_request(theirs) == Request(submission, stages)


@pytest.mark.parametrize(
    "answer", [Ready("bubblewrap"), graded(), Fault(3, "no space left")], ids=["r", "g", "f"]
)
def test_every_kind_of_answer_arrives_as_that_kind(answer: Answer, ends: Ends) -> None:
    send(ends[0], answer)
    assert receive_answer(ends[1]) == answer


def test_messages_arrive_one_by_one_in_their_order(ends: Ends) -> None:
    for level in ("process", "landlock", "bubblewrap"):
        send(ends[0], Ready(level))
    found = [receive_answer(ends[1]) for _ in range(3)]
    assert found == [Ready("process"), Ready("landlock"), Ready("bubblewrap")]


def test_a_message_larger_than_any_buffer_arrives_whole(ends: Ends) -> None:
    large = Submission("ada", (SourceFile("a.csv", "data", bytes(range(256)) * 40_000),), "d1")
    sender = threading.Thread(target=send, args=(ends[0], Request(large)))
    sender.start()
    found = receive_request(ends[1])
    sender.join()
    assert found == Request(large)


def test_an_end_that_is_gone_gives_nothing(ends: Ends) -> None:
    ends[0].close()
    assert receive_request(ends[1]) is None


@pytest.mark.parametrize("kept", [1, 7, 8, 9, 20])
def test_an_end_that_goes_in_the_middle_of_a_message_gives_nothing(kept: int, ends: Ends) -> None:
    send(ends[0], Fault(1, "a text that is long enough"))
    whole = ends[1].recv(1 << 16)
    ours, theirs = socket.socketpair()
    with theirs:
        ours.sendall(whole[:kept])
        ours.close()
        assert receive_answer(theirs) is None


def test_a_request_is_no_answer(ends: Ends) -> None:
    send(ends[0], Request(Submission("ada", (), "d1")))
    with pytest.raises(msgspec.ValidationError):
        receive_answer(ends[1])


def test_sending_to_an_end_that_is_gone_is_noticed(ends: Ends) -> None:
    ends[1].close()
    with pytest.raises(OSError, match="Broken pipe"):
        send(ends[0], Ready("process"))
