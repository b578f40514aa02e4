"""What loading a submission showed, as the judge reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..protocol import wire
from .text import clean_line


@dataclass(frozen=True)
class Found:
    """Where a name was found."""

    path: str
    line: int | None
    cell: int | None
    spelled: str
    stub: bool


@dataclass(frozen=True)
class LoadReport:
    """What loading showed: the names that are there, those that are not, and what to tell."""

    found: Mapping[str, Found] = field(default_factory=dict)
    missing: Mapping[str, str | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def report_of(report: wire.Report) -> LoadReport:
    """What a guest says of loading, with control codes taken out."""
    found = {
        clean_line(at.name): Found(
            clean_line(at.path), at.line, at.cell, clean_line(at.spelled), at.stub
        )
        for at in report.found
    }
    missing = {
        clean_line(name.name): None if name.suggestion is None else clean_line(name.suggestion)
        for name in report.missing
    }
    return LoadReport(found, missing, tuple(clean_line(note) for note in report.notes))
