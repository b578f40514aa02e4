"""Looks at the student's work in this process: modules, public checks, mistakes, weights.

Runs in a process that may be ended at any moment, or in a notebook's kernel. Everything that is
found is told at once, as events.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import NoReturn

from .course import ROOT, Stage, course
from .mistakes import find_mistakes
from .public import Listen, place_of, run_public_checks, told
from .standing import Event
from .weights import weights_of

#: Gives the student's module of a stage, or raises what importing it raised.
Load = Callable[[Stage], ModuleType]


@dataclass(frozen=True, slots=True)
class Order:
    """The ids of the stages to look at, in this order, and whether their weights are wanted."""

    stages: Sequence[str]
    weights: bool


def study(wait: Callable[[], Order], listen: Listen, load: Load) -> None:
    """Look at what `wait` returns, and tell what is found."""
    modules: dict[str, ModuleType] = {}
    wrong: dict[str, dict[str, list[str]]] = {}  # by stage and name, the checks that failed

    weights: set[str] = set()  # stages of which they are wanted

    def begin(tell_count: Callable[[Stage], None]) -> Iterator[Stage]:
        order = wait()
        weights.update(order.stages if order.weights else ())
        for stage in map(course().stage, order.stages):
            tell_count(stage)
            if _brought_in(stage, load, modules, listen):
                yield stage

    def overhear(event: Event) -> None:
        if event["kind"] == "checked":
            _look_closer(event["stage"])
            return
        if event["kind"] == "outcome" and event["status"] == "failed":
            failed = wrong.setdefault(event["stage"], {})
            failed.setdefault(event["name"], []).append(event["check"])
        listen(event)

    def _look_closer(stage_id: str) -> None:
        stage = course().stage(stage_id)
        module = modules[stage_id]
        try:
            with quietly():
                if wrong.get(stage_id):
                    listen({"kind": "begin", "stage": stage_id, "name": "", "check": "mistakes"})
                    for mistake in find_mistakes(stage, module, wrong[stage_id]):
                        listen({"kind": "mistake", **mistake})
                if stage_id in weights:
                    listen({"kind": "begin", "stage": stage_id, "name": "", "check": "weights"})
                    for seen in weights_of(stage, module):
                        listen({"kind": "weights", **seen})
        except KeyboardInterrupt:
            raise
        except BaseException:  # sys.exit, say; the checks have told already that it is wrong
            pass
        listen({"kind": "finished", "stage": stage_id})

    with unattended():
        run_public_checks(begin, overhear)


class NobodyAnswers(EOFError):
    """Work that asks for something, where nobody is there to answer."""


@contextlib.contextmanager
def unattended() -> Iterator[None]:
    """Have `input()` and `breakpoint()` say what they are, and wait for nobody."""

    def asks(what: str) -> Callable[..., NoReturn]:
        def refuse(*arguments: object, **options: object) -> NoReturn:
            raise NobodyAnswers(
                f"{what} was called; nobody answers, here or when you are graded. Take it out"
            )

        return refuse

    before = builtins.input, sys.breakpointhook
    builtins.input, sys.breakpointhook = asks("input()"), asks("breakpoint()")
    try:
        yield
    finally:
        builtins.input, sys.breakpointhook = before


def _brought_in(stage: Stage, load: Load, modules: dict[str, ModuleType], listen: Listen) -> bool:
    """Import a stage's module; where that fails, tell why and give False."""
    listen({"kind": "begin", "stage": stage.id, "name": "", "check": f"import of {stage.file}"})
    try:
        with quietly():
            modules[stage.id] = load(stage)
    except KeyboardInterrupt:
        raise
    except BaseException as raised:  # sys.exit in a module is a mistake like any other
        listen({"kind": "problem", "stage": stage.id, "message": why_not(stage, raised)})
        return False
    return True


def why_not(stage: Stage, raised: BaseException) -> str:
    """Why a stage's module cannot be imported, and what to do."""
    if not (ROOT / stage.file).is_file():
        return (
            f"{stage.file} is missing\n"
            f"  what to do: bring the stub back with `python -m selfcheck reset {stage.id}`"
        )
    if isinstance(raised, SyntaxError):
        file = (raised.filename or stage.file).removeprefix(str(ROOT)).replace("\\", "/").strip("/")
        line = (raised.text or "").strip()
        return (
            f"{file}:{raised.lineno} is not Python yet: {raised.msg}\n  found: {line}\n"
            "  what to do: mend this line, or one shortly before it"
        )
    place, line = place_of(raised.__traceback__)
    if isinstance(raised, SystemExit):
        return f"{place or stage.file} ends Python when it is imported\n  found: {line}"
    return f"{place or stage.file} cannot be imported: {told(raised)}\n  found: {line}"


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Keep what the student's code prints from the screen."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
