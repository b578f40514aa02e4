"""The modules that know what an assignment teaches: found beside it, or installed.

`assignment.toml` names them: each stage its checks and its misconceptions, and the whole a package
as its `subject`, which may define what the kit asks for (`HOOKS`). A module that lies in the
assignment's folder comes before one of the same name that is installed.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from autograder.assignment.assignment import FILE_NAME, PACKAGE, Assignment
from autograder.errors import UsageError

#: What a subject may define, each a function; what it leaves out, the kit does without.
HOOKS = {
    "sample_of": "from the course's secret, the numbers that checks ask for (checks.sample.Sample)",
    "figure_files": "the pictures that handouts may show: texts of SVG files by name",
    "example": "the worked example: labels, inputs, and weights by class and role",
    "exchanged": "attributes, and which of them one is mistaken for: mutants of the solutions",
}


def hook(assignment: Assignment, name: str) -> Callable[..., Any] | None:
    """A function that the assignment's subject defines; None where it does without."""
    assert name in HOOKS
    if assignment.subject is None:
        return None
    module = module_of(assignment, assignment.subject, "subject")
    found: Callable[..., Any] | None = getattr(module, name, None)
    return found


def module_of(assignment: Assignment, name: str, key: str) -> ModuleType:
    """Import a module that the assignment names.

    Args:
        assignment: The assignment.
        name: The module's name.
        key: The key of `assignment.toml` that names it, for messages.

    Raises:
        UsageError: There is none, or running it raises.
    """
    make_importable(assignment, name)
    known = sys.modules.get(name)
    if known is not None:
        return known
    try:
        return importlib.import_module(name)
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        where = _last_place(error, assignment.folder)
        raise UsageError(
            f"{assignment.folder / FILE_NAME}: {key}: {name} cannot be imported{where}: {told}"
        ) from error


def make_importable(assignment: Assignment, name: str) -> None:
    """Let a module that lies in the assignment's folder be imported by its name.

    Of the same name from another folder nothing stays: two courses may call theirs alike.
    """
    top = name.partition(".")[0]
    folder = assignment.folder
    if not ((folder / top).is_dir() or (folder / f"{top}.py").is_file()):
        return
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
    known = sys.modules.get(top)
    if known is not None and not _lies_in(known, folder):
        sys.path.remove(str(folder))
        sys.path.insert(0, str(folder))
        for each in [each for each in sys.modules if each == top or each.startswith(f"{top}.")]:
            del sys.modules[each]


def _lies_in(module: ModuleType, folder: Path) -> bool:
    places = [*getattr(module, "__path__", ()), getattr(module, "__file__", None) or ""]
    return any(Path(place).is_relative_to(folder) for place in places if place)


def _last_place(error: BaseException, folder: Path) -> str:
    """The line of the assignment's own code in which an import ended."""
    traceback, place = error.__traceback__, ""
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if Path(file).is_relative_to(folder):
            place = f" ({file}, line {traceback.tb_lineno})"
        traceback = traceback.tb_next
    return place


def named_modules(assignment: Assignment) -> Iterator[tuple[str, str]]:
    """The modules that the assignment names, with the keys that name them."""
    if assignment.subject is not None:
        yield "subject", assignment.subject
    for stage in assignment.stages:
        yield f"stages.{stage.id}.checks", stage.checks
        yield f"stages.{stage.id}.misconceptions", stage.misconceptions


def folders_of(assignment: Assignment) -> dict[Path, str]:
    """Where the assignment's own modules lie: the top folders or files, with their import names.

    Within the kit it is the package below it that counts (`autograder.attention`).

    Raises:
        UsageError: One is nowhere to be found.
    """
    found: dict[Path, str] = {}
    for key, name in named_modules(assignment):
        parts = name.split(".")
        top = ".".join(parts[:2]) if parts[0] == PACKAGE.name else parts[0]
        make_importable(assignment, name)
        spec = find_spec(top)
        places = [*(spec.submodule_search_locations or ())] if spec is not None else []
        if spec is not None and not places and spec.origin:
            places = [spec.origin]
        if not places:
            raise UsageError(f"{assignment.folder / FILE_NAME}: {key}: there is no module {name}")
        found[Path(places[0]).resolve()] = top
    return found


def subject_files(assignment: Assignment) -> dict[str, Path]:
    """The files that the assignment's modules consist of, by path from where they are imported.

    Such as `autograder/attention/checks/causal.py`. Raises as `folders_of` does.
    """
    found: dict[str, Path] = {}
    for place, name in folders_of(assignment).items():
        start = name.replace(".", "/")
        if place.is_file():
            found[f"{start}.py"] = place
            continue
        for file in sorted(place.rglob("*")):
            inner = file.relative_to(place)
            hidden = any(part.startswith(".") or part == "__pycache__" for part in inner.parts)
            if file.is_file() and not hidden:
                found[f"{start}/{inner.as_posix()}"] = file
    return found
