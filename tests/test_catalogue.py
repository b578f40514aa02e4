"""Every entry of the catalogue is complete: what it costs, how it is seen, what it says."""

import ast
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import nn

import autograder.attention.checks
import autograder.scoring.verdict
from autograder.assignment.assignment import Stage
from autograder.attention.chain import Given
from autograder.diagnosis.catalogue import Catalogue, Misconception, load_catalogue
from autograder.errors import InternalError, UsageError
from autograder.release.stubs import leaks
from autograder.release.template import solution_lines
from tests.conftest import ASSIGNMENT

CHECKS = Path(autograder.attention.checks.__file__).parent
# What checks of several stages are made of.
SHARED = ("state.py", "attention.py", "dropout.py", "subject.py")

CHAINS = [
    pytest.param(stage, name, step, id=f"{name}-{step}")
    for stage in ASSIGNMENT.stages
    for name, chain in load_catalogue(stage.misconceptions).chains.items()
    for step in chain.names
]
every_stage = pytest.mark.parametrize("stage", ASSIGNMENT.stages, ids=lambda stage: stage.id)


def catalogue_of(stage: Stage) -> Catalogue:
    return load_catalogue(stage.misconceptions)


def mentioned(path: Path) -> set[str]:
    """The ids that a checks module names as the misconception that a failure shows."""
    found = set()
    tree = ast.parse(path.read_text())
    constants = {
        target.id: str(node.value.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in (node for node in ast.walk(tree) if is_call(node)):
        assert isinstance(call, ast.Call)
        told = [word.value for word in call.keywords if word.arg == "misconception"]
        if isinstance(call.func, ast.Name) and call.func.id == "_wrong":
            told += call.args[1:]
        for expression in told:
            found |= {
                str(node.value)
                for node in ast.walk(expression)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            }
            found |= {
                constants[node.id]
                for node in ast.walk(expression)
                if isinstance(node, ast.Name) and node.id in constants
            }
    return found


def texts(path: Path) -> set[str]:
    """All string constants of a module."""
    constants = (node for node in ast.walk(ast.parse(path.read_text())))
    return {
        node.value
        for node in constants
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call)


def mentioned_in(stage: Stage) -> set[str]:
    main = stage.checks.rpartition(".")[2]
    files = [CHECKS / f"{main}.py", *CHECKS.glob(f"{main}_*.py"), *(CHECKS / f for f in SHARED)]
    return set().union(*(mentioned(file) for file in files))


def failing(stage: Stage, holds: Callable[[Misconception], object]) -> list[str]:
    """The ids of a stage's entries for which something does not hold."""
    return [entry.id for entry in catalogue_of(stage).misconceptions if not holds(entry)]


@every_stage
def test_ids_are_unique_within_a_stage(stage: Stage) -> None:
    identifiers = [entry.id for entry in catalogue_of(stage).misconceptions]
    assert sorted(identifiers) == sorted(set(identifiers))
    assert identifiers


@every_stage
def test_an_id_is_short_and_made_of_plain_words(stage: Stage) -> None:
    plain = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
    assert failing(stage, lambda entry: plain.fullmatch(entry.id) and len(entry.id) <= 40) == []


@every_stage
def test_a_title_is_a_few_words_and_no_sentence(stage: Stage) -> None:
    few = re.compile(r"[^\n]{4,59}[^\n.]")
    assert failing(stage, lambda entry: few.fullmatch(entry.title)) == []


# What a student reads ------------------------------------------------------------------------

#: By criterion: the words by which a message names the step that went wrong.
STEP_WORDS = {
    "scores": r"score",
    "softmax": r"softmax|weight|exponential",
    "context": r"context vector|output",
    "form": r"size|sequence",
    "projections": r"project|queries|`W_",
    "scaling": r"scal|divided|multiplied",
    "state": r"parameter|layer|weight|buffer|constructor|heads",
    "copying": r"copi|copying",
    "masking": r"mask",
    "dropout": r"dropout|dropped",
    "stacking": r"head",
    "split": r"head|split",
    "merge": r"merg",
    "output": r"`out_proj`",
    "equivalence": r"merged",
    "gpt2": r"GPT-2",
}


@every_stage
def test_a_message_names_the_step_that_went_wrong(stage: Stage) -> None:
    def names(entry: Misconception) -> bool:
        return bool(re.search(STEP_WORDS[entry.criterion], entry.text.found, re.IGNORECASE))

    assert failing(stage, names) == []


@every_stage
def test_a_message_says_what_was_found_what_is_expected_and_what_to_look_at(stage: Stage) -> None:
    def whole(entry: Misconception) -> bool:
        parts = (entry.text.found, entry.text.expected, entry.text.look)
        return (
            all(re.fullmatch(r"[A-Z`(].{14,}[.?]", part) for part in parts)
            and entry.text.look.startswith("Look ")
            and entry.message == " ".join(parts)
        )

    assert failing(stage, whole) == []


@every_stage
def test_a_message_is_read_in_a_breath(stage: Stage) -> None:
    assert failing(stage, lambda entry: len(entry.message.split()) <= 60) == []


@every_stage
def test_no_two_mistakes_of_a_stage_are_told_in_the_same_words(stage: Stage) -> None:
    found = [
        (entry.text.found, entry.text.expected) for entry in catalogue_of(stage).misconceptions
    ]
    assert len(found) == len(set(found))


@every_stage
def test_a_message_is_followed_by_a_section_of_its_stages_handout(stage: Stage) -> None:
    headings = {
        re.sub(r"[^a-z0-9 -]", "", line.lstrip("# ").lower()).strip().replace(" ", "-")
        for line in stage.handout.read_text("utf-8").splitlines()
        if line.startswith("#")
    }
    sections = {criterion.id: criterion.section for criterion in stage.criteria}
    assert failing(stage, lambda entry: sections[entry.criterion] in headings) == []


HANDOUTS = " ".join(stage.handout.read_text("utf-8") for stage in ASSIGNMENT.stages)


def words_of(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower().replace("'s", "")))


#: Everyday words that the handouts happen not to use; no word of the field belongs here.
EVERYDAY = words_of(
    "addition among asked became breaks copied covers decimal default dictionary distances "
    "drops earlier effect element enough enters entries existing fewer fifth fits flipped "
    "force gain gains hard hits index inverted iteration leave less logarithms mark means "
    "meant met middle mixed neighbouring newly nowhere operator operators overwrite perhaps "
    "possible receives removes says sign subtracted swapped told unchanged unless unnoticed "
    "well were"
)
#: What PyTorch's own documentation calls things, so that a student can look them up there.
PYTORCH = words_of("feature features graph interleaved")
#: School mathematics.
MATHEMATICS = words_of("numerator rescale")


def forms_of(word: str) -> set[str]:
    """The word and what it is without, or with, an ending."""
    found = {word, f"{word}s", f"{word}d", f"{word}ed", f"{word.rstrip('e')}ing"}
    for ending in ("s", "es", "d", "ed", "ing", "y", "ies"):
        if word.endswith(ending):
            stem = word.removesuffix(ending)
            found |= {stem, f"{stem}e", f"{stem}y", f"{stem}ed", f"{stem}ing"}
    return found


@every_stage
def test_a_message_uses_the_words_of_the_handouts(stage: Stage) -> None:
    known = words_of(HANDOUTS) | EVERYDAY | PYTORCH | MATHEMATICS

    def foreign(entry: Misconception) -> set[str]:
        plain = re.sub(r"`[^`]*`", " ", entry.message)
        return {word for word in words_of(plain) if not forms_of(word) & known}

    found = {entry.id: foreign(entry) for entry in catalogue_of(stage).misconceptions}
    assert {identifier: words for identifier, words in found.items() if words} == {}


#: What may stand between backticks: a name, or an argument that is true or false.
NAME = r"\.?[A-Za-z_]\w*(\.\w+)*(=True|=False)?"


@every_stage
def test_a_message_holds_names_and_shapes_but_no_code(stage: Stage) -> None:
    def plain(entry: Misconception) -> bool:
        text = f"{entry.title} {entry.message}"
        quoted = re.findall(r"`([^`]*)`", text)
        bare = re.sub(r"`[^`]*`", " ", text)
        return all(re.fullmatch(NAME, each) for each in quoted) and not re.search(
            r"@|==|\w\(|\[|\breturn [a-z_]+\(|=", re.sub(r"d_k = d_out / H", "", bare)
        )

    assert failing(stage, plain) == []


#: Lines of solutions that every module of PyTorch has, whatever it computes.
BOILERPLATE = {"super().__init__()"}


@every_stage
def test_no_message_gives_a_solution_away(stage: Stage) -> None:
    secret = solution_lines(ASSIGNMENT) - BOILERPLATE
    assert failing(stage, lambda entry: not leaks(f"{entry.title} {entry.message}", secret)) == []


def test_a_solution_line_in_a_message_would_be_found() -> None:
    line = "scores = self.W_query(tokens) @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5"
    assert leaks(f"Write {line}.", solution_lines(ASSIGNMENT)) != ()


@every_stage
def test_every_mistake_costs_a_criterion_that_the_stage_has(stage: Stage) -> None:
    criteria = {criterion.id for criterion in stage.criteria}
    assert failing(stage, lambda entry: entry.criterion in criteria) == []


@every_stage
def test_every_mistake_occurs_in_names_of_the_assignment(stage: Stage) -> None:
    assert failing(stage, lambda entry: set(entry.names) <= set(ASSIGNMENT.names)) == []


@every_stage
def test_every_mistake_can_be_seen_somehow(stage: Stage) -> None:
    """As a replaced step, by its exception, by a check or a rule, or by the verdict itself."""
    chains = {step for chain in catalogue_of(stage).chains.values() for step in chain.names}
    named = mentioned_in(stage) | texts(Path(autograder.scoring.verdict.__file__))
    named |= {rule.misconception for rule in ASSIGNMENT.forbidden if rule.misconception}

    def seen(entry: Misconception) -> bool:
        if entry.names and not set(entry.names) & set(stage.names):
            return True  # inherited from an earlier stage, where it is asked for
        return (entry.steps and entry.step in chains) or bool(entry.raises) or entry.id in named

    assert failing(stage, seen) == []


@every_stage
def test_a_step_and_what_replaces_it_come_together(stage: Stage) -> None:
    assert failing(stage, lambda entry: bool(entry.step) == bool(entry.steps)) == []


@every_stage
def test_a_replaced_step_costs_its_own_criterion(stage: Stage) -> None:
    """But for the first text used for all, which is not the projections' fault."""
    elsewhere = failing(stage, lambda entry: not entry.step or entry.criterion == entry.step)
    assert set(elsewhere) <= {"first-item-only"}


@every_stage
def test_patterns_of_exceptions_compile_and_begin_with_a_type(stage: Stage) -> None:
    def sound(entry: Misconception) -> bool:
        patterns = [re.compile(pattern).pattern for pattern in entry.raises]
        return all(re.match(r"\w+(Error|Exception): ", pattern) for pattern in patterns)

    assert failing(stage, sound) == []


@every_stage
def test_an_exception_of_another_kind_is_nobodys(stage: Stage) -> None:
    typo = "NameError: name 'querys' is not defined"
    assert failing(stage, lambda entry: not entry.recognises(typo)) == []


@every_stage
def test_an_aspect_is_one_that_some_share_has(stage: Stage) -> None:
    aspects = {
        share.aspect
        for each in ASSIGNMENT.stages
        for criterion in each.criteria
        for share in criterion.shares
    }
    assert failing(stage, lambda entry: entry.aspect in aspects) == []


@pytest.mark.parametrize(("stage", "name", "step"), CHAINS)
def test_every_step_of_every_chain_can_go_wrong(stage: Stage, name: str, step: str) -> None:
    wrong = [
        entry for entry in catalogue_of(stage).of(name) if step in (entry.step, entry.criterion)
    ]
    assert wrong
    if step != "dropout":  # which does nothing in the mode in which outputs are compared
        assert any(entry.steps for entry in wrong)


@every_stage
def test_what_a_check_names_is_in_its_stages_catalogue(stage: Stage) -> None:
    main = stage.checks.rpartition(".")[2]
    named = set().union(*map(mentioned, [CHECKS / f"{main}.py", *CHECKS.glob(f"{main}_*.py")]))
    assert named <= {entry.id for entry in catalogue_of(stage).misconceptions}


@pytest.mark.parametrize("file", SHARED)
def test_what_shared_checks_name_is_in_the_last_stages_catalogue(file: str) -> None:
    known = {entry.id for entry in catalogue_of(ASSIGNMENT.stages[-1]).misconceptions}
    assert mentioned(CHECKS / file) <= known


@every_stage
def test_null_programs_have_unique_ids_a_sentence_and_chains_of_the_stage(stage: Stage) -> None:
    catalogue = catalogue_of(stage)
    identifiers = [null.id for null in catalogue.nulls]
    assert sorted(identifiers) == sorted(set(identifiers))
    for null in catalogue.nulls:
        assert len(null.message) >= 40
        assert leaks(null.message, solution_lines(ASSIGNMENT)) == ()
        assert null.outputs.keys() <= catalogue.chains.keys()


@every_stage
def test_every_chain_but_a_masks_has_the_null_program_of_zeros(stage: Stage) -> None:
    catalogue = catalogue_of(stage)
    zeros = next(null for null in catalogue.nulls if null.id == "zeros")
    assert zeros.outputs.keys() == catalogue.chains.keys()


# Exceptions as PyTorch raises them ----------------------------------------------------------


def tokens() -> torch.Tensor:
    return torch.ones(2, 6, 15)


def mask_not_cut() -> None:
    torch.ones(2, 6, 6).masked_fill_(torch.ones(11, 11, dtype=torch.bool), 0.0)


def mask_added_not_cut() -> None:
    torch.ones(2, 6, 6) + torch.ones(11, 11)


def mask_indexed_not_cut() -> None:
    torch.ones(6, 6)[torch.ones(11, 11, dtype=torch.bool)] = 0.0


def view_without_contiguous() -> None:
    torch.ones(2, 3, 6, 5).transpose(1, 2).view(2, 6, 15)


def reshaped_with_d_in() -> None:
    tokens().view(2, 6, 3, 7)


def keys_transposed_wrongly() -> None:
    heads = torch.ones(2, 3, 6, 5)
    heads @ heads.transpose(1, 2)


def linear_weight_not_transposed() -> None:
    torch.ones(6, 7) @ nn.Linear(7, 5).weight


def linear_weight_not_transposed_in_a_batch() -> None:
    torch.ones(2, 6, 7) @ nn.Linear(7, 5).weight


def features_attend() -> None:
    held = torch.ones(6, 4)
    (held.T @ held) @ held


def batch_transposed() -> None:
    held = torch.ones(2, 6, 5)
    held @ held.transpose(0, 1)


def batch_turned_round() -> None:
    held = torch.ones(2, 6, 5)
    held @ held.permute(2, 1, 0)


def sums_without_keepdim() -> None:
    torch.ones(4, 6) / torch.ones(4, 6).sum(dim=-1)


def weight_not_transposed_in_copy() -> None:
    target = nn.Parameter(torch.ones(7, 5))
    with torch.no_grad():
        target.copy_(nn.Linear(7, 5).weight)


RAISING: list[tuple[str, str, Callable[[], None]]] = [
    ("causal", "mask-not-cut", mask_not_cut),
    ("causal", "mask-not-cut", mask_added_not_cut),
    ("causal", "mask-not-cut", mask_indexed_not_cut),
    ("multi_head", "view-without-contiguous", view_without_contiguous),
    ("multi_head", "reshaped-with-d-in", reshaped_with_d_in),
    ("multi_head", "keys-transposed-wrongly", keys_transposed_wrongly),
    ("trainable", "linear-weight-not-transposed", linear_weight_not_transposed),
    ("causal", "linear-weight-not-transposed", linear_weight_not_transposed_in_a_batch),
    ("simplified", "features-attend", features_attend),
    ("causal", "transposed-batch", batch_transposed),
    ("causal", "transposed-batch", batch_turned_round),
    ("simplified", "softmax-without-keepdim", sums_without_keepdim),
    ("trainable", "copy-not-transposed", weight_not_transposed_in_copy),
]


@pytest.mark.parametrize(
    ("stage", "identifier", "slip"), RAISING, ids=[slip.__name__ for *_, slip in RAISING]
)
def test_the_exception_that_pytorch_raises_is_recognised(
    stage: str, identifier: str, slip: Callable[[], None]
) -> None:
    entry = catalogue_of(ASSIGNMENT.stage(stage)).named(identifier)
    with pytest.raises((RuntimeError, IndexError)) as caught:
        slip()
    assert entry.recognises(f"{caught.type.__name__}: {caught.value}")


@pytest.mark.parametrize(
    ("stage", "shape", "heads"), [("causal", (2, 6, 6), 1), ("multi_head", (2, 3, 6, 6), 3)]
)
def test_sums_that_do_not_fit_a_batch_are_recognised_by_what_the_sizes_are(
    stage: str, shape: tuple[int, ...], heads: int
) -> None:
    entry = catalogue_of(ASSIGNMENT.stage(stage)).named("softmax-without-keepdim")
    asked = Given(tokens=torch.ones(2, 6, 7), weights={"value": torch.ones(7, 15)}, heads=heads)
    with pytest.raises(RuntimeError) as caught:
        torch.ones(shape) / torch.ones(shape).sum(dim=-1)
    text = f"RuntimeError: {caught.value}"
    assert entry.recognises(text, asked)
    assert not entry.recognises(text)  # numbers alone say nothing
    with pytest.raises(RuntimeError) as other:
        torch.ones(shape).masked_fill(torch.ones(11, 11, dtype=torch.bool), 0.0)
    assert not entry.recognises(f"RuntimeError: {other.value}", asked)


# Which mistakes a name can have -------------------------------------------------------------


def one(**fields: object) -> Misconception:
    usual = {
        "id": "a",
        "criterion": "scaling",
    }
    return Misconception(**(usual | fields))  # type: ignore[arg-type]


def test_without_names_a_mistake_occurs_in_every_chain_with_its_step() -> None:
    chains = catalogue_of(ASSIGNMENT.stage("causal")).chains
    scaling = one(step="scaling")
    assert scaling.occurs_in("CausalAttention", chains["CausalAttention"])
    assert not scaling.occurs_in("masked_weights", chains["masked_weights"])


def test_without_a_step_the_criterion_tells_where_a_mistake_occurs() -> None:
    chains = catalogue_of(ASSIGNMENT.stage("causal")).chains
    assert one(criterion="dropout").occurs_in("CausalAttention", chains["CausalAttention"])
    assert not one(criterion="state").occurs_in("CausalAttention", chains["CausalAttention"])


def test_with_names_a_mistake_occurs_in_these_alone() -> None:
    chains = catalogue_of(ASSIGNMENT.stage("causal")).chains
    named = one(step="masking", names=("masked_weights", "merge_heads"))
    assert named.occurs_in("masked_weights", chains["masked_weights"])
    assert named.occurs_in("merge_heads", None)
    assert not named.occurs_in("CausalAttention", chains["CausalAttention"])


def test_mistakes_of_a_name_keep_the_catalogues_order() -> None:
    catalogue = catalogue_of(ASSIGNMENT.stage("multi_head"))
    found = catalogue.of("MultiHeadAttention")
    places = [catalogue.misconceptions.index(entry) for entry in found]
    assert all(first < second for first, second in pairwise(places))
    assert len(found) > 50


def test_an_unknown_id_is_the_kits_fault() -> None:
    with pytest.raises(InternalError, match="no-such-mistake"):
        catalogue_of(ASSIGNMENT.stage("causal")).named("no-such-mistake")


@pytest.fixture
def doubled(monkeypatch: pytest.MonkeyPatch) -> str:
    module = ModuleType("catalogue_with_a_double")
    module.CHAINS, module.NULLS = {}, ()  # type: ignore[attr-defined]
    module.MISCONCEPTIONS = (one(), one(criterion="scores"))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module.__name__


def test_two_mistakes_of_one_id_are_told_with_their_file(doubled: str) -> None:
    with pytest.raises(UsageError, match="two misconceptions are called 'a'"):
        load_catalogue(doubled)
