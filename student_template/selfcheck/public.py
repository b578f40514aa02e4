"""Runs the public checks in `tests/` in this process, and tells of each as it ends.

pytest does the work, without its report: whoever listens makes one. It is started before there is
anything to check, so that only the checks themselves are left to do when a file was saved.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from types import ModuleType, TracebackType

import pytest

from .course import HERE, ROOT, Stage, course
from .standing import Event, Outcome, Status

LONGEST = 500  # characters of what was printed, or of a message
TESTS = ROOT / "tests"
NOT_WRITTEN = ": not written yet (stage "

# What pytest brings along and nobody needs here.
_LEFT_OUT = (
    "cacheprovider",
    "debugging",
    "doctest",
    "faulthandler",
    "junitxml",
    "legacypath",
    "logging",
    "nose",
    "pastebin",
    "stepwise",
    "subtests",
    "threadexception",
    "unittest",
    "unraisableexception",
)

Listen = Callable[[Event], None]
#: Brings the student's modules in and says which stages can be checked.
Begin = Callable[[], Iterable[Stage]]


def run_public_checks(begin: Begin, listen: Listen) -> None:
    """Run the checks of the stages that `begin` returns, in order.

    `begin` is called when everything else is ready; it may wait. Events of the kinds `begin`,
    `outcome` and `problem` are handed to `listen`.
    """
    arguments = [
        f"--rootdir={ROOT}",
        f"--config-file={HERE / 'checks.ini'}",
        "--import-mode=importlib",
        "--capture=sys",
        "--tb=short",
        "-q",
        *(f"-pno:{plugin}" for plugin in _LEFT_OUT),
        str(TESTS),
    ]
    others = _tests_taken_away()
    surroundings = {name: os.environ.get(name) for name in _SURROUNDINGS}
    os.environ.update(_SURROUNDINGS)
    os.environ.pop("PYTEST_ADDOPTS", None)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            pytest.main(arguments, plugins=[_Plugin(begin, listen)])
    finally:
        for name, value in surroundings.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _tests_taken_away()
        sys.modules.update(others)


_SURROUNDINGS: Mapping[str, str] = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def _tests_taken_away() -> dict[str, ModuleType]:
    """Modules of tests, which are read anew by the next run: they hold the student's modules."""
    names = [name for name in sys.modules if name.partition(".")[0] == TESTS.name]
    return {name: sys.modules.pop(name) for name in names}


class _Plugin:
    """Waits for the start, leaves out what is not asked for, and tells what comes out."""

    def __init__(self, begin: Begin, listen: Listen) -> None:
        self._begin = begin
        self._listen = listen
        self._stages: dict[Path, Stage] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        for stage in self._begin():
            file = ROOT / stage.tests
            if file.is_file():
                self._stages[file] = stage
            else:
                missing = f"{stage.tests} is missing: take it from the folder you were given"
                self._listen({"kind": "problem", "stage": stage.id, "message": missing})

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        if collection_path.is_file() and collection_path not in self._stages:
            return True
        return None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            stage = self._stages.get(ROOT / report.nodeid)
            if stage is not None:
                message = f"{stage.tests} cannot be read: {_shortened(report.longreprtext)}"
                self._listen({"kind": "problem", "stage": stage.id, "message": message})

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        stage = self._stages[item.path]
        self._listen(
            {
                "kind": "begin",
                "stage": stage.id,
                "name": subject_of(item, stage),
                "check": sentence_of(item),
            }
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        stage = self._stages[item.path]
        if report.when == "call" or report.failed:
            name = subject_of(item, stage)
            raised = call.excinfo.value if call.excinfo is not None else None
            status, message, place = judged(raised, stage, name)
            outcome = Outcome(
                sentence_of(item),
                stage.id,
                name,
                status,
                _shortened(message),
                place,
                _shortened(report.capstdout + report.capstderr),
            )
            self._listen({"kind": "outcome", **_told(outcome)})
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        stage = self._stages[item.path]
        if nextitem is None or nextitem.path != item.path:
            self._listen({"kind": "checked", "stage": stage.id})


def _told(outcome: Outcome) -> Event:
    return {name: getattr(outcome, name) for name in Outcome.__slots__}


def sentence_of(item: pytest.Item) -> str:
    """A check's name as a sentence: its test's name, and the values that it is run with."""
    name, bracket, values = item.name.partition("[")
    words = name.removeprefix("test_").replace("_", " ")
    return f"{words} ({values.removesuffix(']')})" if bracket else words


def subject_of(item: pytest.Item, stage: Stage) -> str:
    """The name that a check is about: of those that it uses, the last one to be written."""
    assert isinstance(item, pytest.Function)
    code = item.function.__code__
    used = {*code.co_names, *code.co_consts}
    if hasattr(item, "callspec"):
        used |= {each for each in item.callspec.params.values() if isinstance(each, str)}
    return [name.name for name in stage.names if name.name in used or name is stage.names[0]][-1]


def judged(raised: BaseException | None, stage: Stage, name: str) -> tuple[Status, str, str]:
    """Status, message and place of a check that ended with this exception, or with none."""
    if raised is None:
        return "passed", "", ""
    if isinstance(raised, NotImplementedError) and NOT_WRITTEN in str(raised):
        missing = str(raised).partition(NOT_WRITTEN)[0].partition(".")[0]
        if missing == name:
            return "todo", f"`{missing}` is not written yet", ""
        return "waits", f"`{name}` needs `{missing}`, which is not written yet", ""
    if isinstance(raised, AttributeError) and isinstance(raised.obj, ModuleType):
        for other in course().stages:
            if raised.obj.__name__ == f"{course().package}.{other.module}":
                return "failed", _absent(str(raised.name), other), ""
    if isinstance(raised, pytest.fail.Exception):
        return "failed", str(raised.msg), ""
    place, line = place_of(raised.__traceback__)
    if isinstance(raised, AssertionError) and not place:
        return "failed", str(raised).partition("\nassert ")[0], ""
    return "failed", f"{told(raised)}{f': {line}' if line else ''}", place


def _absent(name: str, stage: Stage) -> str:
    return (
        f"`{name}` was looked for in {stage.file} and not found\n"
        f"  what to do: give it just this name, or bring the stub back with"
        f" `python -m selfcheck reset {name}`"
    )


def told(raised: BaseException) -> str:
    """An exception in one line, as "Type: text"."""
    text = " ".join(str(raised).split())
    return f"{type(raised).__name__}: {text}" if text else type(raised).__name__


def place_of(traceback: TracebackType | None) -> tuple[str, str]:
    """The innermost line of the student's that an exception came through, and its text.

    A line of a notebook is told by its number within the cell.
    """
    folder = ROOT / course().package
    place, text = "", ""
    while traceback is not None:
        name, number = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        if folder in Path(name).parents:
            place = f"{Path(name).relative_to(ROOT).as_posix()}:{number}"
            text = linecache.getline(name, number).strip()
        elif "ipykernel" in name or name.startswith("<ipython-input"):
            place, text = f"line {number} of the cell", linecache.getline(name, number).strip()
        traceback = traceback.tb_next
    return place, text


def _shortened(text: str) -> str:
    text = text.strip()
    return text if len(text) <= LONGEST else text[:LONGEST] + " ..."
