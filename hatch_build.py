"""Puts the assignment, its solutions and the template into the wheel, beside the code that grades.

A hook and not a table of folders, because an editable install must not get copies (there the
checkout itself is used), and because a course's secret must never get into a wheel.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# `assignment.toml` names ../../solutions/... and the like: the same paths hold in both places.
FOLDERS = {
    "assignments": "autograder/_assignments",
    "solutions": "autograder/solutions",
    "student_template": "autograder/student_template",
}
LEFT_OUT = ("secret", "__pycache__")
HANDED_OUT = ".github"  # hidden, and part of the template all the same


class AssignmentHook(BuildHookInterface[Any]):
    """Adds files of the checkout to a standard wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called once before the wheel is built; `version` is "standard" or "editable"."""
        if version != "standard":
            return
        root = Path(self.root)
        for folder, target in FOLDERS.items():
            for file in sorted((root / folder).rglob("*")):
                inner = file.relative_to(root / folder)
                hidden = any(
                    part in LEFT_OUT or (part.startswith(".") and part != HANDED_OUT)
                    for part in inner.parts
                )
                if file.is_file() and not hidden:
                    build_data["force_include"][str(file)] = f"{target}/{inner.as_posix()}"
