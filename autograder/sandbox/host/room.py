"""The sandbox: one zygote at the best level that holds, and sessions in its guests."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from autograder.errors import InternalError

from ..protocol import wire
from ..protocol.wire import NameSpec, OtherNames
from . import core, ladder, wall
from .guest_process import GuestProcess, outer_pid
from .launch import Zygote, ZygoteGone
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["NameSpec", "OtherNames", "Sandbox"]

_MOST_REVIVALS = 3  # in a row


class File(Protocol):
    """One file of a submission."""

    @property
    def path(self) -> str:
        """Its path within the submission."""

    @property
    def kind(self) -> str:
        """`module`, `notebook` or `data`."""

    @property
    def data(self) -> bytes:
        """Its bytes."""

    @property
    def cells(self) -> tuple[str, ...]:
        """A notebook's cells."""


class SandboxLimits(wall.GuestLimits, Protocol):
    """All limits that a submission meets here."""

    @property
    def call_seconds(self) -> float:
        """CPU seconds of one call."""

    @property
    def check_seconds(self) -> float:
        """CPU seconds of one check."""

    @property
    def wall_factor(self) -> int:
        """Wall time allowed, in multiples of CPU time."""

    @property
    def fresh_guests(self) -> int:
        """How often a submission is begun anew after a crash."""


class Sandbox:
    """Owns the zygote. To be made in the thread that uses it, which must outlive it.

    `zygote`: one that was started before, by `ladder.start` with the same `isolation`.
    `parameters`: what students call the contract's parameters elsewhere.
    """

    def __init__(
        self,
        limits: SandboxLimits,
        names: tuple[NameSpec, ...],
        isolation: str | None = None,
        zygote: Zygote | None = None,
        parameters: Mapping[str, OtherNames] | None = None,
    ) -> None:
        self.limits = limits
        self.names = names
        self.parameters = dict(parameters or {})
        self._isolation = isolation
        self._tried = False
        self._revivals = 0
        self._zygote = ladder.start(isolation) if zygote is None else zygote

    def wait_ready(self) -> None:
        """Until torch is imported inside and the wall has been tried; goes down the ladder."""
        if not self._tried:
            self._zygote = wall.choose(self._zygote, self._isolation, self.limits)
            self._order = wall.fork_order(self._zygote, self.limits)
            self._tried = True

    @property
    def level(self) -> str:
        """The level in force."""
        self.wait_ready()
        return self._zygote.level.name

    @property
    def walled(self) -> bool:
        """Whether a guest has no way to reach the zygote."""
        return self._zygote.level.inner

    def open(self, files: Iterable[File]) -> Session:
        """Load a submission into a guest."""
        self.wait_ready()
        taken = tuple(  # data files stay outside; nothing in there could open them
            wire.SourceFile(file.path, file.kind, file.data, tuple(file.cells))  # type: ignore[arg-type]
            for file in files
            if file.kind != "data"
        )
        return Session(self, taken)

    def on_one_core(self) -> AbstractContextManager[int | None]:
        """Keep the calling thread and all guests begun meanwhile to one core; see `core`."""
        self.wait_ready()
        zygote = self._zygote.itself
        process = None if zygote is None else outer_pid(zygote)
        return core.shared_with(*([] if process is None else [process]))

    def alive(self) -> bool:
        """Whether the zygote is still there."""
        return self._zygote.alive()

    def guest(self) -> GuestProcess:
        """A fresh guest; a zygote that is gone is replaced, a few times in a row."""
        self.wait_ready()
        while True:
            try:
                order = wall.renewed(self._order)
                guest = GuestProcess(self._zygote, order)
            except (ZygoteGone, OSError) as error:
                self._revivals += 1
                if self._revivals > _MOST_REVIVALS:
                    raise InternalError(f"no guest can be started: {error}") from None
                self._revive()
            else:
                self._revivals = 0
                return guest

    def _revive(self) -> None:
        level = self._zygote.level.name
        self._zygote.close()
        self._zygote = wall.choose(ladder.start(level), level, self.limits)
        self._order = wall.fork_order(self._zygote, self.limits)

    def close(self) -> None:
        """End the zygote and every guest."""
        self._zygote.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
