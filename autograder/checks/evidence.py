"""What the checks of one submission saw: outcomes by check, observations by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec
import torch
from torch import Tensor

from autograder.checks.failures import CheckFailed, Excuse, NotSeen, rows, told_shape
from autograder.checks.kept import Kept
from autograder.checks.marks import Check
from autograder.diagnosis.catalogue import Catalogue
from autograder.diagnosis.chain import Chain, Given, run
from autograder.diagnosis.compare import difference, same, scale_of, tolerance
from autograder.diagnosis.explain import Observation
from autograder.errors import InternalError
from autograder.results.result import Status
from autograder.sandbox.host.asking import Counted
from autograder.sandbox.host.student import Opaque, Reply, StudentFault, StudentRaised


class Outcome(msgspec.Struct, frozen=True):
    """How one check of one submission ended."""

    check_id: str
    check: Check
    status: Status
    text: str = ""
    found: str = ""
    expected: str = ""
    misconception: str | None = None
    numbers: str = ""
    exception: str = ""
    excuse: Excuse | None = None
    unsteady: bool = False
    shape: tuple[int, ...] | None = None


class Recorded(msgspec.Struct, frozen=True):
    """One comparison with the reference: in which check, and what was observed."""

    check_id: str
    check: Check
    observation: Observation
    right: bool
    shape: tuple[int, ...] | None
    expected_shape: tuple[int, ...]
    operators: Mapping[str, int]


@dataclass
class Evidence:
    """Everything that one submission's checks saw.

    borrowed: names that are right once the other functions they call are a library's.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    recorded: list[Recorded] = field(default_factory=list)
    borrowed: set[str] = field(default_factory=set)

    def of(self, name: str) -> list[Recorded]:
        """The comparisons of one name, in the order in which they were made."""
        return [entry for entry in self.recorded if entry.check.name == name]


Entry = TypeVar("Entry", Outcome, Recorded)


def by_name(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """The same apart by the name that their check calls, in the order in which they came."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.check.name, []).append(entry)
    return found


def tensor_among(value: Any, shape: Sequence[int]) -> Tensor | None:
    """The tensor in what came back: itself, or of several the first with the expected shape.

    Never the one with the expected numbers: a list of guesses is worth its first.
    """
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Opaque):
        value = list(value.parts.values())
    if isinstance(value, list):
        tensors = [part for part in value if isinstance(part, Tensor)]
        fitting = [part for part in tensors if tuple(part.shape) == tuple(shape)]
        return next(iter(fitting or tensors), None)
    return None


class Reference(NamedTuple):
    """What a right program returns, its shape, and what a difference from it is a share of."""

    output: Tensor
    shape: tuple[int, ...]
    scale: float


class References:
    """What a right program returns, kept for the inputs that come back with every submission."""

    def __init__(self) -> None:
        self._kept: Kept[Reference] = Kept(MOST_KEPT)

    def of(self, name: str, chain: Chain, given: Given) -> Reference:
        """The reference's output for `given`; computed once for the same tensors."""
        if given.comes_once:  # a student's own, other ones every time
            return _right_output(chain, given)
        parts = dict(given.everything())
        tensors = tuple(part for part in parts.values() if isinstance(part, Tensor))
        words = (
            name,
            *((key, None if isinstance(part, Tensor) else part) for key, part in parts.items()),
        )
        return self._kept.of(words, tensors, partial(_right_output, chain, given))


def _right_output(chain: Chain, given: Given) -> Reference:
    with torch.no_grad():
        output = run(chain, given)
        return Reference(output, tuple(output.shape), scale_of(output))


#: References kept; more than one submission's checks ask for.
MOST_KEPT = 400


class Observer:
    """Compares what a name gives with the reference and keeps what was seen.

    counted: what to ask for with a call so that the operators are seen which the assignment
    forbids its name.
    """

    def __init__(
        self,
        evidence: Evidence,
        catalogue: Catalogue,
        check_id: str,
        check: Check,
        references: References,
        counted: Counted,
    ) -> None:
        self.counted = counted
        self._references = references
        self._evidence = evidence
        self._catalogue = catalogue
        self._check_id = check_id
        self._check = check

    @property
    def chain(self) -> Chain:
        """The chain of the check's name."""
        return self._catalogue.chains[self._check.name]

    def __call__(self, given: Given, ask: Callable[[], Reply]) -> Tensor:
        """Ask, compare with the reference, record; fails the check where they differ."""
        reference = self._references.of(self._check.name, self.chain, given)
        expected = reference.output
        try:
            reply = ask()
        except StudentRaised as raised:
            self._record(Observation(given, None, f"{raised.kind}: {raised.text}"), reference, {})
            raise
        value = tensor_among(reply.value, expected.shape)
        if value is None:
            told = type(reply.value).__name__ if reply.value is not None else "None"
            self._record(Observation(given, None, f"Returned: {told}"), reference, reply.operators)
            raise CheckFailed(f"{told} came back", f"a tensor {told_shape(expected.shape)}")
        if value.is_complex():
            self._record(Observation(given, None, "Returned: complex"), reference, reply.operators)
            raise CheckFailed("complex numbers", "real numbers")
        comparable = value if value.is_floating_point() else value.to(torch.float32)
        seen = comparable.to(expected.dtype) if expected.dtype == torch.float64 else comparable
        right = self._record(Observation(given, seen, ""), reference, reply.operators)
        if not right:
            raise self._difference(seen, expected, reference.scale)
        return value

    def each(self, givens: Sequence[Given], replies: Iterator[Reply]) -> None:
        """The same for several calls that were made at once; ends at the first that differs."""
        for given in givens:
            self(given, partial(next, replies))

    def _record(
        self, observation: Observation, reference: Reference, operators: Mapping[str, int]
    ) -> bool:
        value = observation.value
        right = value is not None and same(value, reference.output, reference.scale)
        self._evidence.recorded.append(
            Recorded(
                self._check_id,
                self._check,
                observation,
                right,
                None if value is None else tuple(value.shape),
                reference.shape,
                operators,
            )
        )
        return right

    @staticmethod
    def _difference(value: Tensor, expected: Tensor, scale: float | None = None) -> CheckFailed:
        if value.shape != expected.shape:
            return CheckFailed(
                f"shape {told_shape(value.shape)}", f"shape {told_shape(expected.shape)}"
            )
        share = difference(value, expected, scale)
        if math.isinf(share) and torch.isnan(value).any() and not torch.isnan(expected).any():
            return CheckFailed("nan among the numbers", "finite numbers")
        return CheckFailed(
            f"numbers that differ by {100 * share:.2g}% of their size"
            if share < 10
            else "numbers that differ entirely",
            f"the reference's numbers (to {100 * tolerance(value):.2g}%)",
            numbers=f"found {rows(value)}, expected {rows(expected)}",
        )


def outcome_of(check_id: str, check: Check, error: BaseException | None) -> Outcome:
    """How a check ended, from what it raised; `InternalError` for anything of the kit's own."""
    if error is None:
        return Outcome(check_id, check, "passed")
    if isinstance(error, CheckFailed):
        return Outcome(
            check_id,
            check,
            "blocked" if isinstance(error, NotSeen) else "failed",
            found=error.found,
            expected=error.expected,
            misconception=error.misconception,
            numbers=error.numbers,
            excuse=error.excuse,
            unsteady=error.unsteady,
            shape=error.shape,
        )
    if isinstance(error, StudentFault):
        exception = f"{error.kind}: {error.text}" if isinstance(error, StudentRaised) else ""
        return Outcome(check_id, check, status_of(error), text=error.message, exception=exception)
    if isinstance(error, InternalError):
        raise error
    raise InternalError(f"{check_id} failed by itself: {type(error).__name__}: {error}") from error


def status_of(fault: StudentFault) -> Status:
    """The status that a student's fault gives a check."""
    from autograder.sandbox.host import student

    for kind, status in (
        (student.StudentTimeout, "timeout"),
        (student.NameMissing, "missing"),
        (student.NotImplementedYet, "missing"),
        (student.StudentRaised, "error"),
        (student.StudentKilled, "killed"),
        (student.WireBroken, "killed"),
    ):
        if isinstance(fault, kind):
            return status  # type: ignore[return-value]
    return "error"
