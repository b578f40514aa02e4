"""Each limit at its edge: just under it passes, just over it is caught and told in words."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.assignment.assignment import Limits, load_assignment
from autograder.grading.exchange import Graded
from autograder.grading.worker import Worker
from autograder.sandbox.host import ladder, launch
from autograder.sandbox.host.guest_process import GuestProcess
from autograder.sandbox.host.line import CUT
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.sandbox.host.session import Session
from autograder.sandbox.host.student import (
    StudentFault,
    StudentKilled,
    StudentRaised,
    StudentTimeout,
)
from autograder.submissions.submission import SourceFile, Submission
from tests.conftest import ROOT

LIMITS = Limits(
    load_seconds=1.0,
    call_seconds=0.5,
    check_seconds=1.3,
    submission_seconds=3.0,
    wall_factor=8,
    memory_mb=96,
    threads=5,
    open_files=20,
    file_mb=1,
    output_chars=300,
    fresh_guests=3,
)
NAMES = tuple(
    NameSpec(name, "any", "function", ("what",)) for name in ("attack", "second", "third", "work")
)
WALLED = {level.name: ladder.lack(level) for level in launch.LEVELS if level.inner}
SOURCE = """
import os, tempfile, threading, time, torch

def work(what):
    end = time.process_time() + what
    while time.process_time() < end: pass
    return what

attack = second = third = work
"""
Open = Callable[..., Session]


@pytest.fixture(scope="module")
def walled(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    if WALLED[request.param]:
        pytest.skip(str(WALLED[request.param]))
    with Sandbox(LIMITS, NAMES, request.param) as made:
        made.wait_ready()
        yield made


@pytest.fixture(scope="module")
def unwalled() -> Iterator[Sandbox]:
    with Sandbox(LIMITS, NAMES, "process") as made:
        made.wait_ready()
        yield made


SESSIONS: list[Session] = []


@pytest.fixture(autouse=True)
def one_guest_at_a_time() -> Iterator[None]:
    """As when a class is graded: guests of one name space share what it may have."""
    yield
    while SESSIONS:
        SESSIONS.pop().close()


at_both_levels = pytest.mark.parametrize("walled", sorted(WALLED), indirect=True)


def opened(sandbox: Sandbox, body: str = "") -> Session:
    """A submission whose `attack` has this body, or is the work that takes so many seconds."""
    source = SOURCE
    if body:
        source += "def attack(what):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    SESSIONS.append(sandbox.open([SourceFile("work.py", "module", source.encode(), ())]))
    return SESSIONS[-1]


def ask(session: Session, what: object = None, name: str = "attack") -> object:
    return session.student("check").proxy(name)(what)


class TestTime:
    def test_a_call_has_its_seconds(self, unwalled: Sandbox) -> None:
        session = opened(unwalled)
        assert ask(session, 0.4) == 0.4
        with pytest.raises(StudentTimeout, match=r"^it ran for more than 0.5 s$"):
            ask(session, 0.6)

    def test_a_check_has_its_seconds(self, unwalled: Sandbox) -> None:
        session = opened(unwalled)
        for _ in range(3):
            ask(session, 0.4)
        told = r"^the calls of the check took more than 1.3 s in all$"
        with pytest.raises(StudentTimeout, match=told):
            ask(session, 0.4)  # it is ended in the midst
        with pytest.raises(StudentTimeout, match=told):
            ask(session, 0.0, "second")  # it is not begun
        session.begin_check("the next check")
        assert session.student("the next check").proxy("second")(0.4) == 0.4

    def test_a_submission_has_its_seconds(self, unwalled: Sandbox) -> None:
        session = opened(unwalled)
        for number in range(7):
            session.begin_check(f"check {number}")
            session.student(f"check {number}").proxy("work")(0.4)
        session.begin_check("one too many")
        told = r"^the calls of the submission took more than 3 s in all$"
        with pytest.raises(StudentTimeout, match=told):
            session.student("one too many").proxy("work")(0.4)

    def test_loading_has_its_seconds(self, unwalled: Sandbox) -> None:
        def notes(seconds: float) -> tuple[str, ...]:
            source = SOURCE + f"work({seconds})\n"
            return unwalled.open(
                [SourceFile("work.py", "module", source.encode(), ())]
            ).report.notes

        assert notes(0.7) == ()
        assert notes(1.3) == ("work.py line 10 was skipped: it used up the time for loading",)

    def test_what_neither_works_nor_sleeps_has_the_clock_on_the_wall(
        self, unwalled: Sandbox
    ) -> None:
        """Naps between little work: the work never reaches its limit, and it is no waiting."""
        napping = (
            "end = time.monotonic() + what\n"
            "while time.monotonic() < end:\n"
            "    work(0.002)\n"
            "    time.sleep(0.04)\n"
            "return what"
        )
        assert ask(opened(unwalled, napping), 1.0) == 1.0
        told = r"^it had not ended after 4 s of wall time \(0.5 s of work are its\)$"
        with pytest.raises(StudentTimeout, match=told):
            ask(opened(unwalled, napping), 60.0)

    def test_a_name_pays_two_deadlines_at_most_however_it_hangs(
        self, unwalled: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its calls hang, and when they were given up its constructor does."""
        monkeypatch.setattr(unwalled, "names", (NameSpec("Late", "any", "class", ("size",)),))
        source = SOURCE + (
            "class Late(torch.nn.Module):\n"
            "    def __init__(self, size):\n"
            "        super().__init__()\n"
            "        while size > 1: pass\n"
            "    def forward(self, what):\n"
            "        while what: pass\n"
        )
        session = unwalled.open([SourceFile("work.py", "module", source.encode(), ())])

        def late(size: int, call: bool) -> None:
            session.begin_check(f"check {session.guest_number}")
            made = session.student(f"check {session.guest_number}").proxy("Late")(size)
            if call:
                made(1)

        for seconds in ("0.5", "0.375"):
            with pytest.raises(StudentTimeout, match=f"ran for more than {seconds} s"):
                late(1, call=True)
        late(1, call=False)  # it can still be built and looked into
        with pytest.raises(StudentTimeout, match="not run again"):
            late(1, call=True)
        with pytest.raises(StudentTimeout, match=r"ran for more than 0.125 s"):
            late(2, call=False)
        for size in (1, 2):
            with pytest.raises(StudentTimeout, match="not run again"):
                late(size, call=False)
        assert session.guest_number == 3  # one for each deadline that passed, and no more

    @pytest.mark.proof
    def test_hanging_again_and_again_behind_a_slow_import_has_an_end(
        self, unwalled: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        specs = tuple(NameSpec(f"endless_{n}", "any", "function", ("what",)) for n in range(9))
        source = SOURCE + "work(0.8)\n"
        source += "".join(f"def {spec.name}(what):\n    while True: pass\n" for spec in specs)
        monkeypatch.setattr(unwalled, "names", specs)
        monkeypatch.setattr(unwalled, "limits", Limits(1.0, 0.1, submission_seconds=2.0))
        session = unwalled.open([SourceFile("work.py", "module", source.encode(), ())])
        told = set()
        for spec in specs:
            with pytest.raises(StudentTimeout) as caught:
                ask(session, 1, spec.name)
            told.add(str(caught.value))
        assert session.guest_number < 5
        assert told == {
            "it ran for more than 0.1 s",
            "it hung so often that loading it again took more than 2 s in all",
        }


def counted(begun: list[int], guest: Callable[[], GuestProcess]) -> GuestProcess:
    """A fresh guest, counted."""
    begun.append(1)
    return guest()


class TestFreshGuests:
    def test_as_many_as_the_course_allows_are_begun_and_no_more(
        self, unwalled: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun: list[int] = []
        guest = unwalled.guest
        monkeypatch.setattr(unwalled, "guest", lambda: counted(begun, guest))
        session = opened(unwalled, "if what: os._exit(3)\nreturn 'here'")
        for _ in range(LIMITS.fresh_guests):
            with pytest.raises(StudentKilled, match="ended its process with code 3"):
                ask(session, 1)
        assert ask(session, 0) == "here"
        with pytest.raises(StudentKilled):
            ask(session, 1)
        with pytest.raises(StudentKilled):
            ask(session, 0)
        assert len(begun) == 1 + LIMITS.fresh_guests

    def test_what_cannot_be_put_in_its_place_is_tried_once(
        self, unwalled: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = opened(unwalled, "return what\nimport sys")
        begun: list[int] = []
        guest = unwalled.guest
        monkeypatch.setattr(unwalled, "guest", lambda: counted(begun, guest))
        session.substitute("raise ValueError\ndef attack(what):\n    return 1\n")
        for _ in range(3):
            with pytest.raises(StudentRaised, match="ValueError"):
                ask(session, 1)
        assert len(begun) == 1
        session.restart()
        assert ask(session, 1) == 1


@at_both_levels
class TestMemory:
    @pytest.mark.parametrize(
        "take",
        [
            "torch.empty(what << 20, dtype=torch.uint8)",
            "bytearray(what << 20)",
            "__import__('mmap').mmap(-1, what << 20)",
        ],
        ids=["by torch", "by Python", "shared"],
    )
    def test_a_submission_has_its_megabytes(self, walled: Sandbox, take: str) -> None:
        assert ask(opened(walled, f"{take}\nreturn 'enough'"), 80) == "enough"
        with pytest.raises(StudentRaised) as caught:
            ask(opened(walled, take), 112)
        assert str(caught.value).endswith("; a submission may use 96 MB of memory")


@at_both_levels
class TestThreads:
    HELD = (
        "over, begun = threading.Event(), 0\n"
        "try:\n"
        "    for _ in range(what):\n"
        "        {begin}\n"
        "        begun += 1\n"
        "finally:\n"
        "    over.set()\n"
        "return begun"
    )

    @pytest.mark.parametrize(
        "begin",
        [
            "threading.Thread(target=over.wait, daemon=True).start()",
            "import _thread; _thread.start_new_thread(over.wait, ())",
        ],
    )
    def test_so_many_run_at_a_time(self, walled: Sandbox, begin: str) -> None:
        session = opened(walled, self.HELD.format(begin=begin))
        assert ask(session, LIMITS.threads) == LIMITS.threads
        with pytest.raises(StudentRaised) as caught:
            ask(opened(walled, self.HELD.format(begin=begin)), LIMITS.threads + 1)
        assert str(caught.value).endswith("; a submission may run 5 threads besides the first")

    def test_those_that_have_ended_do_not_count(self, walled: Sandbox) -> None:
        body = (
            "for _ in range(what):\n"
            "    thread = threading.Thread(target=int)\n"
            "    thread.start(); thread.join()\n"
            "return what"
        )
        assert ask(opened(walled, body), 50) == 50

    def test_past_python_the_system_bounds_them(self, walled: Sandbox) -> None:
        """Exactly, where each guest is a user of its own; by what memory they take elsewhere."""
        body = (
            "import ctypes\n"
            "libc, begun = ctypes.CDLL(None), 0\n"
            "handle, wait = ctypes.c_ulong(), ctypes.cast(libc.pause, ctypes.c_void_p)\n"
            "while begun < 5000 and not libc.pthread_create(\n"
            "    ctypes.byref(handle), None, wait, None):\n"
            "    begun += 1\n"
            "return begun"
        )
        begun = ask(opened(walled, body))
        assert isinstance(begun, int)
        if os.geteuid() == 0 and walled.level == "landlock":
            assert begun == LIMITS.threads
        else:
            assert LIMITS.threads <= begun < 50  # 8 MB each of its 96


@at_both_levels
class TestProcesses:
    @pytest.mark.parametrize("begin", ["os.fork()", "__import__('subprocess').run(['true'])"])
    def test_none_can_be_started(self, walled: Sandbox, begin: str) -> None:
        with pytest.raises(StudentRaised, match="may not open files, start processes or use the"):
            ask(opened(walled, begin))


@at_both_levels
class TestFiles:
    def test_so_many_are_open_at_a_time(self, walled: Sandbox) -> None:
        """Four of them are the kit's: the line, and three that lead nowhere."""
        body = "kept = [open('/dev/null') for _ in range(what)]\nreturn len(kept)"
        assert ask(opened(walled, body), LIMITS.open_files - 4) == LIMITS.open_files - 4
        with pytest.raises(StudentRaised) as caught:
            ask(opened(walled, body), LIMITS.open_files - 3)
        assert str(caught.value).endswith(
            "; a submission may have 20 files open, the kit's four too"
        )

    def test_none_can_be_written(self, walled: Sandbox) -> None:
        for place in ("/tmp/written", "/dev/shm/written", "written"):
            with pytest.raises(StudentRaised, match=r"PermissionError|OSError|FileNotFoundError"):
                ask(opened(walled, f"open({place!r}, 'w').write('x')"))


def test_where_a_file_can_be_written_it_has_its_megabyte(unwalled: Sandbox, tmp_path: Path) -> None:
    """Only without a wall can any be."""
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents:
        if folder.owner() == tmp_path.owner() and folder != Path(folder.anchor):
            folder.chmod(folder.stat().st_mode | 0o011)
    body = (
        f"with open({str(tmp_path)!r} + '/' + str(what), 'wb', buffering=0) as file:\n"
        "    file.write(bytes(what))\n"
        "    if what > 1 << 20: file.write(b'x')\n"
        "return what"
    )
    assert ask(opened(unwalled, body), 1 << 20) == 1 << 20
    with pytest.raises(StudentRaised) as caught:
        ask(opened(unwalled, body), (1 << 20) + 1)
    assert "File too large" in str(caught.value)
    assert str(caught.value).endswith("; a file may be no larger than 1 MB")
    assert {path.stat().st_size for path in tmp_path.iterdir()} == {1 << 20}


@at_both_levels
class TestOutput:
    def test_so_many_characters_are_kept(self, walled: Sandbox) -> None:
        session = opened(walled, "print('x' * what, end='')")
        ask(session, 200)
        ask(session, 100)
        assert session.output == "x" * 300
        ask(session, 1)
        assert session.output == "x" * 300 + CUT

    def test_gigabytes_cost_time_and_nothing_else(self, walled: Sandbox) -> None:
        session = opened(
            walled, "while True:\n    print('x' * (1 << 20)); os.write(1, b'x' * 65536)"
        )
        with pytest.raises(StudentTimeout):
            ask(session)
        assert len(session.output) <= 300 + len(CUT)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """Work that meets a limit in each of its functions, by the worker that grades a class."""
    folder = tmp_path_factory.mktemp("assignments") / "attention"
    shutil.copytree(ROOT / "assignments" / "attention", folder)
    table = (folder / "assignment.toml").read_text("utf-8")
    for before, after in {
        "call_seconds = 2.0": "call_seconds = 0.5",
        "memory_mb = 512": "memory_mb = 128",
        "threads = 8": "threads = 3",
        "output_chars = 500": "output_chars = 50",
        '"../../': f'"{ROOT.as_posix()}/',
    }.items():
        assert before in table
        table = table.replace(before, after)
    (folder / "assignment.toml").write_text(table, "utf-8")
    source = (
        "import os, threading, time, torch\n"
        "print('p' * 60)\n"
        "def attention_scores(query, inputs):\n    while True: pass\n"
        "def softmax(scores):\n    return torch.zeros(10**9)\n"
        "def context_vector(query, inputs):\n"
        "    for _ in range(4):\n"
        "        threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"
        "def attention_weights(inputs):\n"
        "    return [open('/dev/null') for _ in range(64)]\n"
        "def context_vectors(inputs):\n    os._exit(7)\n"
    )
    files = (SourceFile("attention.py", "module", source.encode(), ()),)
    with Worker(load_assignment(folder).folder) as worker:
        if worker.isolation == "process":
            pytest.skip("no level with a wall stands here")
        return worker.grade(Submission("greedy", files, "greedy"), ("simplified",))


class TestWhatAStudentReads:
    @pytest.mark.parametrize(
        ("name", "status", "words"),
        [
            ("attention_scores", "timeout", "ran for more than 0.5 s"),
            ("softmax", "error", "may use 128 MB of memory"),
            ("context_vector", "error", "may run 3 threads"),
            ("attention_weights", "error", "may have 64 files open"),
            ("context_vectors", "killed", "ended its process with code 7"),
        ],
    )
    def test_every_limit_has_a_status_and_a_sentence(
        self, graded: Graded, name: str, status: str, words: str
    ) -> None:
        criteria = [each for stage in graded.result.stages for each in stage.criteria]
        shares = [share for each in criteria for share in each.shares if share.name == name]
        assert status in {share.status for share in shares} <= {status, "blocked"}
        assert any(words in each.message for each in criteria)

    def test_what_was_printed_is_kept_for_the_teacher(self, graded: Graded) -> None:
        assert json.loads(graded.details)["output"] == "p" * 50 + CUT


def test_a_limit_that_was_met_is_a_students_fault() -> None:
    assert issubclass(StudentTimeout, StudentFault)
