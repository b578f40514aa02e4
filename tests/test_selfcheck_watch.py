"""`selfcheck.watch` without a process behind it: what is looked at first, what is shown when."""

import io
import re
from collections.abc import Iterator, Sequence

import pytest
from rich.console import Console

from selfcheck import watch
from selfcheck.course import course
from selfcheck.saves import Snapshot
from selfcheck.screen import Screen
from selfcheck.standing import Outcome, Standing, Status
from selfcheck.watch import Watching

STAGES = [stage.id for stage in course().stages]
OTHERS = "the other stages are being checked"


def told(standing: Standing, stage_id: str, wrong: Sequence[str] = ()) -> None:
    """All names of a stage have been checked; these are wrong."""
    stage = standing.stages[stage_id]
    for name in stage.names.values():
        status: Status = "failed" if name.name in wrong else "passed"
        name.outcomes.append(Outcome("it works", stage_id, name.name, status, "not so"))
    stage.finished = True


class Session:
    """A watch over files, processes and keys that are played."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files: Snapshot = {stage.file: (1, 1) for stage in course().stages}
        self.files |= {stage.tests: (1, 1) for stage in course().stages}
        self.wrong: Sequence[str] = ()
        self.looked_at: list[list[str]] = []
        self.spares: list[Spare] = []
        self.used: list[object] = []
        self.written = io.StringIO()
        monkeypatch.setattr(watch, "snapshot", lambda: dict(self.files))
        monkeypatch.setattr(watch, "settled", lambda before: dict(self.files))
        monkeypatch.setattr(watch, "remember", lambda standing: None)
        monkeypatch.setattr(watch, "Worker", self._spare)
        monkeypatch.setattr(watch, "Run", self._run)

    def _spare(self, spare: bool) -> "Spare":
        assert spare
        self.spares.append(Spare())
        return self.spares[-1]

    def _run(self, stages: list[str], spare: object) -> "Run":
        self.looked_at.append(stages)
        self.used.append(spare)
        return Run(stages, self.wrong)

    def screens(self, *turns: str) -> list[str]:
        """What each screen showed, while between two looks these things happened.

        A turn is a key, or the path of a file that is saved, or "" for nothing.
        """

        def poll() -> Iterator[str]:
            for turn in turns:
                if turn in self.files:
                    self.files[turn] = (self.files[turn][0] + 1, 1)
                yield turn if len(turn) == 1 else ""
            yield "q"

        keys = poll()
        console = Console(file=self.written, force_terminal=True, width=80, color_system=None)
        Watching(Screen(console)).until_quit(lambda: next(keys))
        return self.written.getvalue().split("\x1b[2J")[1:]


class Spare:
    ready = alive = True
    killed = False

    def kill(self) -> None:
        self.killed = True

    def wait(self) -> None:
        assert self.killed


class Run:
    """Finishes one stage at each step."""

    def __init__(self, stages: list[str], wrong: Sequence[str]) -> None:
        self.standing = Standing.of(tuple(stages))
        self._left = [*stages]
        self._wrong = wrong

    @property
    def over(self) -> bool:
        return not self._left

    def step(self, seconds: float) -> None:
        told(self.standing, self._left.pop(0), self._wrong)

    def stop(self) -> None:
        pass


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    return Session(monkeypatch)


FIRST = [""] * len(STAGES)  # as many looks as the first run takes
CAUSAL = course().stage("causal")


def test_what_was_saved_is_looked_at_first_and_told_before_the_rest(session: Session) -> None:
    session.wrong = ["masked_weights"]
    screens = session.screens(*FIRST, CAUSAL.file, "", "", "")
    assert session.looked_at == [STAGES, ["causal", "simplified", "trainable", "multi_head"]]
    everything, first, rest = screens
    assert OTHERS not in everything
    assert OTHERS in first
    assert "Next: masked_weights" in first
    assert OTHERS not in rest


def test_the_other_stages_stand_meanwhile_as_they_stood_before(session: Session) -> None:
    session.wrong = ["softmax"]
    _, first, _ = session.screens(*FIRST, CAUSAL.file, "", "", "")
    assert len(re.findall(r"\d of \d done", first)) == len(STAGES) - 1


def test_praise_waits_until_everything_has_been_checked(session: Session) -> None:
    everything, first, rest = session.screens(*FIRST, CAUSAL.file, "", "", "")
    assert [("Well done" in screen) for screen in (everything, first, rest)] == [True, False, True]


def test_what_comes_next_is_in_what_was_saved_even_if_more_is_left_before_it(
    session: Session,
) -> None:
    session.wrong = ["softmax", "masked_weights"]
    everything, first, rest = session.screens(*FIRST, CAUSAL.file, "", "", "")
    assert "Next: softmax" in everything
    assert "Next: masked_weights" in first
    assert "Next: masked_weights" in rest
    assert "renormalized_weights" in rest.partition("Next:")[0]  # its stage is the one opened


def test_the_key_n_goes_on_to_what_is_left_elsewhere(session: Session) -> None:
    session.wrong = ["softmax", "masked_weights"]
    *_, last = session.screens(*FIRST, CAUSAL.file, "", "", "", "n")
    assert "Next: softmax" in last


def test_a_key_that_is_pressed_meanwhile_hides_nothing_of_what_goes_on(session: Session) -> None:
    *_, listed, _, _ = session.screens(*FIRST, CAUSAL.file, "l", "", "", "")
    assert "(the other stages are being checked)" in listed


def test_a_helper_of_the_students_has_all_stages_checked_and_shown_once(session: Session) -> None:
    session.files["attention/own.py"] = (1, 1)
    screens = session.screens(*FIRST, "attention/own.py", "", "", "")
    assert session.looked_at == [STAGES, STAGES]
    assert len(screens) == 2


def test_the_waiting_process_does_the_work_unless_the_checks_were_changed(
    session: Session,
) -> None:
    session.screens(*FIRST, CAUSAL.file, *FIRST, CAUSAL.tests, *FIRST)
    nobody, first, none = session.used
    assert nobody is None
    assert first is session.spares[0]
    assert none is None
    assert session.spares[1].killed  # it had read them as they were before


def test_a_waiting_process_that_has_ended_is_not_waited_for(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Spare, "alive", False)
    session.screens(*FIRST, CAUSAL.file, *FIRST)
    assert session.used == [None, None]
    assert "torch is imported first" in session.written.getvalue()


def test_each_screen_comes_in_one_piece(session: Session) -> None:
    pieces: list[str] = []
    write = session.written.write

    def noting(text: str) -> int:
        pieces.append(text)
        return write(text)

    session.written.write = noting  # type: ignore[method-assign]
    session.screens(*FIRST)
    assert [piece for piece in pieces if "\x1b[2J" in piece and "q quit" in piece]
