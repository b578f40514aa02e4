"""The whole proof: which parts there are, how they are graded, whether all of them hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context

from autograder.assignment.assignment import Assignment
from autograder.assignment.secret import load_secret
from autograder.calibration import edits, mutants, variants
from autograder.calibration.cases import (
    ALONE,
    BOTH_ALONE,
    BOTH_NAMED,
    CAUGHT,
    EVERY_POINT,
    NAMED_FIRST,
    NO_POINT,
    Case,
    Measure,
    Part,
)
from autograder.calibration.margins import margins_part
from autograder.calibration.sameness import start_quietly, told_difference
from autograder.diagnosis.catalogue import stage_catalogue
from autograder.errors import InternalError, UsageError
from autograder.grading.exchange import Graded
from autograder.grading.executor import Executor

TWO_CODINGS = Measure("two codings or more")

#: The sample takes one case in so many of the long parts.
ONE_PAIR_IN, ONE_MUTANT_IN, ONE_EDIT_IN = 10, 12, 8
LONG = frozenset({"misconceptions", "pairs", "mutants"})

#: The fault of a case that the kit could not grade.
FAILED = "the kit failed"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be proved: the assignment, and whether to take a sample of the long parts."""

    assignment: Assignment
    sample: bool = False

    def part(self, title: str) -> Part:
        """A part with its cases, not graded yet.

        Raises:
            UsageError: There is no such part.
            MissingRequirement: Its sources are only in a checkout.
        """
        builder = PARTS.get(title)
        if builder is None:
            raise UsageError(f"no part {title!r}; choose from {', '.join(PARTS)}")
        return builder(self)

    def thinned(self, cases: Iterable[Case], one_in: int) -> list[Case]:
        """The cases, or a sample of one in so many, spread over all of them."""
        return list(islice(cases, one_in // 2, None, one_in) if self.sample else cases)

    def extent(self, part: str) -> int:
        """How many cases there must be; a sample of a long part need not have so many."""
        whole = variants.settings_of(self.assignment).extent.get(part, 0)
        return min(whole, 1) if self.sample and part in LONG else whole


def _solutions(plan: Plan) -> Part:
    cases = list(variants.solution_cases(plan.assignment))
    return Part("solutions", (EVERY_POINT,), cases)


def _stubs(plan: Plan) -> Part:
    return Part("stubs", (NO_POINT,), list(variants.stub_cases(plan.assignment)))


def _null(plan: Plan) -> Part:
    folder = variants.variants_folder(plan.assignment)
    cases = list(variants.null_cases(plan.assignment, folder))
    return Part("null", (NO_POINT,), cases, plan.extent("null"))


def _right(plan: Plan) -> Part:
    folder = variants.variants_folder(plan.assignment)
    cases = list(variants.right_cases(plan.assignment, folder))
    return Part("right", (EVERY_POINT,), cases, plan.extent("right"))


def _misconceptions(plan: Plan) -> Part:
    folder = variants.variants_folder(plan.assignment)
    files = list(variants.wrong_cases(plan.assignment, folder))
    if plan.sample:
        files = one_coding_each(files, variants.wrong_variants(folder))
    changed = plan.thinned(edits.edit_cases(plan.assignment, folder), ONE_EDIT_IN)
    measures = (CAUGHT, ALONE, NAMED_FIRST)
    return Part("misconceptions", measures, [*files, *changed], plan.extent("misconceptions"))


def one_coding_each(cases: Sequence[Case], written: Sequence[variants.Variant]) -> list[Case]:
    """The first file that makes each mistake of each stage."""
    firsts: dict[tuple[str, str], str] = {}
    for variant in written:
        firsts.setdefault((variant.stage, variant.id), variant.file.removesuffix(".py"))
    chosen = set(firsts.values())
    return [case for case in cases if case.label in chosen]


def _codings(plan: Plan) -> Part:
    """In how many sources each mistake of the catalogue is made."""
    folder = variants.variants_folder(plan.assignment)
    made: dict[tuple[str, str], int] = {}
    for variant in variants.wrong_variants(folder):
        made[variant.stage, variant.id] = made.get((variant.stage, variant.id), 0) + 1
    for base in edits.all_edited(plan.assignment, folder):
        for edit in base.edits:
            place = plan.assignment.stage_of(edit.name).id, edit.id
            made[place] = made.get(place, 0) + 1
    part = Part("codings", (TWO_CODINGS,), extent=plan.extent("codings"))
    best: dict[str, int] = {}
    for stage in plan.assignment.stages:
        for entry in stage_catalogue(plan.assignment, stage).misconceptions:
            best[entry.id] = best.get(entry.id, 0) + made.get((stage.id, entry.id), 0)
    for identifier, count in best.items():
        part.add(identifier, {} if count >= 2 else {TWO_CODINGS.title: f"{count} of 2 sources"})
    return part


def _pairs(plan: Plan) -> Part:
    folder = variants.variants_folder(plan.assignment)
    cases = plan.thinned(edits.pair_cases(plan.assignment, folder), ONE_PAIR_IN)
    return Part("pairs", (CAUGHT, BOTH_ALONE, BOTH_NAMED), cases, plan.extent("pairs"))


def _mutants(plan: Plan) -> Part:
    every = {mutant.label: mutant for mutant in mutants.all_mutants(plan.assignment)}
    cases = plan.thinned(mutants.mutant_cases(plan.assignment, every), ONE_MUTANT_IN)
    return Part("mutants", (mutants.KILLED,), cases, plan.extent("mutants"))


def _margins(plan: Plan) -> Part:
    return margins_part(plan.assignment, load_secret(plan.assignment), plan.extent("margins"))


#: Every part in the order of the table.
PARTS: Mapping[str, Callable[[Plan], Part]] = {
    "solutions": _solutions,
    "stubs": _stubs,
    "null": _null,
    "right": _right,
    "misconceptions": _misconceptions,
    "codings": _codings,
    "pairs": _pairs,
    "mutants": _mutants,
    "margins": _margins,
}


def graded(executor: Executor, parts: Sequence[Part], done: Callable[[Part], None]) -> None:
    """Grade and judge every case of every part.

    Args:
        executor: Grades the submissions.
        parts: The parts; results are counted in them.
        done: Called with the part after each case.
    """
    pending: list[tuple[Part, Case, Future[Graded]]] = [
        (part, case, executor.submit(case.submission, None))
        for part in parts
        for case in part.cases
    ]
    for part, case, future in pending:
        try:
            part.add(case.label, case.judge(future.result().result))
        except InternalError as fault:
            told = f"{FAILED}: {fault}"
            part.add(case.label, dict.fromkeys((each.title for each in part.measures), told))
        done(part)


def compare_survivors(
    assignment: Assignment, part: Part, jobs: int, done: Callable[[], None]
) -> None:
    """Compare the mutants that kept every point with the solutions, in processes of their own."""
    labels = set(mutants.survivors(part))
    if not labels:
        return
    solution = mutants.sources_of(assignment)
    chosen = [each for each in mutants.all_mutants(assignment) if each.label in labels]
    pool = ProcessPoolExecutor(
        min(jobs, len(chosen)), get_context("spawn"), initializer=start_quietly
    )
    with pool:
        asked = {
            each.label: pool.submit(
                told_difference,
                assignment.folder,
                solution,
                mutants.changed_sources(assignment, each),
                each.name,
            )
            for each in chosen
        }
        found = {}
        for label, future in asked.items():
            found[label] = future.result()
            done()
    mutants.settled(part, found)
