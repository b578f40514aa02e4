"""Files in, names out."""

import builtins
import sys
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from types import ModuleType
from typing import NoReturn

from ...protocol import wire
from . import compiler, jupyter, placeholders
from .elsewhere import instead, lying_deeper
from .names import NameSpec, Search, search, settle
from .nodes import SourceFile
from .notes import clean
from .ownership import Ownership
from .running import Runner, Source
from .sources import has_odd_name, is_ignored

_TRIAL = wire.SourceFile(
    "work.py",
    "module",
    b"import math\n\n\ndef f(numbers):\n    return numbers\n\n\nclass A:\n    size = 1\n",
)
_LEAST_RECURSION = 900  # a lower limit than that was set by the submission


@dataclass(frozen=True, slots=True)
class Loaded:
    """A submission whose names can be called."""

    objects: dict[str, object]  # by the contract's name; missing ones are absent
    report: wire.Report
    instead: str | None  # where none of the names was found, what there is
    modules: list[ModuleType]  # every module whose globals some code of the student's has
    sources: dict[str, Source]  # by the file name in code objects and tracebacks
    close: Callable[[], None]  # takes everything back, in a process that lives on


def prepare() -> None:
    """Do what has to be done once, before the process is forked for each submission.

    A small submission is loaded on trial: the interpreter no longer writes to code that has run
    before, and memory that is not written to is not copied.
    """
    jupyter.prepare()
    trial = load([_TRIAL], [wire.NameSpec("f", "work", "function")])
    trial.close()


def load(
    files: Sequence[SourceFile],
    names: Sequence[NameSpec],
    skip: Set[int] = frozenset(),
    started: Callable[[int], None] = lambda statement: None,
    imported: Callable[[str], None] = lambda library: None,
) -> Loaded:
    """Run a submission and find the contract's names in it.

    From then on, using an import that is not available raises.

    Args:
        files: The submission.
        names: The names that the contract asks for.
        skip: Numbers of statements that are not run. Numbers do not depend on what is skipped.
        started: Called with each statement's number before it runs.
        imported: Called with the top-level name of each library before it is imported, during
            loading or later.
    """
    placeholders.graded(False)
    sources = [each for each in files if each.kind != "data"]
    kept = [each for each in sources if not is_ignored(each.path)]
    if not kept:
        only = [each for each in sources if has_odd_name(each.path)]
        kept = only if len(only) == 1 else []
    package = names[0].package if names else ""
    runner = Runner(kept, skip, started, imported, package)
    undo = _surroundings(runner)
    trace, profile = sys.gettrace(), sys.getprofile()
    runner.run_all()
    if sys.gettrace() is not trace:
        sys.settrace(None)
    if sys.getprofile() is not profile:
        sys.setprofile(None)
    if sys.getrecursionlimit() < _LEAST_RECURSION:
        sys.setrecursionlimit(1000)
    ownership = Ownership(runner.sources, runner.modules.namespaces(), runner.stubs)
    result = search(names, runner, ownership)
    deeper = lying_deeper(result.missing, runner.sources)
    for where in deeper if result.found else ():
        runner.notes.add(where)
    settle(result, runner, ownership)
    placeholders.graded(True)
    return Loaded(
        objects={name: each.value for name, each in result.found.items()},
        report=_report(result, runner.notes.finished()),
        instead=None if result.found or not names else _instead(runner, deeper),
        modules=[node.module for node in runner.modules.namespaces().values() if node.module],
        sources=runner.sources,
        close=undo,
    )


def _instead(runner: Runner, deeper: Sequence[str]) -> str:
    """What there is where no name was found."""
    defined = [each.name for each in runner.definitions]
    is_broken = runner.any_broken and not defined
    return clean(instead(runner.sources, defined, deeper, is_broken))


def _report(result: Search, notes: tuple[str, ...]) -> wire.Report:
    """What was found and what was not, as the judge is told it."""
    return wire.Report(
        found=tuple(
            wire.Found(name, clean(each.path), clean(each.name), each.stub, each.line, each.cell)
            for name, each in result.found.items()
        ),
        missing=tuple(
            wire.Missing(name, near and clean(near)) for name, near in result.missing.items()
        ),
        notes=notes,
    )


def _surroundings(runner: Runner) -> Callable[[], None]:
    """Put in place what submissions expect around them; gives back how to undo it."""
    main = sys.modules.get("__main__")
    asked, hook = builtins.input, sys.breakpointhook
    leaving = {name: vars(builtins).get(name) for name in ("exit", "quit")}
    before = jupyter.install(runner.left_out, runner.run_file)
    restore_compiler = compiler.install()
    builtins.input = _no_input
    vars(builtins).update(exit=_leave, quit=_leave)  # of scripts; a guest starts without them
    sys.breakpointhook = lambda *arguments, **options: None
    runner.modules.install()

    def undo() -> None:
        placeholders.graded(False)
        runner.modules.remove()
        jupyter.remove(before)
        restore_compiler()
        builtins.input, sys.breakpointhook = asked, hook
        for name, value in leaving.items():
            if value is None:
                del vars(builtins)[name]
            else:
                vars(builtins)[name] = value
        if main is not None:
            sys.modules["__main__"] = main

    return undo


def _no_input(prompt: object = "") -> NoReturn:
    raise EOFError("nobody is there to answer input()")


def _leave(code: object = None) -> NoReturn:
    raise SystemExit(code)
