"""What is taught and what it is worth: the contents of an `assignment.toml`.

A file is read strictly. An unknown key, a wrong type, a name that no stage has, or points that do
not add up end the loading with a message that names the file and the key, so that a mistake in
the rubric is met before the first submission is graded and not in a student's feedback.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from autograder.errors import WrongUse
from autograder.toml_lines import line_of
from autograder.whereabouts import FILE_NAME as FILE_NAME
from autograder.whereabouts import PACKAGE as PACKAGE
from autograder.whereabouts import find_assignment as find_assignment

Identifier = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
ModulePath = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")]
Text = Annotated[str, msgspec.Meta(min_length=1)]
Points = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the file: frozen, and strict about its keys."""


class Share(_Table, frozen=True):
    """The part of a criterion's points that one name shows, kept or lost on its own."""

    name: Identifier
    points: Points
    aspect: Text | None = None  # tells two shares of one name in one criterion apart


class Criterion(_Table, frozen=True):
    """A line of the rubric: a step of the chain, `form`, `state` or an exercise."""

    id: Identifier
    title: Text
    section: Text  # the anchor of the handout's section that teaches it
    points: Points
    shares: tuple[Share, ...]


class NameSpec(_Table, frozen=True):
    """A name that a student writes."""

    name: Identifier
    module: Identifier  # the module that the template has it in; it is found anywhere
    kind: Literal["function", "class"]
    parameters: tuple[Identifier, ...]  # of the function, or of the class's constructor


class Stage(_Table, frozen=True):
    """One stage of the assignment: a module to write, and what its parts are worth."""

    id: Identifier
    title: Text
    module: Identifier
    handout: Path
    checks: ModulePath
    misconceptions: ModulePath
    points: Points
    criteria: tuple[Criterion, ...]
    names: tuple[Identifier, ...]

    def criterion(self, criterion_id: str) -> Criterion:
        """The criterion of that id; `WrongUse` where the stage has none."""
        for criterion in self.criteria:
            if criterion.id == criterion_id:
                return criterion
        known = ", ".join(each.id for each in self.criteria)
        raise WrongUse(f"stage {self.id} has no criterion {criterion_id!r}; it has {known}")


class Limits(_Table, frozen=True):
    """What one submission may use. Seconds are CPU seconds: a busy machine takes nothing away."""

    load_seconds: Seconds = 8.0
    call_seconds: Seconds = 2.0
    check_seconds: Seconds = 4.0
    submission_seconds: Seconds = 30.0
    wall_factor: Count = 10  # wall time is the fallback, at this many times the CPU seconds
    memory_mb: Count = 512  # on top of what the zygote maps
    threads: Count = 8  # besides the first
    open_files: Count = 64
    file_mb: Count = 16  # the largest file that a guest may write
    output_chars: Count = 500  # of what it prints, kept for the teacher
    # How often a submission is begun anew because its process ended or talked nonsense. One that
    # hangs costs none of these: each name pays two deadlines at most, and all of them together,
    # with the loading anew, twice submission_seconds.
    fresh_guests: Count = 5
    # Bounds of reading a submission, met before any of it is looked at.
    max_files: Count = 2000
    max_file_mb: Count = 20
    max_total_mb: Count = 100
    max_notebook_mb: Count = 100  # outputs make notebooks large; only code cells are kept


class Forbidden(_Table, frozen=True):
    """Operators that do a step's work in the student's stead.

    Patterns are of the kind `fnmatch` knows and match the operator's bare name, such as
    `_softmax`, without name space and overload. `within` lists the names in whose calls they
    count; empty means all.
    """

    operators: tuple[Text, ...]
    steps: tuple[Identifier, ...]
    within: tuple[Identifier, ...] = ()


class Feedback(_Table, frozen=True):
    """What a student gets to read besides the scores."""

    show_expected_numbers: bool = False
    show_inputs: bool = False
    explanations: Literal["always", "after_due", "never"] = "always"
    # Where students hand in as often as they like, a reason at once would be an oracle.
    explanations_online: Literal["always", "after_due", "never"] = "after_due"


class Late(_Table, frozen=True):
    """What lateness costs, worked out when grades are exported and never stored.

    Percents are of what was earned. A day that has begun counts whole, from the due date on.
    """

    due: Annotated[datetime, msgspec.Meta(tz=True)] | None = None  # with its offset from UTC
    grace_minutes: Annotated[int, msgspec.Meta(ge=0)] = 0
    percent_per_day: Percent = 0.0
    cap_percent: Percent = 100.0
    flat_percent: Percent = 0.0  # where a platform says late and nobody knows how much


class Assignment(_Table, frozen=True):
    """A whole assignment, as loaded; every path in it is absolute."""

    id: Identifier
    title: Text
    folder: Path
    solutions: Path
    template: Path | None  # the folder of what a student receives
    points: Points
    stages: tuple[Stage, ...]
    name_specs: tuple[NameSpec, ...]
    limits: Limits
    forbidden: tuple[Forbidden, ...]
    feedback: Feedback
    late: Late
    blocked_earns: float  # the part, 0 to 1, of its points that a blocked share earns

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that a student writes, stage by stage."""
        return tuple(name for stage in self.stages for name in stage.names)

    def stage(self, stage_id: str) -> Stage:
        """The stage of that id; `WrongUse` where there is none."""
        for stage in self.stages:
            if stage.id == stage_id:
                return stage
        known = ", ".join(stage.id for stage in self.stages)
        raise WrongUse(f"no stage is called {stage_id!r}; the stages are {known}")

    def stage_of(self, name: str) -> Stage:
        """The stage in which a name is written; `WrongUse` where none asks for it."""
        for stage in self.stages:
            if name in stage.names:
                return stage
        raise WrongUse(f"no stage of {self.id} asks for {name!r}")


class _NameTable(_Table, frozen=True):
    kind: Literal["function", "class"]
    parameters: tuple[Identifier, ...]


class _StageTable(_Table, frozen=True):
    id: Identifier
    title: Text
    module: Identifier
    handout: Text
    checks: ModulePath
    misconceptions: ModulePath
    points: Points
    criteria: tuple[Criterion, ...]
    names: dict[Identifier, _NameTable]


class AssignmentFile(_Table, frozen=True):
    schema: Literal[1]
    id: Identifier
    title: Text
    points: Points
    solutions: Text
    stages: tuple[_StageTable, ...]
    template: Text | None = None
    blocked_earns: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    limits: Limits = Limits()
    forbidden: tuple[Forbidden, ...] = ()
    feedback: Feedback = Feedback()
    late: Late = Late()


def load_assignment(path: Path | None = None) -> Assignment:
    """Load an assignment from a folder or file, or search for one.

    Without a path it is searched for upward from the working directory, then in the checkout
    that contains this package, then in the package itself (an installed wheel).
    """
    file = find_assignment(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUse(f"{file}: cannot be read: {error}") from error
    contents = parse(text, file)
    for problem in problems(contents):
        raise WrongUse(f"{file}: {problem}")
    return _assemble(contents, file)


def anchors(handout: str) -> tuple[str, ...]:
    """The anchors of a handout's headings, as GitHub and most Markdown viewers make them."""
    without_code = re.sub(r"^```.*?^```", "", handout, flags=re.MULTILINE | re.DOTALL)
    titles: list[str] = re.findall(r"^#{1,6} +(.+?) *$", without_code, flags=re.MULTILINE)
    return tuple(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles)


def parse(text: str, file: Path) -> AssignmentFile:
    """The tables of a file, each well formed; `WrongUse` tells line or key."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WrongUse(f"{file}: {error}") from error
    try:
        return msgspec.convert(tables, AssignmentFile)
    except msgspec.ValidationError as error:
        told = str(error)
        path, unknown = (
            re.search(each, told) for each in (r"\$[\w.\[\]]*", r"unknown field `(.+?)`")
        )
        key = (path[0] if path else "$") + (f".{unknown[1]}" if unknown else "")
        line = line_of(text, key)
        where = f"line {line}: " if line else ""
        raise WrongUse(f"{file}: {where}{_with_ids(told, tables)}") from error


def _with_ids(message: str, tables: dict[str, object]) -> str:
    """Add ids to the positions of a path such as `$.stages[2].criteria[0]`."""

    def name(match: re.Match[str]) -> str:
        found: object = tables
        for key, position in re.findall(r"\.(\w+)|\[(\d+)\]", match[0]):
            try:
                found = found[key] if key else found[int(position)]  # type: ignore[index]
            except (KeyError, IndexError, TypeError):
                return match[0]
        known = found.get("id") if isinstance(found, dict) else None
        return f"{match[0]} ({known})" if isinstance(known, str) else match[0]

    return re.sub(r"\$(?:\.\w+|\[\d+\])*", name, message)


def problems(contents: AssignmentFile) -> Iterator[str]:
    """What is wrong with tables that are well formed one by one, in reading order."""
    steps = {criterion.id for stage in contents.stages for criterion in stage.criteria}
    names = [name for stage in contents.stages for name in stage.names]
    yield from _repeated("stages", "stage", [stage.id for stage in contents.stages])
    yield from _repeated("stages", "module", [stage.module for stage in contents.stages])
    yield from _repeated("stages", "name", names)
    for stage in contents.stages:
        yield from _stage_problems(stage)
    yield from _sum_problems(
        "stages", [stage.points for stage in contents.stages], "the assignment", contents.points
    )
    for position, forbidden in enumerate(contents.forbidden):
        key = f"forbidden[{position}]"
        yield from _unknown(f"{key}.steps", "criterion", forbidden.steps, steps)
        yield from _unknown(f"{key}.within", "name", forbidden.within, names)


def _stage_problems(stage: _StageTable) -> Iterator[str]:
    key = f"stages.{stage.id}.criteria"
    yield from _repeated(key, "criterion", [criterion.id for criterion in stage.criteria])
    for criterion in stage.criteria:
        here = f"{key}.{criterion.id}.shares"
        aspects = [(share.name, share.aspect) for share in criterion.shares]
        told = [name + (f" ({aspect})" if aspect else "") for name, aspect in aspects]
        yield from _repeated(here, "share", told)
        yield from _unknown(here, "name", [name for name, _ in aspects], stage.names)
        yield from _sum_problems(
            here, [share.points for share in criterion.shares], "the criterion", criterion.points
        )
    yield from _sum_problems(
        key, [criterion.points for criterion in stage.criteria], "the stage", stage.points
    )
    shown = {share.name for criterion in stage.criteria for share in criterion.shares}
    for name in stage.names:
        if name not in shown:
            yield f"stages.{stage.id}.names.{name}: no criterion has a share for this name"


def _repeated(key: str, kind: str, ids: list[str]) -> Iterator[str]:
    for position, each in enumerate(ids):
        if each in ids[:position]:
            yield f"{key}: the {kind} {each} is there twice"


def _unknown(key: str, kind: str, used: Iterable[str], known: Iterable[str]) -> Iterator[str]:
    for each in used:
        if each not in known:
            yield f"{key}: there is no {kind} {each!r}; there is {', '.join(sorted(known))}"


def _sum_problems(key: str, points: list[int], whole: str, expected: int) -> Iterator[str]:
    if sum(points) != expected:
        terms = " + ".join(map(str, points)) or "nothing"
        yield f"{key}: {terms} adds up to {sum(points)} points, {whole} has {expected}"


def _assemble(contents: AssignmentFile, file: Path) -> Assignment:
    """Turn the file's tables into an assignment whose paths exist and are absolute."""
    folder = file.parent
    solutions = (folder / contents.solutions).resolve()
    stages = tuple(_stage(table, folder) for table in contents.stages)
    for stage in stages:
        _require(file, f"stages.{stage.id}.module", solutions / f"{stage.module}.py")
        _require(file, f"stages.{stage.id}.handout", stage.handout)
        known = anchors(stage.handout.read_text(encoding="utf-8", errors="replace"))
        for criterion in stage.criteria:
            if criterion.section not in known:
                raise WrongUse(
                    f"{file}: stages.{stage.id}.criteria.{criterion.id}.section:"
                    f" {stage.handout.name} has no heading with the anchor {criterion.section!r}"
                )
    return Assignment(
        id=contents.id,
        title=contents.title,
        folder=folder,
        solutions=solutions,
        template=(folder / contents.template).resolve() if contents.template else None,
        points=contents.points,
        stages=stages,
        name_specs=tuple(
            NameSpec(name, stage.module, table.kind, table.parameters)
            for stage in contents.stages
            for name, table in stage.names.items()
        ),
        limits=contents.limits,
        forbidden=contents.forbidden,
        feedback=contents.feedback,
        late=contents.late,
        blocked_earns=contents.blocked_earns,
    )


def _stage(table: _StageTable, folder: Path) -> Stage:
    return Stage(
        id=table.id,
        title=table.title,
        module=table.module,
        handout=(folder / table.handout).resolve(),
        checks=table.checks,
        misconceptions=table.misconceptions,
        points=table.points,
        criteria=table.criteria,
        names=tuple(table.names),
    )


def _require(file: Path, key: str, needed: Path) -> None:
    if not needed.is_file():
        raise WrongUse(f"{file}: {key}: there is no file {needed}")
