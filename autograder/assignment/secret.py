"""The course's secret, from which the hidden inputs are drawn.

It is in the file that `AUTOGRADER_SECRET_FILE` names, or in `secret` beside `assignment.toml`.
Without one the practice inputs are used, which everyone with this repository can compute.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from autograder.assignment.assignment import Assignment
from autograder.errors import UsageError

VARIABLE = "AUTOGRADER_SECRET_FILE"
PRACTICE = b"practice"


def secret_file(assignment: Assignment) -> Path | None:
    """Where the secret lies; None for practice."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    beside = assignment.folder / "secret"
    return beside if beside.exists() else None


def load_secret(assignment: Assignment) -> bytes:
    """The secret's bytes, stripped of white space; `PRACTICE` without a secret.

    Raises:
        UsageError: The file cannot be read, is readable by others, or holds fewer than 16 bytes.
    """
    path = secret_file(assignment)
    if path is None:
        return PRACTICE
    try:
        mode = path.stat().st_mode
        secret = path.read_bytes().strip()
    except OSError as error:
        raise UsageError(f"the course's secret {path} cannot be read: {error.strerror}") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(f"the course's secret {path} can be read by others; run chmod 600 {path}")
    if len(secret) < 16:
        raise UsageError(f"the course's secret {path} has fewer than 16 bytes; make it longer")
    return secret
