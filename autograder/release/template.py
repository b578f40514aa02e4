"""The folder that a student receives.

Stubs, handouts, notebooks and the self-check's data are built, and so are the self-check's copies
of how the grader reads work, so that `submit` says what will be graded. The rest of the self-check,
the public checks, the README and the project file are written by hand and kept in the assignment's
template folder; a template that is built elsewhere gets copies of them.
"""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import autograder
from autograder.assignment.assignment import Assignment, Stage
from autograder.assignment.subject import hook
from autograder.errors import InternalError, UsageError
from autograder.release import stubs
from autograder.release.course import course_json
from autograder.release.handouts import with_rubric
from autograder.release.mistakes import mistakes_json
from autograder.release.notebooks import NOTEBOOKS, plain_notebook, sources

HANDOUTS = "handouts"
HANDED_OUT = (".github", ".gitignore")  # of what is hidden, this alone
FIGURES = "figures"
SELFCHECK = "selfcheck"
READING = "reading"  # within the self-check: how the grader reads text and compares names
LOADING = Path(autograder.__file__).parent / "sandbox" / "guest" / "loading"
COPIED = ("sources.py", "pieces.py", "spelling.py")


def template_files(assignment: Assignment) -> dict[str, str]:
    """The files that are built.

    Returns:
        Texts by path within the template.

    Raises:
        InternalError: A file would give a solution away.
        UsageError: A handout lacks the place for its rubric, or shows an unknown figure.
    """
    package = assignment.solutions.name
    files = {f"{package}/__init__.py": _read(assignment.solutions / "__init__.py")}
    for stage in assignment.stages:
        files[f"{package}/{stage.module}.py"] = _stub(assignment, stage)
        files[f"{HANDOUTS}/{stage.handout.name}"] = with_rubric(_read(stage.handout), stage)
    written = {stage.id: files[f"{package}/{stage.module}.py"] for stage in assignment.stages}
    files |= {f"{HANDOUTS}/{name}": text for name, text in figures_shown(assignment).items()}
    for stage in assignment.stages:
        handout = files[f"{HANDOUTS}/{stage.handout.name}"]
        name = f"{NOTEBOOKS}/{stage.handout.stem}.ipynb"
        files[name] = plain_notebook(assignment, stage, handout, written[stage.id])
    files[f"{SELFCHECK}/course.json"] = course_json(assignment, HANDOUTS, written)
    files[f"{SELFCHECK}/mistakes.json"] = mistakes_json(assignment)
    files |= {f"{SELFCHECK}/{READING}/{name}": _read(LOADING / name) for name in COPIED}
    secrets = solution_lines(assignment)
    for path, text in files.items():
        leaked = stubs.leaks(sources(text) if path.endswith(".ipynb") else text, secrets)
        if leaked:
            raise InternalError(f"{path} would give a solution away: {leaked[0]}")
    return files


def build_template(assignment: Assignment, out: Path) -> tuple[Path, ...]:
    """Write the template into a folder.

    Existing stubs and handouts are overwritten; nothing is deleted. In the assignment's own
    template folder, the rubrics in the handouts' originals are updated as well.

    Args:
        assignment: The assignment.
        out: The folder.

    Returns:
        The paths of the files that were built.

    Raises:
        UsageError: Stubs would overwrite the solutions.
        InternalError: A file would give a solution away.
    """
    files = template_files(assignment)
    if (out / assignment.solutions.name).resolve() == assignment.solutions:
        raise UsageError(f"{out}: stubs built here would overwrite the solutions")
    if out.resolve() == assignment.template:
        for stage in assignment.stages:
            _write(stage.handout, files[f"{HANDOUTS}/{stage.handout.name}"])
        build_figures(assignment)
    elif assignment.template is not None:
        built = {*files}
        for path in sorted(assignment.template.rglob("*")):
            inner = path.relative_to(assignment.template)
            if path.is_file() and inner.as_posix() not in built and _is_written(inner):
                target = out / inner
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
    for name, text in files.items():
        _write(out / name, text)
    return tuple(out / name for name in files)


def build_figures(assignment: Assignment) -> tuple[Path, ...]:
    """Draw the figures that the handouts show, beside the handouts' originals."""
    figures = figures_shown(assignment)
    for name, text in figures.items():
        _write(assignment.folder / name, text)
    return tuple(assignment.folder / name for name in figures)


def figures_shown(assignment: Assignment) -> dict[str, str]:
    """The figures that the handouts show: texts by path relative to the handouts.

    Raises:
        UsageError: A handout shows a figure that the kit does not draw.
    """
    draw = hook(assignment, "figure_files")
    drawn: Mapping[str, str] = draw() if draw is not None else {}
    shown: dict[str, str] = {}
    for stage in assignment.stages:
        for name in re.findall(rf"\]\({FIGURES}/([^)]+)\)", _read(stage.handout)):
            if name not in drawn:
                raise UsageError(
                    f"{stage.handout.name} shows {FIGURES}/{name}, which the kit does not draw"
                )
            shown[f"{FIGURES}/{name}"] = drawn[name]
    return shown


def check_drift(assignment: Assignment, out: Path) -> tuple[str, ...]:
    """What building would change in a folder, one line for each file; empty if nothing."""
    files = template_files(assignment)
    drift = []
    for name, text in files.items():
        path = out / name
        if not path.is_file():
            drift.append(f"{name} is missing")
        elif path.read_bytes() != text.encode():
            drift.append(f"{name} is not what the solutions give")
    for folder, pattern in (
        (assignment.solutions.name, "*.py"),
        (HANDOUTS, "*.md"),
        (f"{HANDOUTS}/{FIGURES}", "*.svg"),
        (NOTEBOOKS, "*.ipynb"),
    ):
        for path in sorted((out / folder).glob(pattern)):
            name = f"{folder}/{path.name}"
            if name not in files:
                drift.append(f"{name} is left over")
    return tuple(drift)


def solution_lines(assignment: Assignment) -> frozenset[str]:
    """The lines of all solutions that would give one away, as `stubs.leaks` takes them."""
    lines: frozenset[str] = frozenset()
    for stage in assignment.stages:
        file = assignment.solutions / f"{stage.module}.py"
        lines |= stubs.solution_lines(_read(file), file.name)
    return lines


def _stub(assignment: Assignment, stage: Stage) -> str:
    file = assignment.solutions / f"{stage.module}.py"
    number = assignment.stages.index(stage) + 1

    def message(name: str) -> str:
        return f"{name}: not written yet (stage {number}, {stage.id})"

    header = (
        f"# Stage {number} of {len(assignment.stages)}: {stage.title}.\n"
        f"# {HANDOUTS}/{stage.handout.name} says what to write and how it is judged.\n"
        "# Put your code where an error is raised now. Names and arguments stay as they are.\n\n"
    )
    return header + stubs.stub(_read(file), file.name, message)


def _is_written(path: Path) -> bool:
    """Whether a file of the template folder was put there by hand, not by a tool that ran."""
    kept = (part for part in path.parts if part not in HANDED_OUT)
    return not any(part.startswith(".") or part == "__pycache__" for part in kept)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
