"""Gradescope's bundle, run as the platform runs it, in a tree with the platform's paths."""

import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.assignment.assignment import Assignment, load_assignment
from autograder.errors import UsageError
from autograder.platforms.results_json import Results, check
from autograder.release.gradescope import bundle, bundle_files, pinned
from autograder.sandbox.host.ladder import lack
from autograder.sandbox.host.launch import LEVELS
from tests.conftest import ROOT
from tests.notebooks import notebook_class

SECRET = "a secret of this course alone"
# What a container like the platform's offers: no user namespaces, so no bubblewrap.
LANDLOCK = next(level for level in LEVELS if level.name == "landlock")
ISOLATION = "landlock" if lack(LANDLOCK) is None else None

STEALS = """\
import os
from pathlib import Path

import torch

found = []
for place in ("ROOT/source", "ROOT/results", "/autograder/source"):
    for folder, _, names in os.walk(place):
        found += [Path(folder, name).read_text("latin-1") for name in names]
try:
    Path("ROOT/results/results.json").write_text('{"score": 100}')
except OSError:
    pass
print(os.environ, *found)


def attention_scores(query, inputs):
    raise ValueError(repr(found) + repr(dict(os.environ)))
"""


@pytest.fixture(scope="module")
def assignment(tmp_path_factory: pytest.TempPathFactory) -> Assignment:
    """The course, with a secret and with limits that are soon met."""
    folder = notebook_class.small_course(tmp_path_factory.mktemp("course"))
    (folder / "secret").write_text(SECRET)
    (folder / "secret").chmod(0o600)
    return load_assignment(folder)


@pytest.fixture(scope="module")
def image(assignment: Assignment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The platform's tree after `setup.sh`; this environment stands for the one it makes."""
    root = tmp_path_factory.mktemp("gradescope") / "autograder"
    for part in ("source", "submission", "results"):
        (root / part).mkdir(parents=True)
    with zipfile.ZipFile(io.BytesIO(bundle(bundle_files(assignment, ISOLATION)))) as archive:
        archive.extractall(root / "source")  # loses the modes, as the platform may
    shutil.copyfile(root / "source" / "run_autograder", root / "run_autograder")
    (root / "run_autograder").chmod(0o755)
    (root / "python").symlink_to(sys.prefix)
    return root


Run = Callable[[Path | dict[str, str]], Results]


@pytest.fixture(scope="module")
def run(image: Path) -> Run:
    """Hand something in, run the autograder, read what it left."""

    def hand_in(work: Path | dict[str, str]) -> Results:
        shutil.rmtree(image / "submission")
        if isinstance(work, Path):
            shutil.copytree(work, image / "submission")
        else:
            (image / "submission").mkdir()
            for name, text in work.items():
                (image / "submission" / name).write_text(text, "utf-8")
        (image / "results" / "results.json").unlink(missing_ok=True)
        ended = subprocess.run(
            [image / "run_autograder"],
            cwd="/",
            capture_output=True,
            env={"PATH": os.environ["PATH"]},
        )
        assert ended.returncode == 0, ended.stderr
        return check((image / "results" / "results.json").read_bytes())

    return hand_in


class TestASubmission:
    def test_right_work_earns_everything_stage_by_stage(self, run: Run) -> None:
        results = run(ROOT / "solutions")
        assert results.score == 100.0
        stages = [test for test in results.tests if not test.tags]
        assert [(test.number, test.score) for test in stages] == [
            (str(number), float(stage.points))
            for number, stage in enumerate(load_assignment(ROOT).stages, 1)
        ]

    def test_a_mistake_costs_its_criterion_and_is_told(self, run: Run) -> None:
        modules = notebook_class.modules_of(wrong="causal/no-mask")
        results = run({f"{stage}.py": text for stage, text in modules.items()})
        lost = {test.tags: test.output or "" for test in results.tests if test.status == "failed"}
        assert set(lost) == {(), ("causal", "masking")}
        assert "`CausalAttention`" in lost[("causal", "masking")]
        assert results.score == 95.0

    def test_nothing_handed_in_earns_nothing_and_is_told_so(self, run: Run) -> None:
        results = run({})
        assert results.score == 0.0
        assert "no \\.py file and no notebook in it" in (results.output or "")

    def test_work_that_hangs_loses_what_hangs(self, run: Run) -> None:
        modules = notebook_class.modules_of()
        modules["causal"] = modules["causal"].split("class CausalAttention")[0]
        modules["causal"] += notebook_class.HANGS
        results = run({f"{stage}.py": text for stage, text in modules.items()})
        assert results.score is not None
        assert 70.0 <= results.score < 100.0
        assert not results.extra_data

    def test_hostile_work_reads_and_writes_nothing(self, run: Run, image: Path) -> None:
        results = run({"work.py": STEALS.replace("ROOT", str(image))})
        assert results.score == 0.0
        told = (image / "results" / "results.json").read_text("utf-8")
        for stolen in (SECRET, "BEGIN SOLUTION", "PYTHONPATH", str(image)):
            assert stolen not in told

    def test_the_course_is_closed_to_others_before_anything_is_run(
        self, run: Run, image: Path
    ) -> None:
        run({})
        for place in (image / "source", image / "results"):
            assert stat.S_IMODE(place.stat().st_mode) & 0o077 == 0


class TestWhenTheKitItselfFails:
    def test_a_judge_that_fails_leaves_a_file_that_says_so(self, run: Run, image: Path) -> None:
        checks = image / "source" / "kit" / "autograder" / "attention" / "checks" / "causal.py"
        text = checks.read_text("utf-8")
        checks.write_text("raise RuntimeError('broken')\n", "utf-8")
        try:
            results = run({"work.py": "def softmax(scores):\n    return scores\n"})
        finally:
            checks.write_text(text, "utf-8")
        assert results.extra_data == {"kit_failed": True}
        assert "no fault of yours" in (results.output or "")

    def test_settings_that_no_kit_wrote_leave_one_too(self, run: Run, image: Path) -> None:
        settings = image / "source" / "settings.json"
        text = settings.read_text("utf-8")
        settings.write_text("{}", "utf-8")
        try:
            assert run({"work.py": "x = 1\n"}).extra_data == {"kit_failed": True}
        finally:
            settings.write_text(text, "utf-8")

    def test_a_machine_that_is_too_slow_is_not_the_students_fault(
        self, run: Run, image: Path
    ) -> None:
        settings = image / "source" / "settings.json"
        text = settings.read_text("utf-8")
        settings.write_text(json.dumps(json.loads(text) | {"seconds": 0.2}), "utf-8")
        try:
            results = run({"work.py": "x = 1\n"})
        finally:
            settings.write_text(text, "utf-8")
        assert results.extra_data == {"kit_failed": True}
        assert "did not finish within 0\\.2 seconds" in (results.output or "")

    def test_a_python_that_does_not_start_leaves_one_as_well(self, run: Run, image: Path) -> None:
        (image / "python").rename(image / "gone")
        try:
            results = run({"work.py": "x = 1\n"})
        finally:
            (image / "gone").rename(image / "python")
        assert results.extra_data == {"kit_failed": True}


class TestTheBundle:
    def test_the_same_sources_give_the_same_bytes(self, assignment: Assignment) -> None:
        assert bundle(bundle_files(assignment)) == bundle(bundle_files(assignment))

    def test_the_kit_in_it_is_this_kit(self, assignment: Assignment) -> None:
        files = bundle_files(assignment)
        for path in (ROOT / "autograder").rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            assert files[f"kit/{name}"] == path.read_bytes()
        for name in ("seccomp/x86_64.bpf", "seccomp/aarch64.bpf"):
            assert f"kit/autograder/sandbox/{name}" in files
        assert not [name for name in files if "__pycache__" in name or name.endswith(".ipynb")]

    def test_the_platform_finds_its_two_scripts_and_may_run_them(
        self, assignment: Assignment
    ) -> None:
        with zipfile.ZipFile(io.BytesIO(bundle(bundle_files(assignment)))) as archive:
            modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
        assert modes["setup.sh"] & 0o777 == modes["run_autograder"] & 0o777 == 0o755
        (secret,) = [name for name in modes if name.endswith("/secret")]
        assert modes[secret] & 0o777 == 0o600

    def test_what_it_installs_is_pinned_as_the_tests_ran_with_it(
        self, assignment: Assignment
    ) -> None:
        known = {
            re.sub(r"[-_.]+", "-", line.lower())
            for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()
        }
        files = bundle_files(assignment)
        pins = files["requirements.txt"].decode().splitlines()
        assert len(pins) > 30
        for pin in pins:
            assert re.fullmatch(r"[a-z0-9-]+==[^=\s]+", pin)
            name, version = pin.split("==")
            if any(line.startswith(f"{name}==") for line in known):
                assert f"{name}=={re.sub(r'[-_.]+', '-', version)}" in known
        torch = dict(pinned("attention-autograder"))["torch"]
        assert f"torch=={torch}" in files["setup.sh"].decode()

    @pytest.mark.parametrize("name", ["setup.sh", "run_autograder"])
    def test_its_scripts_are_shell(self, assignment: Assignment, name: str) -> None:
        subprocess.run(["sh", "-n"], input=bundle_files(assignment)[name], check=True)

    def test_a_level_that_there_is_not_is_refused(self, assignment: Assignment) -> None:
        with pytest.raises(UsageError, match="no isolation level 'moat'"):
            bundle_files(assignment, "moat")
