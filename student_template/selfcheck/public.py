"""Runs the public checks in `tests/` in this process, and tells of each as it ends.

pytest does the work, without its report: whoever listens makes one. It is started before there is
anything to check, so that only the checks themselves are left to do when a file was saved.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from types import ModuleType, TracebackType

import pytest

from .course import HERE, ROOT, TESTS, Stage, course
from .standing import Event, Outcome, Status

LONGEST = 500  # characters of what was printed, or of a message
NOT_WRITTEN = ": not written yet (stage "
OLDEST = (8, 3)  # the first version of pytest that everything here works with

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
#: Gives the stages that can be checked, each when its module has been brought in. What it is given
#: tells how many checks a stage has, and is called before that.
Begin = Callable[[Callable[[Stage], None]], Iterable[Stage]]


def run_public_checks(begin: Begin, listen: Listen) -> None:
    """Run the checks of the stages that `begin` gives, in this order.

    `begin` is called when everything else is ready, the checks collected; it may wait. Events of
    the kinds `begin`, `outcome`, `problem` and, after a stage, `checked` go to `listen`.
    """
    arguments = [
        f"--rootdir={ROOT}",
        f"--config-file={HERE / 'checks.ini'}",
        "--import-mode=importlib",
        "--capture=sys",
        "--tb=line",  # nobody reads tracebacks here, and to write one takes longer than a check
        "-q",
        *(f"-pno:{plugin}" for plugin in _LEFT_OUT),
        str(TESTS),
    ]
    if _version() < OLDEST:
        listen({"kind": "broken", "message": _too_old()})
        return
    others = _tests_taken_away()
    plugin = _Plugin(begin, listen)
    complaints = io.StringIO()
    surroundings = {name: os.environ.get(name) for name in _SURROUNDINGS}
    os.environ.update(_SURROUNDINGS)
    os.environ.pop("PYTEST_ADDOPTS", None)
    try:
        with contextlib.redirect_stdout(complaints), _stderr_into(complaints):
            pytest.main(arguments, plugins=[plugin])
    finally:
        for name, value in surroundings.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _tests_taken_away()
        sys.modules.update(others)
    if not plugin.begun:
        listen({"kind": "broken", "message": _why_not_begun(complaints.getvalue())})


@contextlib.contextmanager
def _stderr_into(file: io.StringIO) -> Iterator[None]:
    """Standard error, kept until pytest has begun; the student's own is then kept by pytest."""
    with contextlib.redirect_stderr(file):
        yield


def _version() -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", pytest.__version__)[:2])


def _too_old() -> str:
    oldest = ".".join(map(str, OLDEST))
    return (
        f"pytest {pytest.__version__} is too old\n"
        f'  what to do: python -m pip install --upgrade "pytest>={oldest}"'
    )


def _why_not_begun(text: str) -> str:
    """Why pytest gave up before any check, in a line, and what to do."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("E ").strip() for line in lines if line.startswith("E ")]
    place = next((line for line in lines if "conftest.py" in line), "")
    why = (errors or lines or ["pytest ended without a word"])[-1]
    file = f"{TESTS.name}/conftest.py"
    if place:
        return (
            f"{file} cannot be read: {_shortened(why)}\n"
            f"  what to do: take {file} from the folder you were given"
        )
    return f"pytest did not begin: {_shortened(why)}"


_SURROUNDINGS: Mapping[str, str] = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def _tests_taken_away() -> dict[str, ModuleType]:
    """Modules of tests, which are read anew by the next run: they hold the student's modules."""
    names = [name for name in sys.modules if name.partition(".")[0] == TESTS.name]
    return {name: sys.modules.pop(name) for name in names}


class _Plugin:
    """Collects, waits for the start, runs what is asked for, and tells what comes out."""

    def __init__(self, begin: Begin, listen: Listen) -> None:
        self._begin = begin
        self._listen = listen
        self._stages = {ROOT / stage.tests: stage for stage in course().stages}
        self.begun = False
        self._unread: dict[Path, tuple[pytest.Module, str]] = {}  # and why

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.begun = True
        counts = Counter(item.path for item in session.items)

        def tell_count(stage: Stage) -> None:
            count = counts[ROOT / stage.tests]
            self._listen({"kind": "expected", "stage": stage.id, "count": count})

        for stage in self._begin(tell_count):
            file = ROOT / stage.tests
            again = self._read_again(session, file)
            if not file.is_file():
                told = f"{stage.tests} is missing: take it from the folder you were given"
            elif file in self._unread:
                told = f"{stage.tests} cannot be read: {_shortened(self._unread[file][1])}"
            else:
                items = [item for item in [*session.items, *again] if item.path == file]
                for item, following in zip_longest(items, items[1:]):
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                self._listen({"kind": "checked", "stage": stage.id})
                continue
            self._listen({"kind": "problem", "stage": stage.id, "message": told})
        return True

    def _read_again(self, session: pytest.Session, file: Path) -> list[pytest.Item]:
        """The checks of a file that needs more than an empty module, now that it is filled."""
        unread, _ = self._unread.pop(file, (None, ""))
        if unread is None:
            return []
        _tests_taken_away()  # what was read in part is not to be found
        again = pytest.Module.from_parent(unread.parent, path=file)
        return [*session.genitems(again)]

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        if collection_path.is_file() and collection_path not in self._stages:
            return True
        return None

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        if report.failed and isinstance(collector, pytest.Module):
            self._unread[collector.path] = collector, report.longreprtext
        return report

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
    message = f"the code raised an exception\n  expected a result\n  found    {told(raised)}"
    return "failed", message, _with_line(place, line)


def _with_line(place: str, line: str) -> str:
    return f"{place}: {line}" if line else place


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
