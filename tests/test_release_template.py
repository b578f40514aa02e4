"""`autograder.release.template`: what students receive is what the solutions give."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from autograder.assignment.assignment import Stage, load_assignment
from autograder.errors import InternalError, UsageError
from autograder.release import stubs
from autograder.release.template import build_template, check_drift, solution_lines, template_files
from tests.conftest import ASSIGNMENT, ROOT

TEMPLATE = ROOT / "student_template"
# What platforms build from holds the solutions; tests of each platform look at what comes of it.
FOR_TEACHERS = ("nbgrader/", "otter/")


def released(folder: Path) -> dict[str, Path]:
    """The files of a folder that a student gets; caches of tools that ran are none."""
    return {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not any(
            (p.startswith(".") and p != ".github") or p == "__pycache__"
            for p in path.relative_to(folder).parts
        )
    }


class TestTheCommittedTemplate:
    def test_building_it_again_changes_nothing(self) -> None:
        assert check_drift(ASSIGNMENT, TEMPLATE) == ()

    def test_it_names_every_stage_and_handout_in_its_readme(self) -> None:
        readme = (TEMPLATE / "README.md").read_text(encoding="utf-8")
        for stage in ASSIGNMENT.stages:
            assert f"attention/{stage.module}.py" in readme
            assert f"handouts/{stage.handout.name}" in readme

    @pytest.mark.parametrize("name", ASSIGNMENT.names)
    def test_every_name_is_a_stub_that_tells_name_and_stage(self, name: str) -> None:
        stage = ASSIGNMENT.stage_of(name)
        text = (TEMPLATE / "attention" / f"{stage.module}.py").read_text(encoding="utf-8")
        number = ASSIGNMENT.stages.index(stage) + 1
        spec = next(spec for spec in ASSIGNMENT.name_specs if spec.name == name)
        methods = ["", ".__init__", ".forward"]
        for method in methods[:1] if spec.kind == "function" else methods[1:]:
            assert f'"{name}{method}: not written yet (stage {number}, {stage.id})"' in text

    @pytest.mark.parametrize("name", ASSIGNMENT.names)
    def test_every_name_has_a_public_check(self, name: str) -> None:
        tests = [path.read_text("utf-8") for path in (TEMPLATE / "tests").glob("test_*.py")]
        assert len(tests) == len(ASSIGNMENT.stages)
        assert any(name in text for text in tests)


class TestNoSolutionIsReleased:
    @pytest.mark.parametrize("folder", [TEMPLATE, ASSIGNMENT.folder], ids=["template", "handouts"])
    def test_no_line_of_a_solution_is_in_anything_handed_out(self, folder: Path) -> None:
        secrets = solution_lines(ASSIGNMENT)
        found = {
            name: stubs.leaks(path.read_text(encoding="utf-8"), secrets)
            for name, path in released(folder).items()
            if not name.startswith(FOR_TEACHERS)
        }
        assert found
        assert {name: lines for name, lines in found.items() if lines} == {}

    @pytest.mark.parametrize("stage", ASSIGNMENT.stages, ids=lambda stage: stage.id)
    def test_a_solution_would_be_noticed(self, stage: Stage) -> None:
        source = (ASSIGNMENT.solutions / f"{stage.module}.py").read_text(encoding="utf-8")
        own = stubs.solution_lines(source, stage.module)
        assert set(stubs.leaks(source, solution_lines(ASSIGNMENT))) >= own
        assert len(own) >= 5

    def test_a_handout_that_gives_one_away_is_not_built(self, tmp_path: Path) -> None:
        stage = ASSIGNMENT.stages[0]
        handout = tmp_path / "1.md"
        handout.write_text(stage.handout.read_text("utf-8") + "\n    return inputs @ query\n")
        telling = msgspec.structs.replace(stage, handout=handout)
        assignment = msgspec.structs.replace(ASSIGNMENT, stages=(telling, *ASSIGNMENT.stages[1:]))
        with pytest.raises(InternalError, match=r"handouts/1\.md would give a solution away"):
            template_files(assignment)


class TestBuilding:
    def test_elsewhere_it_is_the_whole_folder(self, tmp_path: Path) -> None:
        out = tmp_path / "for students"
        build_template(ASSIGNMENT, out)
        assert {name: path.read_bytes() for name, path in released(out).items()} == {
            name: path.read_bytes() for name, path in released(TEMPLATE).items()
        }

    def test_the_files_that_were_built_are_returned(self, tmp_path: Path) -> None:
        built = build_template(ASSIGNMENT, tmp_path)
        assert {path.relative_to(tmp_path).as_posix() for path in built} == {
            *template_files(ASSIGNMENT)
        }

    def test_in_its_own_place_a_changed_rubric_reaches_the_handouts_originals(
        self, tmp_path: Path
    ) -> None:
        for folder in ("assignments", "solutions", "student_template"):
            shutil.copytree(ROOT / folder, tmp_path / folder)
        file = tmp_path / "assignments" / "attention" / "assignment.toml"
        file.write_text(file.read_text("utf-8").replace('GPT-2"\nsection', 'GPT-3"\nsection'))
        copied = load_assignment(file)
        build_template(copied, tmp_path / "student_template")
        for handout in (
            copied.stages[3].handout,
            tmp_path / "student_template/handouts/4_multi_head.md",
        ):
            assert "| [The sizes of the smallest GPT-3](#gpt-2) | 1 |" in handout.read_text("utf-8")

    def test_the_solutions_are_never_overwritten(self) -> None:
        before = [path.read_bytes() for path in sorted(ASSIGNMENT.solutions.glob("*.py"))]
        with pytest.raises(UsageError, match="would overwrite the solutions"):
            build_template(ASSIGNMENT, ASSIGNMENT.solutions.parent)
        assert [path.read_bytes() for path in sorted(ASSIGNMENT.solutions.glob("*.py"))] == before

    def test_drift_is_told_file_by_file(self, tmp_path: Path) -> None:
        build_template(ASSIGNMENT, tmp_path)
        (tmp_path / "attention" / "causal.py").unlink()
        with (tmp_path / "handouts" / "3_causal.md").open("a") as handout:
            handout.write("One more word.\n")
        (tmp_path / "attention" / "gone.py").touch()
        assert check_drift(ASSIGNMENT, tmp_path) == (
            "attention/causal.py is missing",
            "handouts/3_causal.md is not what the solutions give",
            "attention/gone.py is left over",
        )


class TestThePublicChecks:
    """Run as a student runs them, in a copy of the template."""

    def test_none_passes_on_the_stubs_and_each_says_what_to_write(self, tmp_path: Path) -> None:
        build_template(ASSIGNMENT, tmp_path)
        results = run_public_checks(tmp_path)
        passed = [name for name, failure in results.items() if failure is None]
        unclear = [
            name for name, failure in results.items() if "not written yet" not in (failure or "")
        ]
        assert results
        assert passed == []
        assert unclear == []

    def test_all_pass_on_the_solutions(self, tmp_path: Path) -> None:
        build_template(ASSIGNMENT, tmp_path)
        for path in ASSIGNMENT.solutions.glob("*.py"):
            shutil.copy(path, tmp_path / "attention")
        results = run_public_checks(tmp_path)
        assert len(results) >= len(ASSIGNMENT.names)
        assert {name: failure for name, failure in results.items() if failure} == {}


def run_public_checks(folder: Path) -> dict[str, str | None]:
    """Each public check by name, with the text of its failure."""
    report = folder / "report.xml"
    clean = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    subprocess.run(
        [sys.executable, "-m", "pytest", f"--junitxml={report}"],
        cwd=folder,
        env=clean,
        capture_output=True,
        timeout=120,
        check=False,
    )
    results: dict[str, str | None] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        problems = [each.text or "" for each in case if each.tag in ("failure", "error", "skipped")]
        results[name] = problems[0] if problems else None
    return results
