"""The variants of the proof: files, their manifest, and the short form of the whole proof."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.calibration.proof import PARTS, Plan, compare_survivors, graded
from autograder.calibration.table import shortfalls
from autograder.calibration.variants import (
    Variant,
    overlaid,
    variants_folder,
    wrong_cases,
    wrong_variants,
)
from autograder.diagnosis.catalogue import load_catalogue
from autograder.errors import MissingRequirement, UsageError
from autograder.grading.executor import LocalExecutor, cores
from autograder.grading.worker import Worker
from autograder.submissions.submission import SourceFile, Submission
from tests.conftest import ASSIGNMENT

FOLDER = variants_folder(ASSIGNMENT)


class TestOverlay:
    """A wrong module in an otherwise right package."""

    base = Submission(
        "base",
        (
            SourceFile("attention/causal.py", "module", b"right"),
            SourceFile("attention/multi_head.py", "module", b"kept"),
            SourceFile("notes/not_causal.py", "module", b"kept"),
        ),
        "d1",
    )

    def test_one_module_is_replaced_and_the_others_are_kept(self) -> None:
        found = overlaid(self.base, "causal.py", b"wrong", "causal/no-mask.py")
        assert {file.path: file.data for file in found.files} == {
            "attention/causal.py": b"wrong",
            "attention/multi_head.py": b"kept",
            "notes/not_causal.py": b"kept",
        }
        assert found.name == "causal/no-mask.py"
        assert self.base.files[0].data == b"right"

    @pytest.mark.parametrize("variant", wrong_variants(FOLDER)[::40], ids=lambda each: each.file)
    def test_every_wrong_case_holds_its_own_module_and_no_other(self, variant: Variant) -> None:
        label = variant.file.removesuffix(".py")
        case = next(each for each in wrong_cases(ASSIGNMENT, FOLDER) if each.label == label)
        source = (FOLDER / "wrong" / variant.file).read_bytes()
        module = f"{ASSIGNMENT.stage(variant.stage).module}.py"
        held = [file for file in case.submission.files if file.data == source]
        assert [file.path.rpartition("/")[2] for file in held] == [module]
        assert len(case.submission.files) >= 4


# The variants themselves --------------------------------------------------------------------

VARIANTS = wrong_variants(FOLDER)


def test_every_file_of_a_wrong_variant_is_in_the_manifest_once() -> None:
    listed = [variant.file for variant in VARIANTS]
    there = {
        file.relative_to(FOLDER / "wrong").as_posix() for file in (FOLDER / "wrong").rglob("*.py")
    }
    assert sorted(listed) == sorted(set(listed))
    assert set(listed) == there


def test_every_wrong_variant_is_of_a_mistake_of_its_stage_that_costs_what_it_says() -> None:
    for variant in VARIANTS:
        stage = ASSIGNMENT.stage(variant.stage)
        entry = load_catalogue(stage.misconceptions).named(variant.id)
        assert entry.criterion == variant.criterion, variant.file
        assert set(variant.names) <= set(stage.names), variant.file


def test_every_mistake_is_written_twice_in_every_name_in_which_it_can_be_made() -> None:
    """As students write it: no mistake is proved by the catalogue's own steps alone."""
    for stage in ASSIGNMENT.stages:
        catalogue = load_catalogue(stage.misconceptions)
        written = Counter(
            (identifier, name)
            for variant in VARIANTS
            if variant.stage == stage.id
            for identifier in (variant.id, *variant.also)
            for name in variant.names
        )
        possible = {(entry.id, name) for name in stage.names for entry in catalogue.of(name)}
        assert {pair for pair in possible if written[pair] < 2} == set(), stage.id
        assert set(written) <= possible, stage.id


def test_every_mistake_can_be_made_in_some_name() -> None:
    for stage in ASSIGNMENT.stages:
        catalogue = load_catalogue(stage.misconceptions)
        made = {entry.id for name in ASSIGNMENT.names for entry in catalogue.of(name)}
        assert {entry.id for entry in catalogue.misconceptions} == made


def test_a_manifest_that_cannot_be_read_is_wrong_use(tmp_path: Path) -> None:
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "manifest.toml").write_text("[[variant]]\nfile = 'a.py'\n")
    with pytest.raises(UsageError, match=r"manifest\.toml"):
        wrong_variants(tmp_path)


# The short form of the whole proof -----------------------------------------------------------


def test_an_assignment_without_a_checkout_says_what_it_lacks_and_what_it_can_prove(
    tmp_path: Path,
) -> None:
    alone = ASSIGNMENT.__class__(
        **{name: getattr(ASSIGNMENT, name) for name in ASSIGNMENT.__struct_fields__}
        | {"folder": tmp_path / "assignments" / "attention"}
    )
    with pytest.raises(MissingRequirement, match="--only solutions") as raised:
        Plan(alone).part("right")
    assert raised.value.exit_code == 3
    assert Plan(alone).part("mutants").cases


def test_a_part_that_is_not_there_is_wrong_use_and_the_others_are_named() -> None:
    with pytest.raises(UsageError, match="'rigth'.*right, misconceptions"):
        Plan(ASSIGNMENT).part("rigth")


@pytest.fixture(scope="module")
def executor() -> Iterator[LocalExecutor]:
    executor = LocalExecutor(lambda: Worker(ASSIGNMENT.folder, "process"), cores())
    yield executor
    executor.close()


#: The parts that are proved in seconds, at every change.
QUICK = ("solutions", "stubs", "null")


@pytest.mark.parametrize(
    "title",
    [pytest.param(each, marks=() if each in QUICK else pytest.mark.proof) for each in PARTS],
)
def test_solutions_stubs_variants_pairs_mutants_and_misconceptions_agree(
    title: str, executor: LocalExecutor
) -> None:
    """`autograder calibrate --sample`; without `--sample` the command proves it for every case."""
    part = Plan(ASSIGNMENT, sample=True).part(title)
    graded(executor, [part], lambda _: None)
    compare_survivors(ASSIGNMENT, part, cores(), lambda: None)
    assert part.count >= part.extent
    assert part.sound, "\n".join(shortfalls([part]))
