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

#: What is said of the sources of a proof, beside them.
SETTINGS = "calibration.toml"


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the sources of a proof are meant.

    Attributes:
        base: The right variant whose modules the wrong ones replace; None for the solutions.
        stages: The stages that a right variant has; later ones are taken from the solutions, so
            that a new stage touches no variant. None for all.
        extent: By part, how many cases there must be at least.
    """

    base: str | None = None
    stages: tuple[str, ...] | None = None
    extent: dict[str, int] = {}


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
    """Where the sources of the proof lie: `variants` beside the assignment, or a checkout's own.

    Raises:
        MissingRequirement: There are none, as in an installed package.
    """
    for folder in (
        assignment.folder / "variants",
        assignment.folder.parent.parent / "tests" / "variants",
    ):
        if folder.is_dir():
            return folder
    raise _without_sources(str(folder))


def settings_of(assignment: Assignment) -> Settings:
    """What is said of the sources; nothing where there are none.

    Raises:
        UsageError: It cannot be read.
    """
    try:
        file = variants_folder(assignment) / SETTINGS
    except MissingRequirement:
        return Settings()
    if not file.is_file():
        return Settings()
    try:
        return msgspec.convert(tomllib.loads(file.read_text("utf-8")), Settings)
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{file}: {error}") from error


def right_variant(assignment: Assignment, path: Path) -> Submission:
    """A right variant, with the solutions of the stages that it was not written for."""
    submission = read_submission(path, assignment.limits)
    covered = settings_of(assignment).stages
    if covered is None:
        return submission
    package = assignment.solutions.name
    added = tuple(
        SourceFile(
            f"{package}/{stage.module}.py",
            "module",
            (assignment.solutions / f"{stage.module}.py").read_bytes(),
        )
        for stage in assignment.stages
        if stage.id not in covered
    )
    return Submission(submission.name, (*submission.files, *added), submission.digest)


def base_variant(assignment: Assignment) -> Submission:
    """The right submission whose modules wrong ones replace."""
    base = settings_of(assignment).base
    if base is None:
        return read_submission(assignment.solutions, assignment.limits)
    return right_variant(assignment, variants_folder(assignment) / "right" / base)


def _without_sources(what: str) -> MissingRequirement:
    return MissingRequirement(
        f"no {what}: stubs, null programs, right variants, misconceptions and pairs are sources "
        "that lie in `variants` beside an assignment, or in a checkout of the repository; without "
        "them, use `--only solutions --only mutants --only margins`"
    )


def wrong_variants(folder: Path) -> tuple[Variant, ...]:
    """The rows of `wrong/manifest.toml`.

    Raises:
        UsageError: It cannot be read.
    """
    file = folder / "wrong" / "manifest.toml"
    if not file.is_file():
        return ()
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
        raise _without_sources("template with the stubs")
    yield Case("stubs", read_submission(assignment.template, assignment.limits), nothing)


def right_cases(assignment: Assignment, folder: Path) -> Iterator[Case]:
    """Programs written in different ways that are all correct."""
    for path in sorted((folder / "right").glob("*")):
        if path.name.startswith((".", "_")) or path.suffix in {".md", ".toml"}:
            continue
        yield Case(path.name, right_variant(assignment, path), everything)


def null_cases(assignment: Assignment, folder: Path) -> Iterator[Case]:
    """Programs that do nothing of what the assignment asks."""
    for path in sorted((folder / "null").glob("*.py")):
        yield Case(path.stem, read_submission(path, assignment.limits), nothing)


def wrong_cases(assignment: Assignment, folder: Path) -> Iterator[Case]:
    """A correct package in which one stage's module is replaced by one with a mistake."""
    base = base_variant(assignment)
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
