"""What is remembered between two calls: how many hints were shown, and what comes next.

One small file, `.selfcheck/state.json`. Where it is missing or damaged, nothing is remembered.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from .course import ROOT

FOLDER = ROOT / ".selfcheck"  # dot folders are no part of what is handed in
FILE = FOLDER / "state.json"


@dataclass(slots=True)
class Remembered:
    """`hints`: by name, how many were shown. `next`: by stage, the name to work on."""

    hints: dict[str, int] = field(default_factory=dict)
    next: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls) -> Remembered:
        """What the file says, as far as it can be understood."""
        try:
            told = json.loads(FILE.read_text(encoding="utf-8"))
            hints = {str(name): int(count) for name, count in told["hints"].items()}
            names = {str(stage): str(name) for stage, name in told["next"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls()
        return cls(hints, names)

    def write(self) -> None:
        """Keep it; a folder that cannot be written to costs nothing but the memory."""
        try:
            FOLDER.mkdir(exist_ok=True)
            FILE.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        except OSError:
            pass
