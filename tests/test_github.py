"""The workflows for GitHub: they are well formed, and their steps do what they say."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from autograder.assignment.assignment import load_assignment
from autograder.release.template import build_template
from tests.conftest import ROOT

STUDENT = ROOT / "student_template" / ".github" / "workflows" / "public-checks.yml"
TEACHER = ROOT / "assignments" / "attention" / "github" / "grade-class.yml"
SUMMARY = ROOT / "student_template" / ".github" / "summary.py"
BIN = Path(sys.executable).parent


def steps(workflow: Path) -> list[dict[str, Any]]:
    (job,) = yaml.safe_load(workflow.read_text("utf-8"))["jobs"].values()
    found: list[dict[str, Any]] = job["steps"]
    return found


def script(workflow: Path, name: str) -> str:
    """What a step runs."""
    return str(next(step["run"] for step in steps(workflow) if step.get("name") == name))


def validated(workflow: Path) -> subprocess.CompletedProcess[str]:
    """Compare with the schema that `check-jsonschema` carries; nothing is fetched."""
    command = ("check-jsonschema", "--builtin-schema", "vendor.github-workflows", str(workflow))
    return subprocess.run(
        [str(BIN / command[0]), *command[1:]], capture_output=True, text=True, check=False
    )


def bash(text: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub does."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


class TestTheSchema:
    @pytest.mark.parametrize("workflow", [STUDENT, TEACHER], ids=["students", "teachers"])
    def test_both_workflows_fit_it(self, workflow: Path) -> None:
        found = validated(workflow)
        assert found.returncode == 0, found.stdout

    def test_a_mistake_would_be_found(self, tmp_path: Path) -> None:
        broken = tmp_path / "broken.yml"
        broken.write_text(STUDENT.read_text("utf-8").replace("runs-on:", "runs-at:"))
        assert validated(broken).returncode == 1


class TestWhatTheyMayDo:
    @pytest.mark.parametrize("workflow", [STUDENT, TEACHER], ids=["students", "teachers"])
    def test_they_read_and_no_more_and_leave_no_token_behind(self, workflow: Path) -> None:
        contents = yaml.safe_load(workflow.read_text("utf-8"))
        assert contents["permissions"] == {"contents": "read"}
        (checkout,) = [each for each in steps(workflow) if "checkout" in each.get("uses", "")]
        assert checkout["with"]["persist-credentials"] is False

    @pytest.mark.parametrize("workflow", [STUDENT, TEACHER], ids=["students", "teachers"])
    def test_no_input_is_pasted_into_a_script(self, workflow: Path) -> None:
        scripts = [each["run"] for each in steps(workflow) if "run" in each]
        assert scripts
        assert [each for each in scripts if "${{" in each] == []

    def test_the_token_is_known_to_no_step_that_runs_students_code(self) -> None:
        knowing = [each["name"] for each in steps(TEACHER) if "GH_TOKEN" in each.get("env", {})]
        assert knowing == ["Clone what was handed in"]


class TestTheStudentsSummary:
    def run(self, folder: Path) -> str:
        """The summary of the public checks in a folder, both steps as the workflow has them."""
        path = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
        clean = {name: "" for name in os.environ if name.startswith("PYTEST")}
        bash(script(STUDENT, "Run the public checks"), folder, **path, **clean)
        page = folder / "summary.md"
        told = bash(
            script(STUDENT, "Write the summary"), folder, GITHUB_STEP_SUMMARY=str(page), **path
        )
        assert told.returncode == 0, told.stderr
        return page.read_text("utf-8")

    def test_it_has_a_line_a_stage_and_the_first_thing_to_do(self, tmp_path: Path) -> None:
        assignment = load_assignment(ROOT / "assignments" / "attention")
        build_template(assignment, tmp_path)
        shutil.copy(assignment.solutions / "simplified.py", tmp_path / "attention")
        page = self.run(tmp_path)
        assert "| ✅ 1 simplified | 24 of 24 |  |" in page
        assert "| ⬜ 2 trainable | 0 of" in page
        assert "<pre>causal_mask: not written yet (stage 3, causal)</pre>" in page
        assert "The score comes from hidden ones" in page

    def test_what_code_prints_is_shown_and_not_obeyed(self, tmp_path: Path) -> None:
        (tmp_path / ".github").mkdir()
        shutil.copy(SUMMARY, tmp_path / ".github")
        (tmp_path / "test_1_x.py").write_text(
            "def test_a():\n    raise ValueError('</pre><script>')\ndef test_b():\n    pass\n"
        )
        page = self.run(tmp_path)
        assert "| 🟨 1 x | 1 of 2 | `a` |" in page
        assert "&lt;script&gt;" in page
        assert "<script>" not in page

    def test_code_that_cannot_be_imported_is_told(self, tmp_path: Path) -> None:
        (tmp_path / ".github").mkdir()
        shutil.copy(SUMMARY, tmp_path / ".github")
        (tmp_path / "test_1_x.py").write_text("import nothing_like_this\n")
        assert "nothing_like_this" in self.run(tmp_path)

    def test_without_a_report_it_says_so(self, tmp_path: Path) -> None:
        (tmp_path / "report.xml").write_text("<testsu")
        told = subprocess.run(
            [sys.executable, str(SUMMARY), str(tmp_path / "report.xml")],
            capture_output=True,
            text=True,
            check=True,
        )
        assert "The checks did not run" in told.stdout


class TestTheTeachersSteps:
    """The steps that need no network, in a folder like the teacher's repository."""

    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        for name in ("hw1-ada-s", "hw1-rosa", "hw2-ada-s"):
            (tmp_path / "hub" / name / ".git").mkdir(parents=True)
            source = "rosa.py" if name == "hw1-rosa" else "ben.py"
            shutil.copy(ROOT / "examples" / "submissions" / source, tmp_path / "hub" / name)
        place = tmp_path / "teacher"
        (place / ".venv" / "bin").mkdir(parents=True)
        (place / ".venv" / "bin" / "autograder").symlink_to(BIN / "autograder")
        (place / "roster.csv").write_text("student,github\na.sample,ada-s\nr.sample,rosa\nz,zed\n")
        # What the command line of GitHub answers, without GitHub.
        program = tmp_path / "bin" / "gh"
        program.parent.mkdir()
        program.write_text(
            f"#!/bin/sh\ncase $2 in\nlist) ls {tmp_path}/hub ;;\n"
            f"clone) mkdir -p submissions && cp -r {tmp_path}/hub/$(basename $3) $4 ;;\nesac\n"
        )
        program.chmod(0o755)
        return place

    def test_the_class_is_cloned_graded_and_told(self, repository: Path, tmp_path: Path) -> None:
        path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        cloned = bash(
            script(TEACHER, "Clone what was handed in"),
            repository,
            PATH=path,
            ORGANISATION="course-org",
            PREFIX="hw1-",
        )
        assert cloned.returncode == 0, cloned.stderr
        assert sorted(each.name for each in (repository / "submissions").iterdir()) == [
            "hw1-ada-s",
            "hw1-rosa",
        ]
        graded = bash(
            script(TEACHER, "Grade"),
            repository,
            STAGE="simplified",
            AUTOGRADER_SECRET="x" * 32,
            RUNNER_TEMP=str(tmp_path),
        )
        assert graded.returncode == 0, graded.stderr
        assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
        page = tmp_path / "summary.md"
        told = bash(script(TEACHER, "Write the summary"), repository, GITHUB_STEP_SUMMARY=str(page))
        assert told.returncode == 0, told.stderr
        rows = [line.split() for line in page.read_text("utf-8").splitlines()]
        assert ["a.sample", "15", "15", "graded"] in rows
        assert any(row[:1] == ["r.sample"] for row in rows)
        assert ["z"] in [line.split() for line in graded.stderr.splitlines()]
