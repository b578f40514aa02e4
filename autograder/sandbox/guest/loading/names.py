"""Finds the contract's names among what a submission defines.

The exact name first, then the same name in other case or with other underscores, then a close
misspelling where nothing else fits. Of several definitions: a written one before a stub, the
stage's own module before other modules, these in the order of their paths, then notebooks, of
which the last counts; within a file the last definition counts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

from .notes import class_name, listed
from .ownership import Kind, Ownership
from .placeholders import Placeholder
from .running import Definition, Runner
from .spelling import closeness, distance, folded
from .statements import place

_NEARISH = 0.7  # near enough to ask whether it was meant


class NameSpec(Protocol):
    """A name that the contract asks for."""

    @property
    def name(self) -> str:
        """The name itself."""

    @property
    def module(self) -> str:
        """The module in which the template has it."""

    @property
    def kind(self) -> Any:
        """`function` or `class`."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters of the function, or of the class's constructor."""

    @property
    def package(self) -> str:
        """The folder in which the template has the module."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value of the submission's own, where it was given its name."""

    name: str
    value: object
    kind: Kind
    stub: bool
    path: str
    notebook: bool
    cell: int | None
    line: int | None
    order: int  # of definition
    kept: bool = True  # whether the name still has this value when everything was run

    @property
    def where(self) -> str:
        """Its file and place within it."""
        return f"{self.path} {place(self.cell, self.line)}"


@dataclass(frozen=True, slots=True)
class Search:
    """What was found for every name, and what was not."""

    found: dict[str, Candidate]
    missing: dict[str, str | None]  # name -> a near name that was there


def search(specs: Sequence[NameSpec], runner: Runner, ownership: Ownership) -> Search:
    """Find each name, and note what was taken for it and what was passed over.

    Args:
        specs: The names that the contract asks for.
        runner: The submission, after all of it was run; gets the notes.
        ownership: Tells the submission's own values from others.
    """
    candidates = _candidates(runner, ownership)
    by_fold: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_fold.setdefault(folded(candidate.name), []).append(candidate)
    contract = [spec.name for spec in specs]
    own_folds = {folded(name) for name in contract}
    strangers = [each for each in candidates if folded(each.name) not in own_folds]
    found: dict[str, Candidate] = {}
    unmet: list[NameSpec] = []
    passed_over: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    worked_on = {
        each.path for each in candidates if not each.stub and folded(each.name) in own_folds
    }
    left_alone: set[str] = set()
    for spec in specs:
        fitting = [each for each in by_fold.get(folded(spec.name), ()) if _fits(each, spec)]
        if not fitting or all(each.stub for each in fitting):
            near = _nearest(spec, strangers, contract)
            fitting += [each for each in near if not (fitting and each.stub)]
        if not fitting:
            unmet.append(spec)
            continue
        best, *others = sorted(fitting, key=lambda each: _rank(each, spec))
        found[spec.name] = best
        if best.name != spec.name:
            runner.notes.add(f"{best.name} ({best.where}) was taken for {spec.name}")
        rivals = [each for each in others if each.value is not best.value]
        if rivals and _in_the_stages_module(best, spec) and not worked_on & {*_paths(rivals)}:
            # So it is where the template's notebooks are handed in beside the modules. Which one
            # was graded surprises nobody, and one note for all of them is enough.
            left_alone.update(_paths(rivals))
        elif rivals:
            passed_over.setdefault(_places(best, rivals), []).append(spec.name)
        elif not best.kept:
            runner.notes.add(
                f"{best.path} gives {best.name} another value later; that of "
                f"{place(best.cell, best.line)} was graded"
            )
    for (taken, places), names in passed_over.items():
        runner.notes.add(
            f"{listed(names)} {'is' if len(names) == 1 else 'are'} defined in {listed(places)}; "
            f"{taken} was graded"
        )
    if left_alone:
        runner.notes.add(
            f"{listed(sorted(left_alone))} {'has' if len(left_alone) == 1 else 'have'} nothing but "
            "stubs of what is written in the stages' modules; the modules were graded"
        )
    taken_names = {candidate.name for candidate in found.values()}
    others = [each for each in candidates if each.name not in taken_names]
    missing = {spec.name: _did_you_mean(spec, others, contract) for spec in unmet}
    for spec in unmet:
        _note_other(spec, candidates, runner)
    return Search(found, missing)


def settle(result: Search, runner: Runner, ownership: Ownership) -> None:
    """Replace stubs and missing names of the contract in each module by what is graded.

    A class may be written in a notebook while the next stage's module imports its stub.

    Args:
        result: What was found for each name.
        runner: The submission, after all of it was run; gets the notes.
        ownership: Tells stubs from work.
    """
    for node in runner.modules.namespaces().values():
        for name, best in result.found.items():
            value = node.namespace.get(name)
            if value is None or value is best.value or best.stub:
                continue
            if issubclass(type(value), Placeholder):
                path = node.file.path if node.file else node.part
                runner.notes.add(
                    f"{path}: {name}, which could not be imported, was taken from {best.path}"
                )
            elif not ownership.is_stub(value):
                continue
            node.namespace[name] = best.value


def _candidates(runner: Runner, ownership: Ownership) -> list[Candidate]:
    """Every value of the submission's own that a file gave a name to, once for each name."""
    kept: dict[tuple[int, str], Candidate] = {}
    order = 0

    def offer(definition: Definition, line: int | None) -> None:
        kind = ownership.kind(definition.value)
        file = definition.node.file
        if kind is None or file is None:
            return
        key = (id(definition.value), definition.name)
        written_in = ownership.filename(definition.value)
        source = runner.sources.get(written_in) if written_in else None
        before = kept.get(key)
        if before is not None and (
            source is None or before.path == source.path or file.path != source.path
        ):
            return
        cell = definition.cell
        if line is None and source is not None and source.path == file.path:
            line, cell = ownership.first_line(definition.value), source.cell
        kept[key] = Candidate(
            definition.name,
            definition.value,
            kind,
            ownership.is_stub(definition.value),
            file.path,
            file.kind == "notebook",
            cell,
            line,
            order,
            definition.node.namespace.get(definition.name) is definition.value,
        )

    for definition in runner.definitions:
        order += 1
        offer(definition, definition.line)
    for node in runner.modules.nodes:
        for name, value in list(node.namespace.items()):
            if type(name) is str and not name.startswith("__") and callable(value):
                order += 1
                offer(Definition(name, value, node, None, 0), None)
    return list(kept.values())


def _fits(candidate: Candidate, spec: NameSpec) -> bool:
    """Whether it can be what the contract asks for: a class for a class, a callable otherwise.

    Under the exact name a function may stand for a class (it makes the modules). Under another
    it may not: `layer_norm(x, shape)` is no `LayerNorm`.
    """
    if spec.kind == "class":
        return candidate.kind == "class" or (
            candidate.kind == "function" and candidate.name == spec.name
        )
    return candidate.kind != "class"


def _rank(candidate: Candidate, spec: NameSpec) -> tuple[Any, ...]:
    """The order of precedence; the least is graded."""
    *folders, _ = candidate.path.split("/")
    is_stage = _bears_the_stages_name(candidate, spec)
    in_package = bool(folders) and folders[-1] == spec.package
    return (
        candidate.stub,
        _spelling(candidate.name, spec.name),
        candidate.kind != spec.kind,
        candidate.notebook,
        not is_stage,
        not (in_package and is_stage),
        # Modules: the first path counts. Notebooks: the last one.
        "" if candidate.notebook else candidate.path,
        -candidate.order,
    )


def _bears_the_stages_name(candidate: Candidate, spec: NameSpec) -> bool:
    """Whether its file is called as the stage's module is."""
    name = candidate.path.rsplit("/", 1)[-1]
    return folded(name.rsplit(".", 1)[0]) == folded(spec.module)


def _in_the_stages_module(candidate: Candidate, spec: NameSpec) -> bool:
    """Whether it is written, and in the module where it belongs."""
    return not (candidate.stub or candidate.notebook) and _bears_the_stages_name(candidate, spec)


def _spelling(name: str, wanted: str) -> int:
    if name == wanted:
        return 0
    return 1 if folded(name) == folded(wanted) else 2


def _nearest(
    spec: NameSpec, strangers: Iterable[Candidate], contract: Sequence[str]
) -> list[Candidate]:
    """Close misspellings of a name that are no closer to any other name of the contract."""
    near: list[tuple[float, Candidate]] = []
    for candidate in strangers:
        if candidate.kind != spec.kind:
            continue
        score = closeness(candidate.name, spec.name)
        if not _is_misspelling(candidate.name, spec.name, score):
            continue
        others = (closeness(candidate.name, other) for other in contract if other != spec.name)
        if score > max(others, default=0.0):
            near.append((score, candidate))
    best = max((score for score, _ in near), default=0.0)
    return [candidate for score, candidate in near if score == best]


def _is_misspelling(name: str, wanted: str, score: float) -> bool:
    # Two letters of a short word make another word: arccos is no arcsin.
    return score >= 0.85 or (score >= 0.75 and distance(folded(name), folded(wanted)) <= 2)


def _did_you_mean(
    spec: NameSpec, candidates: Sequence[Candidate], contract: Sequence[str]
) -> str | None:
    """A name that might be meant, for a name that is missing."""
    near = [
        (closeness(candidate.name, spec.name), candidate.name)
        for candidate in candidates
        if candidate.name not in contract
        and (candidate.kind == spec.kind or folded(candidate.name) == folded(spec.name))
    ]
    score, name = max(near, default=(0.0, ""))
    return name if score >= _NEARISH else None


def _note_other(spec: NameSpec, candidates: Sequence[Candidate], runner: Runner) -> None:
    """Tell what bears a missing name without being what is looked for."""
    for candidate in candidates:
        if candidate.name == spec.name:
            runner.notes.add(
                f"{spec.name} ({candidate.where}) is of the kind {candidate.kind}; "
                f"a {spec.kind} was looked for"
            )
            return
    for node in runner.modules.nodes:
        value = node.namespace.get(spec.name)
        if value is None or node.file is None:
            continue
        if issubclass(type(value), (ModuleType, Placeholder)):
            continue
        if callable(value):
            what = "is not defined in the submission, only used there"
        else:
            what = f"is a {class_name(type(value))}; a {spec.kind} was looked for"
        runner.notes.add(f"{spec.name} in {node.file.path} {what}")
        return


def _places(best: Candidate, rivals: Sequence[Candidate]) -> tuple[str, tuple[str, ...]]:
    """Where the graded one is, and where all are: files, with places where one has several."""
    everywhere = sorted(
        [best, *rivals], key=lambda each: (each.path, each.cell or 0, each.line or 0)
    )
    paths = _paths(everywhere)

    def told(candidate: Candidate) -> str:
        return candidate.where if paths.count(candidate.path) > 1 else candidate.path

    return told(best), tuple(dict.fromkeys(told(each) for each in everywhere))


def _paths(candidates: Iterable[Candidate]) -> list[str]:
    return [candidate.path for candidate in candidates]
