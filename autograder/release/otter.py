"""The notebook that `otter assign` takes, with all stages in it.

Each name to write is a question whose tests are the public checks; they count when a student runs
them, and are left out when work is graded. Each criterion is a question with the criterion's points
and one hidden test that cannot pass by itself: the plugin
`autograder.platforms.otter.BehindTheWall` decides it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from autograder.assignment.assignment import Assignment, Criterion, Stage
from autograder.assignment.location import find_assignment
from autograder.errors import MissingRequirement
from autograder.platforms.notebook_cells import Cell, code_cell, notebook_bytes, raw_cell, text_cell
from autograder.release import stubs
from autograder.release.built import Files
from autograder.release.lesson import Exercise, Lesson, figure_files, lessons_of
from autograder.release.public_checks import RUNNER, PublicCheck, cell_of, shared_cell
from autograder.results.criterion_keys import criterion_key

PLUGIN = "autograder.platforms.otter.BehindTheWall"

_CONFIG = """\
# ASSIGNMENT CONFIG
init_cell: true
check_all_cell: false
export_cell:
    pdf: false
    run_tests: false
    ignore_log: true
run_tests: false
tests:
    files: true
    ok_format: false
generate:
    show_hidden: true
    force_public_test_summary: false
plugins:
{plugins}"""

_HEAD = """\
# {title}

*You write in this notebook, in the cells that raise an error now. Where the text names a file in
`{package}/`, it means the cells of that stage. Keep the names of functions and classes, and their
arguments; add cells of your own as you like. `grader.check(...)` runs the public checks of a name.
They show how far you are. Your points come from hidden checks, after you have handed in.*"""

_TEST = '''\
""" # BEGIN TEST CONFIG
success_message: "A public check passed: {words}. The hidden ones try more."
failure_message: "A public check failed: {words}. The last line below says what was expected."
""" # END TEST CONFIG
{source}'''

_CRITERION = '''\
""" # BEGIN TEST CONFIG
hidden: true
points: {points}
""" # END TEST CONFIG
def hidden_checks_decide():
    raise AssertionError("not judged: the plugin {plugin} has to run")'''


def otter_files(assignment: Assignment, named: Path | None = None) -> Files:
    """Everything that is built.

    Args:
        assignment: The assignment.
        named: The assignment's folder if graders would not find it by themselves; it is written
            into the configuration.

    Returns:
        Contents by path within the folder.

    Raises:
        MissingRequirement: otter-grader is not installed.
    """
    if find_spec("otter") is None:
        raise MissingRequirement(
            "otter-grader is not installed: pip install 'attention-autograder[otter]'"
        )
    lessons = lessons_of(assignment)
    figures: dict[str, bytes] = {}
    for lesson in lessons:
        figures |= figure_files(lesson)
    cells = _cells(assignment, lessons, sorted(figures), named)
    return {f"{assignment.id}.ipynb": notebook_bytes(cells), **figures}


def _cells(
    assignment: Assignment, lessons: tuple[Lesson, ...], figures: list[str], named: Path | None
) -> Iterator[Cell]:
    yield raw_cell("config", _config(figures, named))
    head = _HEAD.format(title=assignment.title, package=assignment.solutions.name)
    yield text_cell("how-to", head)
    imports = dict.fromkeys(line for each in lessons for line in each.imports.splitlines())
    yield code_cell("imports", "\n".join(imports))
    yield code_cell("public-checks", shared_cell(assignment))
    for lesson in lessons:
        stage = lesson.stage
        for number, section in enumerate(lesson.before, 1):
            yield text_cell(f"{stage.id}-text-{number}", section)
        yield text_cell(f"{stage.id}-code", f"## Your code\n\n{lesson.introduction}")
        for exercise in lesson.exercises:
            yield from _exercise(exercise)
        for number, section in enumerate(lesson.after, len(lesson.before) + 1):
            yield text_cell(f"{stage.id}-text-{number}", section)
        yield text_cell(f"{stage.id}-points", f"## Points of stage {lesson.number}")
        for criterion in stage.criteria:
            yield from _criterion(stage, criterion)


def _config(figures: list[str], named: Path | None) -> str:
    if named is None:
        plugins = f"    - {PLUGIN}"
    else:
        plugins = f"    - {PLUGIN}:\n        assignment: {find_assignment(named).parent}"
    text = _CONFIG.format(plugins=plugins)
    if figures:
        text += "\nfiles:\n" + "\n".join(f"    - {path}" for path in figures)
    return text


def _exercise(exercise: Exercise) -> Iterator[Cell]:
    name = exercise.name
    yield raw_cell(f"{name}-begin", f"# BEGIN QUESTION\nname: {name}")
    yield text_cell(f"{name}-text", f"### `{name}`")
    yield raw_cell(f"{name}-solution-begin", "# BEGIN SOLUTION")
    yield code_cell(name, _solution(exercise.solution))
    yield raw_cell(f"{name}-solution-end", "# END SOLUTION")
    if exercise.checks:
        yield raw_cell(f"{name}-tests-begin", "# BEGIN TESTS")
        for number, check in enumerate(exercise.checks, 1):
            yield code_cell(f"{name}-test-{number}", _test(check))
        yield raw_cell(f"{name}-tests-end", "# END TESTS")
    yield raw_cell(f"{name}-end", "# END QUESTION")


def _solution(source: str) -> str:
    """A solution with otter's marks, and what students get instead of it."""
    lines = []
    for line in source.splitlines():
        margin = line[: len(line) - len(line.lstrip())]
        if line.strip() == stubs.BEGIN:
            lines.append(f"{margin}# BEGIN SOLUTION NO PROMPT")
        elif line.strip() == stubs.END:
            lines += [
                f"{margin}# END SOLUTION",
                f'{margin}""" # BEGIN PROMPT',
                f'{margin}raise NotImplementedError("not written yet")',
                f'{margin}"""; # END PROMPT',
            ]
        else:
            lines.append(line)
    return "\n".join(lines)


def _test(check: PublicCheck) -> str:
    """A check as one function; otter fills its parameters from the notebook."""
    words = check.name.removeprefix("test_").replace("_", " ")
    body = textwrap.indent(cell_of([check], "# What is checked, and then the check."), "    ")
    parameters = ", ".join([RUNNER, *check.subjects])
    return _TEST.format(words=words, source=f"def {check.name}({parameters}):\n{body}")


def _criterion(stage: Stage, criterion: Criterion) -> Iterator[Cell]:
    key = criterion_key(stage.id, criterion.id)
    unit = "point" if criterion.points == 1 else "points"
    begin = f"# BEGIN QUESTION\nname: {key}\npoints: {criterion.points}\ncheck_cell: false"
    yield raw_cell(f"{key}-begin", begin)
    yield text_cell(f"{key}-text", f"**{criterion.title}**: {criterion.points} {unit}")
    yield raw_cell(f"{key}-tests-begin", "# BEGIN TESTS")
    test = _CRITERION.format(points=criterion.points, plugin=PLUGIN)
    yield code_cell(f"{key}-test", test)
    yield raw_cell(f"{key}-tests-end", "# END TESTS")
    yield raw_cell(f"{key}-end", "# END QUESTION")
