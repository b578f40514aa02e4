"""Runs checks side by side: what they all wait for goes to the guest in one frame.

A check is plain code: it asks, gets an answer, judges. It runs in a greenlet, so that it can stop
wherever it asks and go on when the answer is there. A submission's checks then take as many frames
as the longest of them has questions one after the other, and each frame makes judge and guest take
turns on a core once.

No check notices: seeds, budget and modules of each are its own. Where a guest does not survive a
frame, nothing of it counts, and whoever called asks check by check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from greenlet import getcurrent, greenlet

from autograder.sandbox.host.questions import Answer, Ask, Question
from autograder.sandbox.host.session import Session
from autograder.sandbox.host.student import StudentFault

#: A check, run with its way of asking; what it returns is its end.
Run = Callable[[Ask], BaseException | None]

#: Bytes of tensors in one frame, after which another is begun.
MOST_BYTES = 1 << 24
#: Questions in one frame.
MOST_QUESTIONS = 512


def together(session: Session, runs: Sequence[Run]) -> list[BaseException | None] | None:
    """Run checks side by side.

    Args:
        session: The submission that they ask.
        runs: The checks, in the order in which their questions stand in a frame.

    Returns:
        How each ended; None where the guest hung, ended or made no sense meanwhile: then all is
        to be asked again, check by check.
    """
    if not session.is_steady:
        return None
    guest = session.guest_number
    hub = getcurrent()
    tasks = [_Task(run, hub) for run in runs]
    waiting = [task for task in tasks if task.go_on()]
    try:
        while waiting:
            for frame in _frames(waiting):
                try:
                    answers = session.ask_together([task.question for task in frame])
                except StudentFault as fault:  # there is no guest, for nobody
                    for task in frame:
                        task.fail(fault)
                    continue
                if answers is None:
                    return None
                for task, answer in zip(frame, answers, strict=True):
                    task.go_on(answer)
            if session.guest_number != guest:
                return None
            waiting = [task for task in waiting if not task.is_over]
    finally:
        for task in tasks:
            task.stop()
    return [task.end for task in tasks]


class _Task:
    """One check on its way."""

    def __init__(self, run: Run, hub: greenlet) -> None:
        self._greenlet = greenlet(run, parent=hub)
        self._started = False
        self.question: Question
        self.end: BaseException | None = None

    @property
    def is_over(self) -> bool:
        return self._started and self._greenlet.dead

    def go_on(self, answer: Answer | None = None) -> bool:
        """Run to the next question; whether there is one."""
        first = not self._started
        self._started = True
        return self._take(self._greenlet.switch(_ask if first else answer))

    def fail(self, fault: StudentFault) -> None:
        """Go on with a fault in the place of an answer."""
        self._take(self._greenlet.throw(fault))

    def _take(self, told: object) -> bool:
        if self._greenlet.dead:
            assert told is None or isinstance(told, BaseException)
            self.end = told
            return False
        assert isinstance(told, Question)
        self.question = told
        return True

    def stop(self) -> None:
        """Leave the check where it stands."""
        if self._started and not self._greenlet.dead:
            self._greenlet.throw()


def _ask(question: Question) -> Answer:
    """Stop here until the answer is there."""
    parent = getcurrent().parent
    assert parent is not None
    answer: Answer = parent.switch(question)
    return answer


def _frames(waiting: Sequence[_Task]) -> Iterator[list[_Task]]:
    """The same apart, so that no frame is too large."""
    frame: list[_Task] = []
    size = 0
    for task in waiting:
        own = sum(map(len, task.question.parcel.payload))
        if frame and (size + own > MOST_BYTES or len(frame) >= MOST_QUESTIONS):
            yield frame
            frame, size = [], 0
        frame.append(task)
        size += own
    if frame:
        yield frame
