"""What students read about misconceptions: a file of texts that a teacher can edit."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from autograder.errors import InternalError, UsageError

FILE_NAME = "texts.toml"


class Text(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said about one misconception.

    title: its name in a few words. found, expected, look: what the code seems to do, what a right
    one does, what to look at next. outside: what is handed out instead, with the self-check, where
    the text has a line of a solution in it.
    """

    title: str
    found: str
    expected: str
    look: str
    outside: Text | None = None

    @property
    def message(self) -> str:
        """The whole of it without the title."""
        return " ".join(filter(None, (self.found, self.expected, self.look)))


class Texts:
    """The texts of a folder of misconceptions, by id; a stage may have its own for one."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._shared: dict[str, Text] = {}
        self._own: dict[str, dict[str, Text]] = {}
        for name, table in _tables(file).items():
            if all(isinstance(value, Mapping) for value in table.values()):  # of one stage
                self._own[name] = {each: self._text(each, table[each]) for each in table}
            else:
                self._shared[name] = self._text(name, table)

    def _text(self, identifier: str, table: object) -> Text:
        try:
            return msgspec.convert(table, Text)
        except msgspec.ValidationError as error:
            raise UsageError(f"{self.file}: [{identifier}]: {error}") from None

    def of(self, stage: str, identifier: str) -> Text:
        """The text of a misconception of a stage.

        Raises:
            InternalError: There is none.
        """
        text = self._own.get(stage, {}).get(identifier) or self._shared.get(identifier)
        if text is None:
            raise InternalError(f"{self.file}: no text for the misconception {identifier!r}")
        return text

    @property
    def identifiers(self) -> frozenset[tuple[str, str]]:
        """All that there is: stage and id, the stage empty where it is for all."""
        shared = (("", identifier) for identifier in self._shared)
        own = ((stage, identifier) for stage, each in self._own.items() for identifier in each)
        return frozenset((*shared, *own))


@cache
def load_texts(folder: Path) -> Texts:
    """The texts beside the misconceptions in a folder.

    Raises:
        UsageError: The file cannot be read, or says something that no text has.
    """
    return Texts(folder / FILE_NAME)


def _tables(file: Path) -> dict[str, dict[str, object]]:
    try:
        told = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file}: the texts of misconceptions cannot be read: {error}") from error
    for name, table in told.items():
        if not isinstance(table, dict) or not table:
            raise UsageError(f"{file}: {name} is no table; a text is written under [{name}]")
    return told
