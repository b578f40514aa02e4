"""The proof that solutions, stubs, checks, variants and misconceptions agree."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest

from autograder.assignment import load_assignment
from autograder.calibrate import (
    Case,
    Group,
    Variant,
    everything,
    lost,
    nothing,
    null_cases,
    one_mistake,
    overlaid,
    own_cases,
    prove,
    report,
    right_cases,
    variants_folder,
    wrong_cases,
    wrong_variants,
)
from autograder.catalogue import load_catalogue
from autograder.errors import KitFault, WrongUse
from autograder.exchange import Graded
from autograder.executor import LocalExecutor, cores
from autograder.result import (
    SCHEMA,
    CriterionResult,
    Result,
    ShareResult,
    StageResult,
    Status,
)
from autograder.submission import SourceFile, Submission
from autograder.worker import Worker

ROOT = Path(__file__).resolve().parents[1]
ASSIGNMENT = load_assignment(ROOT)
FOLDER = variants_folder(ASSIGNMENT)


# Results by hand ----------------------------------------------------------------------------


def criterion(identifier: str, score: float, *named: str) -> CriterionResult:
    status: Status = "passed" if score == 4.0 else "failed"
    share = ShareResult("CausalAttention", score, 4.0, status, ())
    return CriterionResult(identifier, "A title", score, 4.0, status, "", named, (share,))


def result(**stages: Sequence[CriterionResult]) -> Result:
    found = tuple(
        StageResult(name, "A title", sum(each.score for each in held), 4.0 * len(held), tuple(held))
        for name, held in stages.items()
    )
    score = sum(stage.score for stage in found)
    return Result(
        SCHEMA, "ada", "d1", "attention", score, sum(each.max_score for each in found), found, ()
    )


RIGHT = result(
    trainable=[criterion("scaling", 4.0)],
    causal=[criterion("masking", 4.0), criterion("softmax", 4.0)],
)
VARIANT = Variant(
    file="causal/no-mask.py",
    stage="causal",
    id="no-mask",
    names=("CausalAttention",),
    criterion="masking",
    what="no mask",
    also=("mask-forgotten",),
)


class TestWhatEachKindMustComeTo:
    """The judges of the cases."""

    def test_a_right_program_must_have_every_point(self) -> None:
        assert everything(RIGHT) is None
        short = result(causal=[criterion("masking", 3.0), criterion("softmax", 4.0)])
        assert everything(short) == "causal.masking failed"

    def test_a_null_program_must_have_none(self) -> None:
        assert nothing(result(causal=[criterion("masking", 0.0)])) is None
        kept = nothing(result(causal=[criterion("masking", 1.0), criterion("softmax", 0.0)]))
        assert kept == "1.0 points: causal.masking (CausalAttention) 1"

    def test_a_program_that_the_kit_could_not_score_is_neither(self) -> None:
        unscored = Result(SCHEMA, "ada", "d1", "attention", None, 100.0, (), ())
        assert everything(unscored) is not None
        assert nothing(unscored) is not None

    def test_what_was_lost_is_listed_with_its_stage(self) -> None:
        short = result(
            trainable=[criterion("scaling", 1.0)],
            causal=[criterion("masking", 4.0), criterion("softmax", 0.0)],
        )
        assert [(stage, each.id) for stage, each in lost(short)] == [
            ("trainable", "scaling"),
            ("causal", "softmax"),
        ]


class TestOneMistake:
    """Its own criterion lost, its name told first, nothing else lost."""

    judge: Callable[[Result], str | None] = staticmethod(one_mistake(VARIANT))

    @pytest.mark.parametrize("named", ["no-mask", "mask-forgotten"])
    def test_the_mistake_or_one_that_no_test_can_tell_from_it_will_do(self, named: str) -> None:
        found = result(causal=[criterion("masking", 0.0, named), criterion("softmax", 4.0)])
        assert self.judge(found) is None

    def test_further_names_after_it_do_no_harm(self) -> None:
        found = result(causal=[criterion("masking", 0.0, "no-mask", "mask-added")])
        assert self.judge(found) is None

    def test_a_mistake_that_costs_nothing_was_not_caught(self) -> None:
        assert self.judge(RIGHT) == "not caught"

    def test_a_mistake_that_costs_a_second_criterion_falls_short(self) -> None:
        found = result(causal=[criterion("masking", 0.0, "no-mask"), criterion("softmax", 3.0)])
        assert self.judge(found) == "costs softmax as well (named: no-mask)"

    def test_a_mistake_that_costs_another_stage_falls_short(self) -> None:
        found = result(
            trainable=[criterion("scaling", 0.0)], causal=[criterion("masking", 0.0, "no-mask")]
        )
        assert self.judge(found) == "costs points in another stage: trainable.scaling"

    def test_a_mistake_under_another_name_falls_short(self) -> None:
        other = result(causal=[criterion("masking", 0.0, "mask-added", "no-mask")])
        assert self.judge(other) == "named mask-added, no-mask"
        unnamed = result(causal=[criterion("masking", 0.0)])
        assert self.judge(unnamed) == "named nothing"


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
    with pytest.raises(WrongUse, match=r"manifest\.toml"):
        wrong_variants(tmp_path)


# The proof and its report -------------------------------------------------------------------


class Marked:
    """An executor whose results are known beforehand; a submission called `broken` fails it."""

    isolation = "process"

    def __init__(self, scores: dict[str, Result]) -> None:
        self.scores = scores

    def submit(self, submission: Submission, stages: tuple[str, ...] | None) -> Future[Graded]:
        future: Future[Graded] = Future()
        if submission.name == "broken":
            future.set_exception(KitFault("the worker died"))
        else:
            future.set_result(Graded(self.scores[submission.name], 0.1, 0.1, self.isolation))
        return future

    def close(self) -> None:
        """Nothing is held."""


def case(name: str, judge: Callable[[Result], str | None]) -> Case:
    return Case(name, Submission(name, (), "d1"), judge)


def test_every_case_is_judged_and_what_falls_short_is_kept() -> None:
    done: list[None] = []
    wrong = result(causal=[criterion("masking", 0.0), criterion("softmax", 4.0)])
    groups = prove(
        Marked({"good": RIGHT, "bad": wrong}),
        [
            ("right", [case("good", everything), case("bad", everything)]),
            ("wrong", [case("bad", one_mistake(VARIANT)), case("broken", everything)]),
        ],
        lambda: done.append(None),
    )
    assert [(group.title, group.good, group.count) for group in groups] == [
        ("right", 1, 2),
        ("wrong", 0, 2),
    ]
    assert groups[0].short == [("bad", "causal.masking failed")]
    assert groups[1].short == [
        ("bad", "named nothing"),
        ("broken", "the kit failed: the worker died"),
    ]
    assert len(done) == 4


def test_the_report_tells_what_falls_short_then_a_line_a_kind_then_the_sum() -> None:
    groups = [Group("right variants", 3), Group("wrong variants", 2, [("causal/a", "not caught")])]
    assert list(report(groups)) == [
        "short  wrong variants: causal/a: not caught",
        "right variants            3 of 3",
        "wrong variants            1 of 2",
        "calibrated: 4 of 5",
    ]


def one_coding_each() -> Iterator[Case]:
    """Of every mistake of every stage the first variant that makes it."""
    firsts: dict[tuple[str, str], str] = {}
    for variant in VARIANTS:
        firsts.setdefault((variant.stage, variant.id), variant.file.removesuffix(".py"))
    chosen = set(firsts.values())
    return (each for each in wrong_cases(ASSIGNMENT, FOLDER) if each.label in chosen)


def test_solutions_stubs_variants_and_misconceptions_agree() -> None:
    """The short proof: `autograder calibrate` proves the same for every coding of a mistake."""
    groups = [
        ("solutions and stubs", list(own_cases(ASSIGNMENT))),
        ("right variants", list(right_cases(ASSIGNMENT, FOLDER))),
        ("null programs", list(null_cases(ASSIGNMENT, FOLDER))),
        ("wrong variants", list(one_coding_each())),
    ]
    assert all(cases for _, cases in groups)
    executor = LocalExecutor(lambda: Worker(ASSIGNMENT.folder, "process"), cores())
    try:
        found = prove(executor, groups, lambda: None)
    finally:
        executor.close()
    assert [line for line in report(found) if line.startswith("short")] == []
