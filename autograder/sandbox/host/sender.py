"""Sends what one check asks, in order: seeds, budget, deferred operations, tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

import torch

from autograder.errors import InternalError

from ..protocol import messages
from ..protocol.frames import Broken
from .line import Line
from .packing import Parcel
from .questions import Ask, Budget, Question
from .seeds import seeds_of

if TYPE_CHECKING:
    from .student import ModuleProxy

_Outcome = TypeVar("_Outcome")
_BATCH = 32  # deferred operations that are sent at the latest


class Sender:
    """The questions of one check.

    ask: how a question is sent; alone, or together with those of other checks.
    """

    def __init__(self, check: str, line: Line, ask: Ask, seconds: float) -> None:
        line.begin()
        self.check = check
        self._line = line
        self._ask = ask
        self._budget = Budget(seconds)
        self._requests = 0
        self._pending: list[messages.Operation] = []
        self._parcel = Parcel()
        self._pending_in = line.number  # the guest that what is pending is meant for
        self._ended = False

    def end(self) -> None:
        """Its proxies are void from here."""
        self._ended = True
        self._drop_pending()

    @property
    def guest_number(self) -> int:
        """The guest that answers now."""
        return self._line.number

    def must_go_on(self) -> None:
        """Raise `InternalError` where the check is over."""
        if self._ended:
            raise InternalError("a proxy of another check was used")

    def _must_be_here(self, proxy: ModuleProxy) -> None:
        dialogue, guest = proxy.at
        if dialogue is self and guest == self._line.number and self._line.up and not self._ended:
            return
        if dialogue is self and not self._ended and self._line.loss is not None:
            raise self._line.loss  # whoever hung or crashed took this module along
        raise InternalError(f"{proxy!r} is of another check, or of a guest that is gone")

    def _ready(self) -> None:
        """There is a guest; what was meant for one that is gone is not sent."""
        if not self._line.up or self._pending_in != self._line.number:
            self._drop_pending()
        self._line.ready()
        self._pending_in = self._line.number

    def _drop_pending(self) -> None:
        self._pending, self._parcel = [], Parcel()

    # --- questions ----------------------------------------------------------------------------

    def _send(
        self,
        name: str,
        asked: tuple[messages.Operation, ...],
        kind: type[_Outcome] | tuple[type[_Outcome], ...],
    ) -> tuple[list[_Outcome | messages.Raised], list[torch.Tensor]]:
        """Send what is pending and several operations: their outcomes up to one that raised.

        kind: of every answer, or several that are possible. What is pending and raises stands for
        the first of them. All together have the budget of one request.
        """
        self.must_go_on()
        operations = (*self._pending, *asked)
        seeds = seeds_of(self.check, self._requests + 1, len(operations))
        is_call = messages.Call in map(type, asked)
        question = Question(name, is_call, operations, seeds, self._parcel, self._budget)
        self._requests += len(operations)
        self._drop_pending()
        outcomes, tensors = self._ask(question)
        raised = isinstance(outcomes[-1], messages.Raised)
        before = min(len(operations) - len(asked), len(outcomes) - raised)
        told: list[_Outcome | messages.Raised] = []
        for outcome in outcomes[before:]:
            if not isinstance(outcome, (kind, messages.Raised)):
                raise self._line.broken(Broken("an answer of another kind"))
            told.append(outcome)
        return told, tensors

    def _send_one(
        self, name: str, operation: messages.Operation, kind: type[_Outcome]
    ) -> tuple[_Outcome, list[torch.Tensor]]:
        (outcome,), tensors = self._send(name, (operation,), kind)
        if isinstance(outcome, messages.Raised):
            raise self._line.fault(name, outcome)
        return outcome, tensors

    def _unless_raised(
        self, name: str, outcomes: Iterable[_Outcome | messages.Raised]
    ) -> Iterator[_Outcome]:
        """Outcomes in order; what one raised is raised in its place."""
        for outcome in outcomes:
            if isinstance(outcome, messages.Raised):
                raise self._line.fault(name, outcome)
            yield outcome

    def defer(self, proxy: ModuleProxy, operation: messages.Operation) -> None:
        """An operation without an answer; it goes along with the next request."""
        self._must_be_here(proxy)
        self._pending_in = self._line.number
        self._pending.append(operation)
        if len(self._pending) >= _BATCH:
            self._send_one(proxy.name, self._pending.pop(), messages.Done)
