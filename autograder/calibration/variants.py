"""The cases that are whole files: solutions, stubs, null programs, right and wrong variants."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from autograder.assignment.assignment import Assignment
from autograder.calibration.cases import Case, Mistake, everything, nothing, one_mistake
from autograder.errors import MissingRequirement, UsageError
from autograder.submissions.submission import SourceFile, Submission, read_submission

#: The right variant whose modules the wrong ones replace.
BASE = "book_style"


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of `wrong/manifest.toml`: one file with one mistake.

    `names` are the names that show the mistake, `also` ids that no test can tell from this one.
    """

    file: str
    stage: str
    id: str
    names: tuple[str, ...]
    criterion: str
    what: str
    also: tuple[str, ...] = ()
    note: str = ""

    @property
    def mistake(self) -> Mistake:
        """What the file must be charged with."""
        return Mistake(self.id, self.stage, self.criterion, self.also)


class _Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    variant: tuple[Variant, ...]


def variants_folder(assignment: Assignment) -> Path:
    """`tests/variants` of the checkout that the assignment belongs to.

    Raises:
        MissingRequirement: There is none, as in an installed package.
    """
    folder = assignment.folder.parent.parent / "tests" / "variants"
    if not folder.is_dir():
        raise _only_in_a_checkout(str(folder))
    return folder


def _only_in_a_checkout(what: str) -> MissingRequirement:
    return MissingRequirement(
        f"no {what}: stubs, null programs, right variants, misconceptions and pairs are sources "
        "that only a checkout of the repository has; without them, use "
        "`--only solutions --only mutants --only margins`"
    )


def wrong_variants(folder: Path) -> tuple[Variant, ...]:
    """The rows of `wrong/manifest.toml`.

    Raises:
        UsageError: It cannot be read.
    """
    file = folder / "wrong" / "manifest.toml"
    try:
        return msgspec.convert(tomllib.loads(file.read_text("utf-8")), _Manifest).variant
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{file}: {error}") from error


def solution_cases(assignment: Assignment) -> Iterator[Case]:
    """The solutions themselves."""
    submission = read_submission(assignment.solutions, assignment.limits)
    yield Case("solutions", submission, everything)


def stub_cases(assignment: Assignment) -> Iterator[Case]:
    """What students receive, handed in unchanged.

    Raises:
        MissingRequirement: The assignment has no template here.
    """
    if assignment.template is None:
        raise _only_in_a_checkout("template with the stubs")
    yield Case("stubs", read_submission(assignment.template, assignment.limits), nothing)


def right_cases(assignment: Assignment, folder: Path) -> Iterator[Case]:
    """Programs written in different ways that are all correct."""
    for path in sorted((folder / "right").iterdir()):
        if path.name.startswith((".", "_")) or path.suffix in {".md", ".toml"}:
            continue
        yield Case(path.name, read_submission(path, assignment.limits), everything)


def null_cases(assignment: Assignment, folder: Path) -> Iterator[Case]:
    """Programs that do nothing of what the assignment asks."""
    for path in sorted((folder / "null").glob("*.py")):
        yield Case(path.stem, read_submission(path, assignment.limits), nothing)


def wrong_cases(assignment: Assignment, folder: Path) -> Iterator[Case]:
    """A correct package in which one stage's module is replaced by one with a mistake."""
    base = read_submission(folder / "right" / BASE, assignment.limits)
    for variant in wrong_variants(folder):
        source = (folder / "wrong" / variant.file).read_bytes()
        module = assignment.stage(variant.stage).module
        yield Case(
            variant.file.removesuffix(".py"),
            overlaid(base, f"{module}.py", source, variant.file),
            one_mistake(variant.mistake),
        )


def overlaid(base: Submission, module: str, source: bytes, name: str) -> Submission:
    """A submission with one file replaced.

    Args:
        base: The submission.
        module: The name of the file, in any folder.
        source: Its new contents.
        name: What the new submission is called.
    """
    files = tuple(
        SourceFile(file.path, file.kind, source, file.cells)
        if file.path.rpartition("/")[2] == module
        else file
        for file in base.files
    )
    return Submission(name=name, files=files, digest=base.digest, notes=())
