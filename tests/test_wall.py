"""What a guest cannot do, tried from inside at every level with a wall that this machine has."""

import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from autograder.assignment.assignment import Limits
from autograder.errors import MissingRequirement, UsageError
from autograder.sandbox.guest import kernel, landlock
from autograder.sandbox.host import bubblewrap, guest_files, ladder, launch, wall
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.sandbox.host.session import Session
from autograder.sandbox.host.student import (
    StudentFault,
    StudentKilled,
    StudentRaised,
    StudentTimeout,
)
from autograder.submissions.submission import SourceFile

LIMITS = Limits(load_seconds=2.0, call_seconds=1.0, check_seconds=4.0, memory_mb=256)
NAMES = (NameSpec("attack", "any", "function", ("what",)),)
LACKING = {level.name: ladder.lack(level) for level in launch.LEVELS if level.inner}


@pytest.fixture(scope="module", params=sorted(LACKING))
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    if LACKING[request.param]:
        pytest.skip(str(LACKING[request.param]))
    with Sandbox(LIMITS, NAMES, request.param) as made:
        made.wait_ready()
        yield made


@pytest.fixture
def secret() -> Iterator[Path]:
    """A file that everybody on this machine may read, but no guest."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        path = Path(folder) / "solutions.py"
        path.write_text("the solution")
        path.chmod(0o666)
        yield path


def open_session(sandbox: Sandbox, body: str) -> Session:
    source = "import os, sys, torch\ndef attack(what):\n"
    source += "".join(f"    {line}\n" for line in body.splitlines())
    return sandbox.open([SourceFile("attack.py", "module", source.encode(), ())])


def attack(sandbox: Sandbox, body: str, what: object = None) -> object:
    """What an attack returns or raises, in a guest of its own."""
    session = open_session(sandbox, body)
    try:
        return session.student("check").attack(what)
    finally:
        session.close()


class TestReading:
    def test_a_file_outside_cannot_be_read(self, sandbox: Sandbox, secret: Path) -> None:
        with pytest.raises(StudentRaised, match=r"PermissionError|FileNotFoundError"):
            attack(sandbox, "return open(what).read()", str(secret))

    @pytest.mark.parametrize(
        "module", ["autograder", "autograder.diagnosis.chain", "solutions", "pytest"]
    )
    def test_the_kit_cannot_be_imported(self, sandbox: Sandbox, module: str) -> None:
        with pytest.raises(StudentFault):
            attack(sandbox, "import importlib\nreturn repr(importlib.import_module(what))", module)

    def test_walking_the_file_system_finds_nothing_of_the_kit(self, sandbox: Sandbox) -> None:
        found = attack(
            sandbox,
            "found = []\n"
            "for top in ('/kit', '/root', '/home', '/work', '/tmp', '/etc', '/proc'):\n"
            "    for folder, folders, files in os.walk(top):\n"
            "        found += [n for n in files if n in ('judge.py', 'chain.py', 'passwd')]\n"
            "        folders[:] = folders[:50] if len(found) < 5 else []\n"
            "    if len(found) > 5: break\n"
            "readable = []\n"
            "for name in ('/etc/passwd', '/proc/1/environ', '/proc/self/maps', '/etc/hosts'):\n"
            "    try: readable.append(open(name).read()[:9])\n"
            "    except OSError: pass\n"
            "return [found, readable]",
        )
        assert found == [[], []]

    def test_the_environment_holds_no_secret(self, sandbox: Sandbox) -> None:
        names = attack(sandbox, "return sorted(os.environ)")
        assert isinstance(names, list)
        assert not set(names) - set(guest_files.environment(guest_files.interpreter())) - {"PWD"}

    def test_no_descriptor_but_the_line_is_open(self, sandbox: Sandbox) -> None:
        found = attack(
            sandbox,
            "found = []\n"
            "for number in range(3, 60):\n"
            "    try: os.fstat(number); found.append(number)\n"
            "    except OSError: pass\n"
            "return len(found)",
        )
        assert found == 1


class TestWriting:
    @pytest.mark.parametrize("folder", ["/tmp", "/dev/shm", "/var/tmp", "/", "/kit", "/run"])
    def test_nothing_can_be_written(self, sandbox: Sandbox, folder: str) -> None:
        with pytest.raises(StudentRaised):
            attack(sandbox, "open(what + '/left-over', 'w').write('x')", folder)

    @pytest.mark.parametrize(
        "statement",
        [
            "os.chmod(what, 0o777)",
            "os.unlink(what)",
            "os.rename(what, what + 'x')",
            "os.truncate(what, 0)",
            "os.symlink('/', what + 'x')",
            "os.mkdir(what + 'x')",
            "os.setxattr(what, 'user.a', b'x')",
            "os.utime(what)",
            "os.memfd_create('x')",
            "os.mkfifo(what + 'x')",
        ],
    )
    def test_nothing_outside_can_be_changed(
        self, sandbox: Sandbox, secret: Path, statement: str
    ) -> None:
        with pytest.raises(StudentRaised):
            attack(sandbox, statement, str(secret))
        assert secret.read_text() == "the solution"
        assert [path.name for path in secret.parent.iterdir()] == ["solutions.py"]


class TestReachingOut:
    @pytest.mark.parametrize(
        "statement",
        [
            "import socket; socket.socket()",
            "import socket; socket.socket(socket.AF_UNIX)",
            "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
            "import socket; socket.socket(40)",
            "import socket; socket.create_connection(('127.0.0.1', 1))",
            "os.fork()",
            "os.posix_spawn('/usr/bin/env', ['env'], {})",
            "os.execv('/usr/bin/env', ['env'])",
            "import subprocess; subprocess.run(['env'])",
            "os.system('true') and 1/0",
            "os.kill(os.getppid(), 9)",
            "os.kill(-1, 9)",
            "import signal; signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 9)",
            "import multiprocessing; multiprocessing.Process(target=print).start()",
            "import resource; resource.setrlimit(resource.RLIMIT_CPU, (10**6, 10**6))",
            "os.setuid(0) if os.getuid() else os.setuid(1)",
            "os.setpriority(os.PRIO_PROCESS, 0, 19)",
            "os.unshare(0x10000000) if hasattr(os, 'unshare') else 1/0",
        ],
    )
    def test_nothing_can_be_started_signalled_or_spoken_to(
        self, sandbox: Sandbox, statement: str
    ) -> None:
        session = open_session(sandbox, statement)
        with pytest.raises(StudentRaised):
            session.student("check").attack(None)
        assert sandbox.alive()
        session.close()

    @pytest.mark.parametrize(
        ("name", "number", "arguments"),
        [
            ("ptrace", 101, (16, 1, 0, 0)),
            ("mount", 165, (0, 0, 0, 0)),
            ("keyctl", 250, (0, 0)),
            ("bpf", 321, (0, 0, 0)),
            ("userfaultfd", 323, (0,)),
            ("io_uring_setup", 425, (1, 0)),
            ("process_vm_readv", 310, (1, 0, 0, 0, 0, 0)),
            ("clone", 56, (17, 0, 0, 0, 0)),
            ("vfork", 58, ()),
            ("setns", 308, (0, 0)),
            ("open_by_handle_at", 304, (0, 0, 0)),
            ("prctl: dumpable", 157, (4, 1, 0, 0, 0)),
            ("fcntl: owner", 72, (0, 8, 1)),
            ("a number that is none", 9999, ()),
        ],
    )
    @pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of another processor")
    def test_a_system_call_by_number_is_refused(
        self, sandbox: Sandbox, name: str, number: int, arguments: tuple[int, ...]
    ) -> None:
        body = (
            "import ctypes\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            "result = libc.syscall(*[ctypes.c_long(number) for number in what])\n"
            "return [result, ctypes.get_errno()]"
        )
        assert attack(sandbox, body, [number, *arguments]) == [-1, 1]


class TestUsingUp:
    def test_threads_have_an_end(self, sandbox: Sandbox) -> None:
        body = (
            "import threading\n"
            "threads = 0\n"
            "for number in range(20_000):\n"
            "    thread = threading.Thread(target=threading.Event().wait, daemon=True)\n"
            "    try: thread.start()\n"
            "    except RuntimeError: break\n"
            "    threads += 1\n"
            "return threads"
        )
        threads = attack(sandbox, body)
        assert isinstance(threads, int)
        assert threads < 3000

    def test_memory_has_an_end(self, sandbox: Sandbox) -> None:
        with pytest.raises(StudentRaised, match=r"MemoryError|memory"):
            attack(sandbox, "kept = []\nwhile True: kept.append(bytearray(1 << 24))")

    def test_shared_memory_has_an_end(self, sandbox: Sandbox) -> None:
        with pytest.raises(StudentRaised):
            attack(sandbox, "import mmap\nreturn len(mmap.mmap(-1, 1 << 31))")

    def test_open_files_have_an_end(self, sandbox: Sandbox) -> None:
        with pytest.raises(StudentRaised, match="Too many open files"):
            attack(sandbox, "kept = [os.open('/dev/null', 0) for _ in range(10_000)]")

    def test_output_without_end_costs_time_alone(self, sandbox: Sandbox) -> None:
        with pytest.raises(StudentTimeout):
            attack(sandbox, "while True: os.write(1, b'x' * 65536); print('x' * 65536)")

    def test_recursion_without_end_is_an_exception(self, sandbox: Sandbox) -> None:
        with pytest.raises(StudentRaised, match="RecursionError"):
            attack(sandbox, "return attack(what)")

    def test_a_guest_cannot_stop_itself(self, sandbox: Sandbox) -> None:
        with pytest.raises(StudentRaised, match="PermissionError"):
            attack(sandbox, "import signal\nos.kill(os.getpid(), signal.SIGSTOP)")

    def test_ignoring_signals_does_not_help(self, sandbox: Sandbox) -> None:
        body = (
            "import signal\n"
            "for number in range(1, 32):\n"
            "    try: signal.signal(number, signal.SIG_IGN)\n"
            "    except (OSError, ValueError): pass\n"
            "while True:\n"
            "    try:\n"
            "        while True: pass\n"
            "    except BaseException: pass"
        )
        with pytest.raises(StudentTimeout):
            attack(sandbox, body)

    def test_a_thread_that_stays_behind_ends_with_its_guest(self, sandbox: Sandbox) -> None:
        body = (
            "import threading\n"
            "def spin():\n"
            "    while True: pass\n"
            "threading.Thread(target=spin, daemon=True).start()\n"
            "return os.getpid()"
        )
        assert attack(sandbox, body)
        assert torch.equal(attack(sandbox, "return what + 1", torch.ones(1)), torch.tensor([2.0]))

    def test_torch_still_does_all_that_attention_needs(self, sandbox: Sandbox) -> None:
        body = (
            "from torch import nn\n"
            "layer = nn.MultiheadAttention(8, 2, batch_first=True)\n"
            "output, weights = layer(what, what, what)\n"
            "with torch.enable_grad(): layer(what, what, what)[0].sum().backward()\n"
            "torch.set_num_threads(2)\n"
            "big = torch.randn(600, 600) @ torch.randn(600, 600)\n"
            "torch.randn(300, 300).sort(); torch.linalg.svd(torch.randn(9, 9))\n"
            "torch.fft.fft(big)\n"
            "import random, math, dataclasses, typing, json, numpy, time, collections\n"
            "numpy.random.rand(3); time.sleep(0.001); str(big)\n"
            "return layer.in_proj_weight.grad.shape[0]"
        )
        assert attack(sandbox, body, torch.randn(2, 3, 8)) == 24


class TestChoosing:
    def test_the_probe_finds_every_breach_without_a_wall(self) -> None:
        process = next(level for level in launch.LEVELS if level.name == "process")
        unwalled = launch.Level("process", bubblewrap=False, inner=False)
        assert process == unwalled
        zygote = launch.Zygote(process)
        try:
            zygote.wait_ready()
            pretending = launch.Level("landlock", bubblewrap=False, inner=True)
            zygote.level, zygote.walls = pretending, ("landlock", "seccomp")
            assert "a guest could" in str(wall.breach(zygote, LIMITS))
        finally:
            zygote.close()

    def test_a_level_that_is_none_is_wrong_use(self) -> None:
        with pytest.raises(UsageError, match="bubblewrap, landlock, process"):
            ladder.start("docker")

    def test_a_wished_level_that_is_not_there_tells_what_is_missing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bubblewrap, "binary", lambda: None)
        with pytest.raises(MissingRequirement, match="apt install bubblewrap"):
            ladder.start("bubblewrap")
        monkeypatch.setattr(landlock, "version", lambda: 0)
        with pytest.raises(MissingRequirement, match="no Landlock"):
            ladder.start("landlock")

    def test_without_bubblewrap_the_next_level_is_taken(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bubblewrap, "fault", lambda path: "setting up uid map: refused")
        zygote = ladder.start(None)
        try:
            assert zygote.level.name == ("process" if LACKING["landlock"] else "landlock")
        finally:
            zygote.close()

    def test_a_zygote_that_does_not_start_is_told_by_its_last_words(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            guest_files, "command", lambda python, room: [str(python.binary), "-c", "no such thing"]
        )
        with pytest.raises(MissingRequirement, match="SyntaxError"):
            wall.choose(ladder.start("process"), "process", LIMITS)

    def test_nothing_of_the_kit_but_the_guests_own_modules_is_in_the_room(self) -> None:
        own = [piece.place for piece in guest_files.modules()]
        assert all(place.startswith("room/") for place in own)
        assert not {"room/session.py", "room/student.py", "room/wall.py"} & set(own)
        kit = guest_files.HERE.parent.parent
        outside = [piece.source for piece in guest_files.packages()]
        assert not [path for path in outside if kit.is_relative_to(path)]


ARCHITECTURES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
NUMBERS = {
    "x86_64": {"read": 0, "mmap": 9, "openat": 257, "socket": 41, "clone": 56, "clone3": 435}
    | {"execve": 59, "kill": 62, "tgkill": 234, "prlimit64": 302, "sendto": 44, "ptrace": 101}
    | {"memfd_create": 319, "fchmodat": 268, "io_uring_setup": 425, "exit_group": 231},
    "aarch64": {"read": 63, "mmap": 222, "openat": 56, "socket": 198, "clone": 220}
    | {"clone3": 435, "execve": 221, "kill": 129, "tgkill": 131, "prlimit64": 261}
    | {"sendto": 206, "ptrace": 117, "memfd_create": 279, "fchmodat": 53}
    | {"io_uring_setup": 425, "exit_group": 94},
}


class TestPrograms:
    """The seccomp programs, run by a small interpreter of what the kernel runs."""

    ALLOW, EPERM, ENOSYS, KILL = 0x7FFF_0000, 0x0005_0001, 0x0005_0026, 0x8000_0000

    def run(self, machine: str, name: str, *arguments: int, architecture: int = 0) -> int:
        program = (guest_files.HERE / "seccomp" / f"{machine}.bpf").read_bytes()
        steps = list(struct.iter_unpack("<HBBI", program))
        padded = [*arguments, *[0] * (6 - len(arguments))]
        number = NUMBERS[machine][name]
        known = architecture or ARCHITECTURES[machine]
        data = struct.pack("<IIQ6Q", number, known, 0, *padded)
        accumulator, place = 0, 0
        while True:
            code, yes, no, value = steps[place]
            place += 1
            if code == 0x20:
                accumulator = struct.unpack_from("<I", data, value)[0]
            elif code == 0x06:
                return int(value)
            elif code == 0x05:
                place += value
            elif code == 0x54:
                accumulator &= value
            else:
                holds = {
                    0x15: accumulator == value,
                    0x25: accumulator > value,
                    0x35: accumulator >= value,
                    0x45: bool(accumulator & value),
                }[code]
                place += yes if holds else no

    @pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
    def test_what_is_needed_is_allowed(self, machine: str) -> None:
        for name in ("read", "mmap", "openat", "exit_group"):
            assert self.run(machine, name) == self.ALLOW
        assert self.run(machine, "clone", 0x003D_0F00) == self.ALLOW  # a thread
        assert self.run(machine, "tgkill", kernel.OWN_PID, 7, 6) == self.ALLOW
        assert self.run(machine, "prlimit64", 0, 7, 0, 1) == self.ALLOW
        assert self.run(machine, "sendto", 3, 1, 1) == self.ALLOW

    @pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
    def test_what_would_be_a_breach_is_refused(self, machine: str) -> None:
        for name in ("socket", "execve", "kill", "ptrace", "memfd_create", "fchmodat"):
            assert self.run(machine, name) == self.EPERM
        assert self.run(machine, "io_uring_setup") == self.EPERM
        assert self.run(machine, "clone", 17) == self.EPERM  # a process
        assert self.run(machine, "clone3", 1) == self.ENOSYS
        assert self.run(machine, "tgkill", kernel.OWN_PID, 7, 9) == self.EPERM
        assert self.run(machine, "tgkill", 1, 1, 6) == self.EPERM
        assert self.run(machine, "prlimit64", 0, 7, 1, 0) == self.EPERM
        assert self.run(machine, "sendto", 3, 1, 1, 0, 99, 16) == self.EPERM

    @pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
    def test_another_processors_calls_end_the_guest(self, machine: str) -> None:
        assert self.run(machine, "read", architecture=0x4000_0003) == self.KILL

    @pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
    def test_the_programs_are_those_that_the_generator_writes(self, machine: str) -> None:
        pytest.importorskip("pyseccomp", reason="pyseccomp and libseccomp write the programs")
        from autograder.sandbox.seccomp import generate

        kept = generate.VERSION_FILE.read_text("utf-8").strip()
        if generate.version() != kept:
            pytest.skip(f"another libseccomp ({generate.version()}) than wrote them ({kept})")
        path = guest_files.HERE / "seccomp" / f"{machine}.bpf"
        assert generate.program(machine) == path.read_bytes()


class TestOuterWall:
    @pytest.mark.skipif(bool(LACKING["bubblewrap"]), reason=str(LACKING["bubblewrap"]))
    def test_the_command_line_shows_no_process_list_and_no_repository(self) -> None:
        found = bubblewrap.binary()
        assert found is not None
        pieces = guest_files.packages() + guest_files.modules()
        line = bubblewrap.line(found, guest_files.interpreter(), pieces)
        assert "--proc" not in line
        assert "--bind" not in line
        kit = guest_files.HERE.parent
        binds = [line[i + 1] for i, word in enumerate(line) if word == "--ro-bind"]
        assert not [path for path in binds if kit.is_relative_to(path)]

    def test_the_zygote_ends_with_the_judge(self) -> None:
        script = (
            "from autograder.sandbox.host import launch\n"
            "zygote = launch.Zygote(launch.LEVELS[2])\n"
            "zygote.wait_ready()\n"
            "print(zygote._process.pid, flush=True)\n"
            "input()\n"
        )
        here, there = socket.socketpair()
        judge = subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=there.fileno(),
            stdout=subprocess.PIPE,
            cwd=guest_files.HERE.parent.parent,
        )
        there.close()
        assert judge.stdout is not None
        zygote = os.pidfd_open(int(judge.stdout.readline()))
        judge.kill()
        judge.wait()
        poller = select.poll()
        poller.register(zygote, select.POLLIN)
        assert poller.poll(20_000)
        os.close(zygote)
        here.close()
        judge.stdout.close()


def test_killed_is_no_word_for_a_refused_call(sandbox: Sandbox) -> None:
    session = open_session(sandbox, "import socket\nsocket.socket()")
    with pytest.raises(StudentFault) as caught:
        session.student("check").attack(None)
    assert not isinstance(caught.value, StudentKilled)
    session.close()
