"""The tables of an `assignment.toml`: stages, criteria, points, limits and policies.

Each is read strictly: an unknown key or a wrong type is refused. What holds between tables (sums,
names) is looked at by `assignment`, which loads them.
"""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from autograder.errors import UsageError

Identifier = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
ModulePath = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")]
Text = Annotated[str, msgspec.Meta(min_length=1)]
Points = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the file: frozen, and strict about its keys."""


class Share(Table, frozen=True):
    """The part of a criterion's points that one name shows, kept or lost on its own."""

    name: Identifier
    points: Points
    aspect: Text | None = None  # tells two shares of one name in one criterion apart


class Criterion(Table, frozen=True):
    """A line of the rubric: a step of the chain, `form`, `state` or an exercise."""

    id: Identifier
    title: Text
    section: Text  # the anchor of the handout's section that teaches it
    points: Points
    shares: tuple[Share, ...]


class NameSpec(Table, frozen=True):
    """A name that a student writes."""

    name: Identifier
    module: Identifier  # the module that the template has it in; it is found anywhere
    kind: Literal["function", "class"]
    parameters: tuple[Identifier, ...]  # of the function, or of the class's constructor
    like: Identifier | None = None  # the name whose checks and mistakes it has as well


class Parameter(Table, frozen=True):
    """What students call a parameter that the assignment calls otherwise.

    Attributes:
        near: Its other names, without case and underscores, the nearest first.
        without: The value at which a constructor may do without the argument.
        heeded: Whether it says anything about results; if not, it may always be left out.
    """

    near: tuple[Text, ...] = ()
    without: bool | int | float | str | msgspec.UnsetType = msgspec.UNSET
    heeded: bool = True


class Stage(Table, frozen=True):
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
        """The criterion with that id.

        Raises:
            UsageError: The stage has none.
        """
        for criterion in self.criteria:
            if criterion.id == criterion_id:
                return criterion
        known = ", ".join(each.id for each in self.criteria)
        raise UsageError(f"stage {self.id} has no criterion {criterion_id!r}; it has {known}")


class Limits(Table, frozen=True):
    """What one submission may use. Seconds are CPU seconds, so a busy machine takes nothing away.

    `docs/security.md` says what happens past each limit.
    """

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
    # How often a submission is started again because its process ended or sent nonsense. One that
    # hangs costs none of these: each name pays two deadlines at most, and all of them together,
    # with loading again, twice submission_seconds.
    fresh_guests: Count = 5
    # Bounds of reading a submission, met before any of it is looked at.
    max_files: Count = 2000
    max_file_mb: Count = 20
    max_total_mb: Count = 100
    max_notebook_mb: Count = 100  # outputs make notebooks large; only code cells are kept


class Forbidden(Table, frozen=True):
    """Operators that do a step's work for the student.

    Attributes:
        operators: Patterns as `fnmatch` knows them, for an operator's bare name, such as
            `_softmax`, without namespace and overload.
        steps: The criteria that lose their points.
        within: The names in whose calls the operators count; empty means all.
        misconception: What the catalogue of a stage calls that, where it names it.
    """

    operators: tuple[Text, ...]
    steps: tuple[Identifier, ...]
    within: tuple[Identifier, ...] = ()
    misconception: Text | None = None


class Feedback(Table, frozen=True):
    """What a student may read besides the scores."""

    show_expected_numbers: bool = False
    show_inputs: bool = False
    explanations: Literal["always", "after_due", "never"] = "always"
    # Where students can hand in as often as they like, a reason at once would be an oracle.
    explanations_online: Literal["always", "after_due", "never"] = "after_due"


class Late(Table, frozen=True):
    """What lateness costs, computed when grades are exported and never stored.

    Percentages are of the points earned. A day that has begun counts as a whole day, from the due
    date on.
    """

    due: Annotated[datetime, msgspec.Meta(tz=True)] | None = None  # with its offset from UTC
    zone: str | None = None  # such as Europe/Berlin: where times without an offset were read
    grace_minutes: Annotated[int, msgspec.Meta(ge=0)] = 0
    percent_per_day: Percent = 0.0
    cap_percent: Percent = 100.0
    flat_percent: Percent = 0.0  # where a platform says late without saying by how much


class Runtime(Table, frozen=True):
    """What graded code runs with."""

    # Packages that students may import besides torch and numpy, by the name in `import`; each with
    # what it imports itself. One that is not installed here is told by `autograder doctor`.
    packages: tuple[Identifier, ...] = ()


class NameTable(Table, frozen=True):
    """A name as `[stages.names]` has it."""

    kind: Literal["function", "class"]
    parameters: tuple[Identifier, ...]
    like: Identifier | None = None


class StageTable(Table, frozen=True):
    """A stage as `[[stages]]` has it, paths not yet resolved."""

    id: Identifier
    title: Text
    module: Identifier
    handout: Text
    checks: ModulePath
    misconceptions: ModulePath
    points: Points
    criteria: tuple[Criterion, ...]
    names: dict[Identifier, NameTable]


class AssignmentFile(Table, frozen=True):
    """The whole file."""

    schema: Literal[1]
    id: Identifier
    title: Text
    points: Points
    solutions: Text
    stages: tuple[StageTable, ...]
    template: Text | None = None
    subject: ModulePath | None = None
    blocked_earns: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    limits: Limits = Limits()
    forbidden: tuple[Forbidden, ...] = ()
    feedback: Feedback = Feedback()
    late: Late = Late()
    runtime: Runtime = Runtime()
    parameters: dict[Identifier, Parameter] = {}
