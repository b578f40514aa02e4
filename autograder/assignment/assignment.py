"""What is taught and what it is worth: the contents of an `assignment.toml`.

The file is read strictly. An unknown key, a wrong type, a name that no stage has, or points that
do not add up end the loading with a message that names the file and the key, so that a mistake in
the rubric shows before the first submission is graded and not in a student's feedback.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from autograder.assignment.location import FILE_NAME as FILE_NAME
from autograder.assignment.location import PACKAGE as PACKAGE
from autograder.assignment.location import find_assignment as find_assignment
from autograder.assignment.rubric import AssignmentFile, Identifier, Points, StageTable, Table, Text
from autograder.assignment.rubric import Criterion as Criterion
from autograder.assignment.rubric import Feedback as Feedback
from autograder.assignment.rubric import Forbidden as Forbidden
from autograder.assignment.rubric import Late as Late
from autograder.assignment.rubric import Limits as Limits
from autograder.assignment.rubric import NameSpec as NameSpec
from autograder.assignment.rubric import Parameter as Parameter
from autograder.assignment.rubric import Runtime as Runtime
from autograder.assignment.rubric import Share as Share
from autograder.assignment.rubric import Stage as Stage
from autograder.assignment.toml_lines import line_of
from autograder.errors import UsageError


class Assignment(Table, frozen=True):
    """A whole assignment, as loaded; every path in it is absolute."""

    id: Identifier
    title: Text
    folder: Path
    solutions: Path
    template: Path | None  # the folder of what a student receives
    subject: str | None  # the package that knows what is taught
    points: Points
    stages: tuple[Stage, ...]
    name_specs: tuple[NameSpec, ...]
    limits: Limits
    forbidden: tuple[Forbidden, ...]
    feedback: Feedback
    late: Late
    runtime: Runtime
    parameters: tuple[tuple[str, Parameter], ...]  # what they are called elsewhere, by name
    blocked_earns: float  # the part, 0 to 1, of its points that a blocked share earns

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that a student writes, stage by stage."""
        return tuple(name for stage in self.stages for name in stage.names)

    def stage(self, stage_id: str) -> Stage:
        """The stage with that id.

        Raises:
            UsageError: There is none.
        """
        for stage in self.stages:
            if stage.id == stage_id:
                return stage
        known = ", ".join(stage.id for stage in self.stages)
        raise UsageError(f"no stage {stage_id!r}; the stages are {known}")

    def stage_of(self, name: str) -> Stage:
        """The stage in which a name is written.

        Raises:
            UsageError: No stage asks for it.
        """
        for stage in self.stages:
            if name in stage.names:
                return stage
        raise UsageError(f"no stage of {self.id} asks for {name!r}")

    def lineage(self, name: str) -> tuple[str, ...]:
        """A name, the one that it is like, and so on."""
        likes = {spec.name: spec.like for spec in self.name_specs}
        found = [name]
        while (parent := likes.get(found[-1])) is not None and parent not in found:
            found.append(parent)
        return tuple(found)


def load_assignment(path: Path | None = None) -> Assignment:
    """Load an assignment from a folder or file, or search for one.

    Args:
        path: An `assignment.toml`, or a folder that holds one. Without it the assignment is
            searched for upward from the working directory, then in the checkout that contains
            this package, then in the package itself (an installed wheel).

    Returns:
        The assignment, every path in it absolute.

    Raises:
        UsageError: No assignment is found, or something is wrong with it. The message names file
            and key.
    """
    file = find_assignment(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {error}") from error
    contents = parse(text, file)
    for problem in problems(contents):
        raise UsageError(f"{file}: {problem}")
    return _assemble(contents, file)


def anchors(handout: str) -> tuple[str, ...]:
    """The anchors of a handout's headings, as GitHub and most Markdown viewers make them."""
    without_code = re.sub(r"^```.*?^```", "", handout, flags=re.MULTILINE | re.DOTALL)
    titles: list[str] = re.findall(r"^#{1,6} +(.+?) *$", without_code, flags=re.MULTILINE)
    return tuple(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles)


def parse(text: str, file: Path) -> AssignmentFile:
    """The tables of a file, each well formed by itself.

    Args:
        text: The file's contents.
        file: Its path, for messages.

    Raises:
        UsageError: Not TOML, an unknown key or a wrong type; the message names the line.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: {error}") from error
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
        raise UsageError(f"{file}: {where}{_with_ids(told, tables)}") from error


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
    for stage in contents.stages:
        for name, table in stage.names.items():
            if table.like is not None:
                key = f"stages.{stage.id}.names.{name}.like"
                yield from _unknown(key, "name", [table.like], names)
                if table.like == name:
                    yield f"{key}: {name} is no other name"


def _stage_problems(stage: StageTable) -> Iterator[str]:
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
            yield f"{key}: the {kind} {each} appears twice"


def _unknown(key: str, kind: str, used: Iterable[str], known: Iterable[str]) -> Iterator[str]:
    for each in used:
        if each not in known:
            yield f"{key}: no {kind} {each!r}; known are {', '.join(sorted(known))}"


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
                raise UsageError(
                    f"{file}: stages.{stage.id}.criteria.{criterion.id}.section:"
                    f" {stage.handout.name} has no heading with the anchor {criterion.section!r}"
                )
    return Assignment(
        id=contents.id,
        title=contents.title,
        folder=folder,
        solutions=solutions,
        template=(folder / contents.template).resolve() if contents.template else None,
        subject=contents.subject,
        points=contents.points,
        stages=stages,
        name_specs=tuple(
            NameSpec(name, stage.module, table.kind, table.parameters, table.like)
            for stage in contents.stages
            for name, table in stage.names.items()
        ),
        limits=contents.limits,
        forbidden=contents.forbidden,
        feedback=contents.feedback,
        late=contents.late,
        runtime=contents.runtime,
        parameters=tuple(contents.parameters.items()),
        blocked_earns=contents.blocked_earns,
    )


def _stage(table: StageTable, folder: Path) -> Stage:
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
        raise UsageError(f"{file}: {key}: no such file: {needed}")
