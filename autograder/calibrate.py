"""The proof that solutions, stubs, checks, variants and misconceptions agree.

Every variant is a source file written as a student writes it, importing nothing of the kit. Right
ones must get every point. A wrong one holds one mistake: it must cost its own criterion, be named
first, and cost nothing anywhere else. Null programs and stubs earn nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from autograder.assignment import Assignment
from autograder.errors import KitFault, WrongUse
from autograder.exchange import Graded
from autograder.executor import Executor, LocalExecutor, cores
from autograder.result import CriterionResult, Result
from autograder.submission import SourceFile, Submission, read_submission
from autograder.worker import Worker


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of `wrong/manifest.toml`: one file with one mistake.

    names: the names that show the mistake; also: ids that no test can tell from this one.
    """

    file: str
    stage: str
    id: str
    names: tuple[str, ...]
    criterion: str
    what: str
    also: tuple[str, ...] = ()
    note: str = ""


class _Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    variant: tuple[Variant, ...]


@dataclass(frozen=True)
class Case:
    """One submission of the proof and what it must come to."""

    label: str
    submission: Submission
    judge: Callable[[Result], str | None]


@dataclass
class Group:
    """All cases of one kind, and those that fell short."""

    title: str
    count: int = 0
    short: list[tuple[str, str]] = field(default_factory=list)

    @property
    def good(self) -> int:
        """How many came to what they must."""
        return self.count - len(self.short)


def variants_folder(assignment: Assignment) -> Path:
    """`tests/variants` of the checkout that the assignment belongs to."""
    folder = assignment.folder.parent.parent / "tests" / "variants"
    if not folder.is_dir():
        raise WrongUse(f"{folder} is not there; calibration needs a checkout with its variants")
    return folder


def wrong_variants(folder: Path) -> tuple[Variant, ...]:
    """The rows of `wrong/manifest.toml`."""
    file = folder / "wrong" / "manifest.toml"
    try:
        return msgspec.convert(tomllib.loads(file.read_text("utf-8")), _Manifest).variant
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise WrongUse(f"{file}: {error}") from error


# What each kind must come to ----------------------------------------------------------------


def everything(result: Result) -> str | None:
    """All points."""
    if result.score == result.max_score:
        return None
    return "; ".join(f"{stage}.{entry.id} {entry.status}" for stage, entry in lost(result))


def nothing(result: Result) -> str | None:
    """No point at all."""
    if result.score == 0:
        return None
    kept = [
        f"{stage.id}.{criterion.id} ({share.name}) {share.score:g}"
        for stage in result.stages
        for criterion in stage.criteria
        for share in criterion.shares
        if share.score
    ]
    return f"{result.score} points: {'; '.join(kept)}"


def one_mistake(variant: Variant) -> Callable[[Result], str | None]:
    """The mistake's criterion lost, its name told first, nothing else lost."""
    accepted = {variant.id, *variant.also}

    def judge(result: Result) -> str | None:
        gone = lost(result)
        if not gone:
            return "not caught"
        elsewhere = [f"{stage}.{entry.id}" for stage, entry in gone if stage != variant.stage]
        if elsewhere:
            return f"costs points in another stage: {', '.join(elsewhere)}"
        named = [mistake for _, entry in gone for mistake in entry.misconceptions]
        others = [
            entry.id
            for _, entry in gone
            if entry.id != variant.criterion
            and not accepted & set(entry.misconceptions)
            and any(share.status not in ("passed", "blocked") for share in entry.shares)
        ]
        if others:
            return f"costs {', '.join(others)} as well (named: {', '.join(named) or 'nothing'})"
        own = [mistake for mistake in named if mistake in accepted]
        if not own or named[0] != own[0]:
            return f"named {', '.join(named) or 'nothing'}"
        return None

    return judge


def lost(result: Result) -> list[tuple[str, CriterionResult]]:
    """The criteria that lost something, with their stages."""
    return [
        (stage.id, criterion)
        for stage in result.stages
        for criterion in stage.criteria
        if criterion.score < criterion.max_score
    ]


# The cases ----------------------------------------------------------------------------------


def right_cases(assignment: Assignment, folder: Path) -> Iterator[Case]:
    """Programs written differently that are all right."""
    for path in sorted((folder / "right").iterdir()):
        if path.name.startswith((".", "_")) or path.suffix in {".md", ".toml"}:
            continue
        yield Case(path.name, read_submission(path, assignment.limits), everything)


def null_cases(assignment: Assignment, folder: Path) -> Iterator[Case]:
    """Programs that do nothing of what is asked."""
    for path in sorted((folder / "null").glob("*.py")):
        yield Case(path.stem, read_submission(path, assignment.limits), nothing)


def wrong_cases(assignment: Assignment, folder: Path) -> Iterator[Case]:
    """A right package in which one stage's module is replaced by one with a mistake."""
    base = read_submission(folder / "right" / "book_style", assignment.limits)
    for variant in wrong_variants(folder):
        source = (folder / "wrong" / variant.file).read_bytes()
        module = assignment.stage(variant.stage).module
        yield Case(
            variant.file.removesuffix(".py"),
            overlaid(base, f"{module}.py", source, variant.file),
            one_mistake(variant),
        )


def overlaid(base: Submission, module: str, source: bytes, name: str) -> Submission:
    """`base` with the file called `module`, in whatever folder, replaced."""
    files = tuple(
        SourceFile(file.path, file.kind, source, file.cells)
        if file.path.rpartition("/")[2] == module
        else file
        for file in base.files
    )
    return Submission(name=name, files=files, digest=base.digest, notes=())


def own_cases(assignment: Assignment) -> Iterator[Case]:
    """The solutions and the stubs."""
    limits = assignment.limits
    yield Case("solutions", read_submission(assignment.solutions, limits), everything)
    if assignment.template is not None:
        yield Case("stubs", read_submission(assignment.template, limits), nothing)


# The proof ----------------------------------------------------------------------------------


def prove(
    executor: Executor, groups: Sequence[tuple[str, Sequence[Case]]], done: Callable[[], None]
) -> list[Group]:
    """Grade all cases and judge them; `done` is called after each."""
    found = []
    pending: list[tuple[Group, Case, Future[Graded]]] = []
    for title, cases in groups:
        group = Group(title, len(cases))
        found.append(group)
        pending += [(group, case, executor.submit(case.submission, None)) for case in cases]
    for group, case, future in pending:
        try:
            short = case.judge(future.result().result)
        except KitFault as fault:
            short = f"the kit failed: {fault}"
        if short is not None:
            group.short.append((case.label, short))
        done()
    return found


def all_groups(assignment: Assignment) -> list[tuple[str, list[Case]]]:
    """Every case of the proof, by kind."""
    folder = variants_folder(assignment)
    return [
        ("solutions and stubs", list(own_cases(assignment))),
        ("right variants", list(right_cases(assignment, folder))),
        ("null programs", list(null_cases(assignment, folder))),
        ("wrong variants", list(wrong_cases(assignment, folder))),
    ]


def calibrate(assignment: Assignment) -> bool:
    """Prove everything and print the table; whether nothing falls short."""
    from rich.console import Console
    from rich.progress import Progress

    groups = all_groups(assignment)
    console = Console()
    executor = LocalExecutor(lambda: Worker(assignment.folder, None), cores())
    try:
        with Progress(console=console, disable=not console.is_terminal) as progress:
            bar = progress.add_task("calibrating", total=sum(len(cases) for _, cases in groups))
            found = prove(executor, groups, lambda: progress.advance(bar))
    finally:
        executor.close()
    for line in report(found):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return all(not group.short for group in found)


def report(groups: Sequence[Group]) -> Iterator[str]:
    """The table as plain lines: what falls short, then a line a kind, then the summary."""
    for group in groups:
        for label, short in group.short:
            yield f"short  {group.title}: {label}: {short}"
    for group in groups:
        yield f"{group.title:<22}{group.good:>5} of {group.count}"
    good, count = sum(group.good for group in groups), sum(group.count for group in groups)
    yield f"calibrated: {good} of {count}"
