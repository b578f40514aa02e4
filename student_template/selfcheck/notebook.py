"""The self-check within a notebook: `check("causal")` shows a table and a heatmap.

The names are taken from the notebook itself; what it does not define is read from the folder
`attention/`. Everything happens in the notebook's own process; an endless loop is ended with the
notebook's stop button.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from types import ModuleType

from .course import PUBLIC_ONLY, Stage, course
from .heatmap import heatmap_svg
from .standing import Event, NameStanding, StageStanding, Standing

MARKS = {"done": "✓", "wrong": "✗", "todo": "·", "waits": "·", "unseen": "·"}
WORDS = {
    "done": "done",
    "wrong": "not right yet",
    "todo": "not written yet",
    "waits": "waits for another name",
    "unseen": "not checked",
}


def check(stage: str, namespace: Mapping[str, object] | None = None) -> Report:
    """Run the public checks of one stage on the names of this notebook.

    Args:
        stage: the stage's id, such as "causal"; its number or a name in it does as well.
        namespace: where to look for the names; the caller's own globals, unless given.

    Returns:
        What was found: shown by a notebook as a table and a heatmap, by `print` as text.
        `.passed` says whether every check passed.
    """
    wanted = course().stage(stage)
    if namespace is None:
        namespace = sys._getframe(1).f_globals
    from .study import Order, study

    standing = Standing.of((wanted.id,))

    def hear(event: Event) -> None:
        if event["kind"] == "broken":  # no check could be run at all
            event = {"kind": "problem", "stage": wanted.id, "message": event["message"]}
        standing.hear(event)

    with _notebook_as_package(namespace) as load:
        study(lambda: Order([wanted.id], weights=True), hear, load.module)
    return Report(standing.stages[wanted.id])


class Report:
    """What the public checks of one stage found."""

    def __init__(self, standing: StageStanding) -> None:
        self.standing = standing

    @property
    def stage(self) -> str:
        """The stage's id."""
        return self.standing.stage.id

    @property
    def passed(self) -> bool:
        """Whether every public check of the stage passed."""
        return self.standing.done

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        standing = self.standing
        total = standing.total
        yield f"{standing.stage.title}: {standing.passed} of {total} checks passed"
        if standing.problem:
            yield standing.problem
        for name in standing.names.values():
            yield f"{MARKS[name.state]} {name.name}: {WORDS[name.state]}"
            for line in _told(name):
                yield f"    {line}"
        yield f"({PUBLIC_ONLY})"

    def _repr_html_(self) -> str:
        standing = self.standing
        rows = "".join(_row(name) for name in standing.names.values())
        pictures = "".join(
            heatmap_svg(seen.title, course().example.tokens, seen.rows) for seen in standing.weights
        )
        problem = f"<p>{_lines_of(standing.problem)}</p>" if standing.problem else ""
        return (
            f"<div><p><strong>{escape(standing.stage.title)}</strong>: {standing.passed} of"
            f" {standing.total} checks passed</p>{problem}"
            f"<table><thead><tr>{_HEADINGS}</tr></thead><tbody>{rows}</tbody></table>"
            f"<p>{pictures}</p><p><small>{escape(PUBLIC_ONLY)}</small></p></div>"
        )


_CELL = "text-align: left; vertical-align: top"
_HEADINGS = "".join(
    f'<th style="text-align: left">{each}</th>' for each in ("", "name", "state", "what was found")
)


def _row(name: NameStanding) -> str:
    cells = (
        MARKS[name.state],
        f"<code>{escape(name.name)}</code>",
        escape(WORDS[name.state]),
        _lines_of("\n".join(_told(name))),
    )
    styles = (_CELL, _CELL + "; white-space: nowrap", _CELL + "; white-space: nowrap", _CELL)
    told = zip(styles, cells, strict=True)
    return "<tr>" + "".join(f'<td style="{style}">{each}</td>' for style, each in told) + "</tr>"


def _lines_of(text: str) -> str:
    return "<br>".join(escape(line) for line in text.splitlines())


def _told(name: NameStanding) -> Iterator[str]:
    """Why a name is not done, line by line."""
    trouble = name.trouble
    if trouble is None or trouble.status == "todo":
        return
    if trouble.status != "waits":
        yield f"{trouble.check}:"
    yield from trouble.message.splitlines()
    if trouble.place:
        yield f"  seen in: {trouble.place}"
    if trouble.printed:
        yield f"printed: {trouble.printed}"
    if name.mistake is not None:
        yield from name.mistake.told


class _Loader:
    """Gives modules whose names are the notebook's, or else those of the folder `attention/`."""

    def __init__(self, namespace: Mapping[str, object]) -> None:
        self._namespace = namespace

    def module(self, stage: Stage) -> ModuleType:
        """The stage's module as the checks will import it."""
        return importlib.import_module(f"{course().package}.{stage.module}")

    def fill(self, stage: Stage, module: ModuleType, fallback: Mapping[str, object]) -> None:
        """Put the stage's names into a module."""
        for name in stage.names:
            found = self._namespace.get(name.name, fallback.get(name.name))
            if found is not None:
                setattr(module, name.name, found)


@contextmanager
def _notebook_as_package(namespace: Mapping[str, object]) -> Iterator[_Loader]:
    """While it lasts, `attention` and its modules are what the notebook has defined."""
    package = course().package
    loader = _Loader(namespace)
    before = _taken_away(package)
    written = {stage.module: _from_folder(stage, namespace) for stage in course().stages}
    _taken_away(package)  # read anew the next time: the files may change
    root = types.ModuleType(package)
    root.__path__ = []
    sys.modules[package] = root
    for stage in course().stages:
        module = types.ModuleType(f"{package}.{stage.module}")
        loader.fill(stage, module, written[stage.module])
        sys.modules[module.__name__] = module
        setattr(root, stage.module, module)
    try:
        yield loader
    finally:
        _taken_away(package)
        sys.modules.update(before)


def _taken_away(package: str) -> dict[str, ModuleType]:
    """A package's modules, which are no longer imported after this."""
    names = [name for name in sys.modules if name.partition(".")[0] == package]
    return {name: sys.modules.pop(name) for name in names}


def _from_folder(stage: Stage, namespace: Mapping[str, object]) -> Mapping[str, object]:
    """What the folder `attention/` has of a stage, where the notebook lacks any of its names."""
    from .modules import load_module
    from .study import quietly

    if all(name.name in namespace for name in stage.names):
        return {}
    try:
        with quietly():
            return vars(load_module(stage))
    except KeyboardInterrupt:
        raise
    except BaseException:  # a file that cannot be imported has no names to give
        return {}
