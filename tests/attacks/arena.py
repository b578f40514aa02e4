"""Where attacks are tried: a course with secrets in it, a grading process, and what is looked at.

A course is set up as it would lie on a teacher's machine: an assignment with its solutions and its
secret, a gradebook, another student's work, a folder that everybody may write to. Every one of
its files holds a canary, and every attack is told where they lie; no canary may come out again.
"""

from __future__ import annotations

import csv
import ctypes
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from autograder.assignment.assignment import Assignment, load_assignment
from autograder.errors import AutograderError
from autograder.exports.grades import grades_csv
from autograder.feedback.class_page import class_page
from autograder.feedback.class_text import class_text
from autograder.feedback.full_text import full_view
from autograder.feedback.pages import student_page
from autograder.feedback.plain import file_name
from autograder.feedback.terminal import class_view
from autograder.gradebook.adjustments import Adjusted
from autograder.gradebook.class_analysis import Graded as InClass
from autograder.grading.exchange import Graded
from autograder.grading.worker import Worker
from autograder.platforms import results_json
from autograder.results.details import Details, read_details
from autograder.results.result import Result, decode_result, encode_result
from autograder.submissions.submission import Submission, Unreadable, name_of, read_submission
from tests.attacks import containers

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SUBMISSIONS = HERE / "submissions"

#: What stands in an attack for the folder of the course.
TOLD = "/tmp/attack-canary"
#: In a file, everything above this line is the honest part.
MARK = "# ---- the attack ----"
#: Files that an attack leaves behind have this in their names; what it gets hold of, in its text.
LEFT, STOLEN = "left-by-attack", "STOLEN"
#: Codes that a terminal or a reader obeys.
CODES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
#: Where anybody could leave something.
OPEN_TO_ALL = ("/tmp", "/dev/shm", "/dev/mqueue", "/var/tmp", "/run", "/")

_SMALL = {
    "load_seconds": "1.5",
    "call_seconds": "0.5",
    "check_seconds": "1.0",
    "submission_seconds": "2.5",
    "wall_factor": "6",
    "memory_mb": "256",
    "fresh_guests": "2",
    "max_files": "300",
    "max_file_mb": "2",
    "max_total_mb": "8",
    "max_notebook_mb": "4",
}
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Attack:
    """One way of trying, from the manifest.

    honest: the points of its honest part, where that is not what stands above the mark; None there.
    told: what it gains is testimony, which docs/security.md says is believed; else nothing is.
    """

    name: str
    kind: str
    tries: str
    honest: float | None = None
    told: float = 0.0
    container: str = ""

    @property
    def place(self) -> Path:
        """The file or folder that is handed in."""
        folder = SUBMISSIONS / self.name
        return folder if folder.is_dir() else SUBMISSIONS / f"{self.name}.py"


def manifest() -> tuple[Attack, ...]:
    """All attacks, in the order in which they are tried."""
    told = tomllib.loads((HERE / "manifest.toml").read_text("utf-8"))
    return tuple(Attack(**entry) for entry in told["attacks"])


@dataclass
class Course:
    """A teacher's folder, and the words that must never come out of it."""

    base: Path
    canary: str

    @property
    def assignment(self) -> Path:
        """What a worker is started with."""
        return self.base / f"course-{self.canary}" / "assignments" / "attention"

    @property
    def scratch(self) -> Path:
        """For the kit's own temporary files."""
        return self.base / "scratch"

    def told_to(self, source: bytes) -> bytes:
        """An attack's source with the place of this course in it."""
        return source.replace(TOLD.encode(), str(self.base).encode())

    def fingerprint(self) -> str:
        """Of everything in it but the kit's own temporary files."""
        digest = hashlib.sha256()
        for path in sorted(self.base.rglob("*")):
            if path == self.scratch or self.scratch in path.parents:
                continue
            digest.update(f"{path} {path.lstat().st_mode}".encode())
            if path.is_file():
                digest.update(path.read_bytes())
        return digest.hexdigest()


@contextmanager
def course() -> Iterator[Course]:
    """Set up a course, its secrets readable to everybody whom no wall stops."""
    base = Path(tempfile.mkdtemp(prefix="attacked-"))
    made = Course(base, f"canary{secrets.token_hex(8)}")
    before = {name: os.environ.get(name) for name in ("TMPDIR", "ATTACK_CANARY")}
    try:
        base.chmod(0o755)
        top = base / f"course-{made.canary}"
        for part in ("assignments/attention", "solutions/attention"):
            shutil.copytree(ROOT / part, top / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(
            ROOT / "student_template", top / "student_template", symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )  # fmt: skip
        for path in (top / "solutions").rglob("*.py"):
            path.write_text(path.read_text("utf-8") + f"\n# {made.canary}\n", "utf-8")
        settings = made.assignment / "assignment.toml"
        settings.write_text(_with_small_limits(settings.read_text("utf-8")), "utf-8")
        (made.assignment / "secret").write_text(made.canary)
        (made.assignment / "secret").chmod(0o600)
        for name in ("results/gradebook.sqlite", "class/ada/attention.py", "class/ada.ipynb"):
            path = base / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# {made.canary}\n")
        for name in ("marks", "scratch"):
            (base / name).mkdir()
            (base / name).chmod(0o777)
        (base / "marks" / "ada.json").write_text('{"score": 1}')
        (base / "marks" / "ada.json").chmod(0o666)
        os.environ.update(TMPDIR=str(made.scratch), ATTACK_CANARY=made.canary)
        yield made
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(base, ignore_errors=True)


def _with_small_limits(settings: str) -> str:
    for name, value in _SMALL.items():
        settings, count = re.subn(rf"(?m)^{name} = .*$", f"{name} = {value}", settings)
        assert count == 1, name
    return settings


@dataclass
class Found:
    """What became of one attack."""

    attack: Attack
    level: str
    honest: float = 0.0
    score: float | None = None
    status: str = ""
    breaches: list[str] = field(default_factory=list)

    @property
    def gained(self) -> bool:
        """Whether it got anything that it should not have."""
        return bool(self.breaches)


class Arena:
    """One grading process through which all attacks go, honest work between them."""

    def __init__(self, made: Course, level: str | None) -> None:
        self.course = made
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # strays come to us
        self._children = children()
        self._mounts = mounts()
        self._segments = segments()
        self._left = left_behind()
        self._whole = made.fingerprint()
        self.assignment = load_assignment(made.assignment)
        self.limits = self.assignment.limits
        self.worker = Worker(made.assignment, level)
        self.level = self.worker.isolation
        self._honest_scores: dict[bytes, float] = {}
        self._bystanders = [self._read(path) for path in sorted((HERE / "honest").iterdir())]
        self._expected = [self._bytes(work) for work in self._bystanders]
        self._turn = 0

    def _read(self, path: Path) -> Submission:
        return read_submission(path, self.limits)

    def _bytes(self, work: Submission) -> bytes:
        return encode_result(self.worker.grade(work).result)

    def handed_in(self, attack: Attack, folder: Path) -> Path:
        """The attack as a student would hand it in, aimed at this course."""
        if attack.container:
            return containers.BUILDERS[attack.container](folder)
        place = folder / attack.place.name
        if attack.place.is_dir():
            shutil.copytree(attack.place, place, symlinks=True)
        else:
            shutil.copyfile(attack.place, place)
        for path in [place] if place.is_file() else place.rglob("*"):
            if path.is_file() and not path.is_symlink():
                path.write_bytes(self.course.told_to(path.read_bytes()))
        return place

    def honest_score(self, attack: Attack) -> float:
        """What the part above the mark is worth by itself."""
        if attack.honest is not None:
            return attack.honest
        source, mark, _ = attack.place.read_bytes().partition(MARK.encode())
        assert mark, f"{attack.name} has no mark"
        code = source.partition(b"import torch")[2]
        if code not in self._honest_scores:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "honest.py"
                path.write_bytes(source)
                score = self.worker.grade(self._read(path)).result.score
            assert score is not None
            self._honest_scores[code] = score
        return self._honest_scores[code]

    def attempt(self, attack: Attack) -> Found:
        """Let one attack be graded, then an honest submission; tell what was gained."""
        found = Found(attack, self.level, self.honest_score(attack))
        with tempfile.TemporaryDirectory() as folder:
            place = self.handed_in(attack, Path(folder))
            try:
                work = self._read(place)
            except Unreadable as refused:
                found.score, found.status = 0.0, f"refused: {refused}"
                result = _refused(name_of(place), str(refused))
                self._judge_text(found, "\n".join((result.submission, str(refused))))
                found.breaches += shown(result, self.assignment)
            else:
                self._grade(found, work)
        self._look_around(found)
        return found

    def _grade(self, found: Found, work: Submission) -> None:
        try:
            graded = self.worker.grade(work)
        except AutograderError as fault:
            found.breaches.append(f"the kit failed: {fault}")
            return
        result = graded.result
        found.score = result.score
        found.status = _status(graded)
        encoded = encode_result(result)
        if decode_result(encoded) != result or result.submission != work.name:
            found.breaches.append("the result is not whole")
        if result.score is None or result.max_score != 100.0:
            found.breaches.append("there is no score")
        elif result.score > found.honest + found.attack.told:
            found.breaches.append(f"{result.score - found.honest:g} points too many")
        self._judge_text(found, encoded.decode() + graded.details.decode())
        self._judge_text(found, "\n".join(texts_of(json.loads(encoded))))
        found.breaches += shown(result, self.assignment, read_details(graded.details))

    def _judge_text(self, found: Found, text: str) -> None:
        if self.course.canary in text or STOLEN in text:
            found.breaches.append("it read what it must not read")
        if CODES.search(text):
            found.breaches.append("control codes came through")

    def _look_around(self, found: Found) -> None:
        """The next student's result, and whatever else could have changed."""
        self._turn += 1
        number = self._turn % len(self._bystanders)
        try:
            if self._bytes(self._bystanders[number]) != self._expected[number]:
                found.breaches.append("another student's result changed")
        except AutograderError as fault:
            found.breaches.append(f"another student has no result: {fault}")
        if self.course.fingerprint() != self._whole:
            found.breaches.append("it changed the course's files")
            self._whole = self.course.fingerprint()
        new = left_behind() - self._left
        if new:
            found.breaches.append(f"it left {sorted(new)[0]}")
            self._left |= new
        if mounts() != self._mounts:
            found.breaches.append("a mount is left")
        found.breaches += sorted(segments() - self._segments)

    def close(self) -> list[str]:
        """End the worker; what of it is still there."""
        self.worker.close()
        left = [f"process {pid}" for pid in sorted(children() - self._children)]
        left += [f"temporary file {path}" for path in sorted(self.course.scratch.iterdir())]
        left += [f"file {path}" for path in sorted(left_behind() - self._left)]
        left += sorted(segments() - self._segments)
        if mounts() != self._mounts:
            left.append("a mount")
        return left


def texts_of(told: object) -> Iterator[str]:
    """Every string in what JSON held."""
    if isinstance(told, str):
        yield told
    elif isinstance(told, list):
        for part in told:
            yield from texts_of(part)
    elif isinstance(told, dict):
        for name, part in told.items():
            yield name
            yield from texts_of(part)


def shown(result: Result, assignment: Assignment, details: Details | None = None) -> list[str]:
    """What goes wrong where a result is shown: page, terminal, spreadsheet, file name."""
    breaches = []
    entry = InClass(result, details or Details())
    page = student_page(result, assignment, entry.details)
    of_class = class_page([entry], assignment.stages, assignment)
    own = re.search(r"<script>(?s:.*?)</script>", of_class)  # sorts the table, and is the only one
    if own is None or "// The students' table" not in own[0]:
        breaches.append("another script is in the place of the page's own")
    else:
        page += of_class.replace(own[0], "")
    if re.search("<(script|img|iframe)", page):
        breaches.append("its markup is in a page")
    output = io.StringIO()
    Console(file=output, markup=False, width=200).print(
        full_view(Adjusted(result, result), entry.details, assignment),
        class_view([result], assignment.stages),
        class_text([entry], assignment.stages),
    )
    if CODES.search(output.getvalue()):
        breaches.append("its codes reach the terminal")
    rows = list(csv.reader(io.StringIO(grades_csv([result], assignment.stages))))
    if len(rows) != 2 or rows[1][0].startswith(("=", "+", "-", "@", "\t", "\r", "\n")):
        breaches.append("its formula is in the spreadsheet")
    try:
        told = results_json.encode(results_json.results_of(result, assignment)).decode()
    except AutograderError as fault:
        breaches.append(f"Gradescope would not take it: {fault}")
    else:
        if re.search(r"(?<!\\)<(script|img|iframe)", "\n".join(texts_of(json.loads(told)))):
            breaches.append("its markup is in Gradescope's file")
    name = file_name(result.submission)
    if "/" in name or name.startswith("..") or CODES.search(name):
        breaches.append("its name leads elsewhere")
    return breaches


def _refused(name: str, message: str) -> Result:
    """What a class's run makes of work that cannot be read."""
    return Result(1, name, "", "attention", 0.0, 100.0, (), (), status="error", message=message)


def _status(graded: Graded) -> str:
    """In a few words what its checks met, worst first."""
    statuses = {
        share.status
        for stage in graded.result.stages
        for criterion in stage.criteria
        for share in criterion.shares
    }
    order = ("killed", "timeout", "error", "failed", "blocked", "missing")
    return next((status for status in order if status in statuses), "passed")


def children() -> frozenset[int]:
    """Everything that runs below this process, strays included: they come to a subreaper."""
    found: set[int] = set()
    above = {os.getpid()}
    parents = _parents()
    while above:
        above = {pid for pid, parent in parents.items() if parent in above} - found
        found |= above
    return frozenset(found)


def _parents() -> dict[int, int]:
    parents = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            told = (path / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            continue
        if told[0] != "Z":
            parents[int(path.name)] = int(told[1])
    return parents


def mounts() -> str:
    """What is mounted where."""
    return Path("/proc/self/mountinfo").read_text("utf-8", "replace")


def segments() -> set[str]:
    """Shared memory, message queues and semaphores by key; those by name are files."""
    found: set[str] = set()
    for kind in ("shm", "msg", "sem"):
        try:
            lines = Path(f"/proc/sysvipc/{kind}").read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        found |= {f"{kind} {' '.join(line.split()[:2])} is left" for line in lines}
    return found


def left_behind() -> set[str]:
    """Files with an attack's mark in their names, where everybody may write."""
    found: set[str] = set()
    for folder in (*OPEN_TO_ALL, str(Path.home()), str(ROOT), os.environ.get("TMPDIR", "/tmp")):
        try:
            found |= {str(path) for path in Path(folder).iterdir() if LEFT in path.name}
        except OSError:
            continue
    return found
