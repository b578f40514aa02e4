"""The contract's names as one submission has them, shared by all its dialogues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autograder.errors import InternalError

from ..protocol.wire import NameSpec

_MOST_MATCHED = 40  # notes on arguments; a class may have another constructor at every call


class SubmissionNames:
    """Specifications by name, handles, and what was noted about arguments."""

    def __init__(self, names: Iterable[NameSpec]) -> None:
        self.specs: Mapping[str, NameSpec] = {spec.name: spec for spec in names}
        self._last_handle = 0
        self._matched: dict[str, None] = {}

    def new_handle(self) -> int:
        """A handle that no module of this submission has had."""
        self._last_handle += 1
        return self._last_handle

    def keywords(self, name: str, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments of a class by the contract's keywords.

        Raises:
            InternalError: There are more arguments than the class has parameters.
        """
        parameters = self.specs[name].parameters
        if len(args) > len(parameters):
            raise InternalError(f"{name} takes {len(parameters)} arguments")
        return dict(zip(parameters, args, strict=False)) | dict(named)

    def note_matches(self, name: str, notes: Iterable[str]) -> None:
        """Keep how arguments of a constructor found their parameters, each note once."""
        for note in notes:
            if len(self._matched) < _MOST_MATCHED:
                self._matched[f"{name}: {note}"] = None

    @property
    def matched(self) -> tuple[str, ...]:
        """How arguments found their places where names were not the contract's, each once."""
        return tuple(self._matched)
