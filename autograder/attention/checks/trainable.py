"""Stage 2: scaled dot-product attention with trainable weights (chapter 3, section 3.4)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import torch
from msgspec.structs import replace

from autograder.attention import words
from autograder.attention.checks import attention, state
from autograder.attention.checks.attention import matches
from autograder.attention.checks.functions import rows_sum_to_one
from autograder.attention.checks.subject import build, make
from autograder.attention.misconceptions.trainable import ATTENDS, CHAINS
from autograder.attention.names import Function, Module
from autograder.attention.sample import Sample, Sizes, doubled
from autograder.checks.evidence import Observer
from autograder.checks.failures import CheckFailed, NotSeen, require, told_shape
from autograder.checks.marks import cases, criterion, dependence, own, setting, values
from autograder.diagnosis.compare import same
from autograder.sandbox.host.student import ModuleProxy, Student, StudentFault

V1, V2 = "SelfAttention_v1", "SelfAttention_v2"
BOTH = (V1, V2)
WEIGHTS = ("W_query", "W_key", "W_value")

USUAL = Sizes(d_in=7, d_out=5, tokens=6)
OTHER = Sizes(d_in=4, d_out=2, tokens=9)
SQUARE = Sizes(d_in=8, d_out=8, tokens=5)
BIASED = Sizes(d_in=8, d_out=8, tokens=6, bias=True)
STRONG = ("usual", "other", "square")

FURTHER = (
    Sizes(d_in=6, d_out=11, tokens=3),
    Sizes(d_in=5, d_out=5, tokens=5),
    Sizes(d_in=3, d_out=9, tokens=17),
)


def _declared(name: str, further: tuple[Sizes, ...]) -> Module:
    return Module(
        name,
        CHAINS[name],
        sizes={"usual": USUAL, "other": OTHER, "square": SQUARE},
        further=further,
        public=(Sizes(d_in=4, d_out=3, tokens=5), Sizes(d_in=4, d_out=4, tokens=5)),
        shown=words.shown(),
    )


MODULES = {
    V1: _declared(V1, FURTHER),
    V2: _declared(V2, (*FURTHER[:2], replace(FURTHER[2], bias=True))),
}
NAMES = {**MODULES, "copy_weights": Function("copy_weights")}


@values(of=BOTH)
@cases("sizes", STRONG)
def outputs_equal_the_reference(
    sizes: str, declared: Module, student: Student, sample: Sample, observe: Observer
) -> None:
    """With the same weights the output is the reference's, on strong inputs."""
    chosen = declared.sizes[sizes]
    subject = build(student, sample, declared, chosen)
    matches(observe, subject, sample.tokens("strong", chosen), operators=True)


@dependence(of=BOTH, told=ATTENDS)
def output_depends_on_queries_and_keys(declared: Module, student: Student, sample: Sample) -> None:
    """Other query and key weights give another output."""
    usual = declared.sizes["usual"]
    subject = build(student, sample, declared, usual)
    attention.attends(subject, sample, sample.tokens("strong", usual))


@criterion("projections", of=BOTH)
def query_key_and_value_weights_all_count(
    declared: Module, student: Student, sample: Sample
) -> None:
    """Other weights give another output; the values enter linearly."""
    usual = declared.sizes["usual"]
    subject = build(student, sample, declared, usual)
    attention.every_projection_counts(subject, sample, sample.tokens("strong", usual))


@criterion("scores", of=BOTH)
def scores_are_products_of_queries_and_keys(
    declared: Module, student: Student, sample: Sample
) -> None:
    """Queries doubled and keys halved give the same scores."""
    usual = declared.sizes["usual"]
    subject = build(student, sample, declared, usual)
    attention.scores_are_products(subject, sample.tokens("strong", usual))


@criterion("scaling", of=BOTH)
def scores_are_divided_by_the_root_of_the_key_size(
    declared: Module, student: Student, sample: Sample
) -> None:
    """With scores known in advance, weights show what they were divided by."""
    attention.scaled_by_root(student, sample, declared, declared.sizes["usual"])


@criterion("softmax", of=BOTH)
def weights_of_every_token_sum_to_one(declared: Module, student: Student, sample: Sample) -> None:
    """With the identity as values the output shows the weights: each row sums to 1."""
    rows_sum_to_one(attention.seen_weights(student, sample, declared, tokens=6))


@lru_cache(maxsize=16)  # the same for every submission
def four_times(weight: torch.Tensor) -> torch.Tensor:
    """A weight so large that scores reach 80."""
    return weight * 4.0


@setting("softmax", of=BOTH)
def large_scores_stay_finite(
    declared: Module, student: Student, sample: Sample, observe: Observer
) -> None:
    """Scores of up to 80 give finite, right outputs."""
    usual = declared.sizes["usual"]
    weights = sample.weights("strong", usual)
    weights["query"] = four_times(weights["query"])
    subject = build(student, sample, declared, usual, weights=weights)
    matches(observe, subject, sample.tokens("strong", usual))


@criterion("context", of=BOTH)
def context_is_a_weighted_sum_of_values(declared: Module, student: Student, sample: Sample) -> None:
    """The output for a sum of two value weights is the sum of both outputs."""
    other = declared.sizes["other"]
    subject = build(student, sample, declared, other)
    attention.values_enter_linearly(subject, sample, sample.tokens("strong", other))


@own("state", of=V1)
def v1_keeps_three_parameters(student: Student) -> None:
    """`W_query`, `W_key` and `W_value` are parameters of shape (d_in, d_out)."""
    state.weights_are_named(make(student, V1, USUAL), USUAL, layers=False, output=False)


@own("state", of=V2)
def v2_keeps_three_linear_layers(student: Student) -> None:
    """`W_query`, `W_key` and `W_value` are linear layers."""
    state.weights_are_named(make(student, V2, USUAL), USUAL, layers=True, output=False)


@own("state", of=BOTH)
def every_weight_learns_and_nothing_else_is_kept(
    declared: Module, student: Student, sample: Sample
) -> None:
    """Gradients reach every weight; calling twice gives the same output."""
    square = declared.sizes["square"]
    subject = build(student, sample, declared, square)
    tokens = sample.tokens("strong", square)
    state.learns_and_keeps_nothing_else(subject, sample, tokens)


@own("state", of=V2, aspect="bias")
def bias_follows_qkv_bias(student: Student) -> None:
    """The three layers have a bias when it is asked for and only then."""
    state.bias_follows(student, V2, USUAL)


@setting("state", of=V2, aspect="bias")
def biases_take_part(student: Student, sample: Sample, observe: Observer) -> None:
    """With `qkv_bias=True` the biases are added."""
    subject = build(student, sample, MODULES[V2], BIASED)
    attention.biases_matter(observe, subject, sample.tokens("strong", BIASED))


@setting("form", of=BOTH)
def any_number_of_tokens_in_any_layout_works(
    declared: Module, student: Student, sample: Sample, observe: Observer
) -> None:
    """Any number of tokens works, one included, and so does a view of another tensor."""
    other = declared.sizes["other"]
    subject = build(student, sample, declared, other)
    lengths = ((0, 1), (0, 3), (0, 13))  # none is d_out: values are told apart by their shapes
    attention.matches_in_any_form(observe, subject, sample, lengths, ("transposed", "sliced"))


@own("form", of=BOTH)
def one_tensor_comes_back(declared: Module, student: Student, sample: Sample) -> None:
    """The output is a single tensor `(T, d_out)`, and the input is unchanged."""
    square = declared.sizes["square"]
    subject = build(student, sample, declared, square)
    state.one_tensor_comes_back(subject, sample.tokens("strong", square))


@setting("form", of=BOTH)
def double_precision_works(
    declared: Module, student: Student, sample: Sample, observe: Observer
) -> None:
    """Converted with `.double()` the module works in float64, to its precision."""
    usual = declared.sizes["usual"]
    subject = attention.in_double(build(student, sample, declared, usual))
    matches(observe, subject, doubled(sample.tokens("strong", usual)))


# copy_weights -------------------------------------------------------------------------------


def pair(student: Student, sample: Sample, sizes: Sizes) -> tuple[ModuleProxy, ModuleProxy]:
    """A `SelfAttention_v2` and a `SelfAttention_v1` of the same sizes, with known weights.

    The target holds other weights than the source, so that what was not copied shows.
    """
    try:
        source = build(student, sample, MODULES[V2], sizes)
        target = build(student, sample, MODULES[V1], sizes, label="target")
    except (StudentFault, CheckFailed) as fault:
        raise NotSeen(f"{V1} or {V2} that cannot be built", "both to copy between") from fault
    return source.module, target.module


@own("copying", of="copy_weights")
@cases("sizes", [USUAL, SQUARE], labels=["usual", "square"])
def target_holds_the_transposed_weights_of_the_source(
    sizes: Sizes, student: Student, sample: Sample
) -> None:
    """Afterwards each parameter of `target` is the transpose of the layer's weight in `source`."""
    source, target = pair(student, sample, sizes)
    if not registered(source) or not registered(target):
        return  # weights that are no parameters are judged with their class
    seen = student.copy_weights.watched(source, target, before=(source, target), after=(target,))
    wanted = weights_in(source, next(seen), transposed=True)
    before = weights_in(target, next(seen))
    next(seen)
    copied = {}
    for role, held in weights_in(target, next(seen)).items():
        turned = held.shape == wanted[role].T.shape and same(held, wanted[role].T)
        right = held.shape == wanted[role].shape and same(held, wanted[role])
        require(
            right or not turned,
            f"`{role}` that is not transposed",
            f"`{role}` of shape (d_in, d_out), the layer's weight transposed",
            misconception="copy-not-transposed",
        )
        require(
            right or (held.shape == before[role].shape and same(held, before[role])),
            f"other numbers in `{role}`, of shape {told_shape(held.shape)}",
            f"the source's weights, of shape {told_shape(wanted[role].shape)}",
        )
        copied[role] = right
    if not any(copied.values()):
        source.forget_tensors()
        now = weights_in(source, source.tensors(), transposed=True)
        raise CheckFailed(
            "a target that holds its old weights",
            "the source's weights",
            misconception="copy-wrong-direction"
            if any(differs(now[role], wanted[role]) for role in wanted)
            else None,
        )
    require(
        all(copied.values()),
        "not copied: " + ", ".join(f"`{role}`" for role in copied if not copied[role]),
        "all three copied",
        misconception="copy-incomplete",
    )


def registered(module: ModuleProxy) -> bool:
    """Whether the module holds the contract's three weights as parameters."""
    return all(
        role in module.parameters or f"{role}.weight" in module.parameters for role in WEIGHTS
    )


def weights_in(
    module: ModuleProxy, tensors: Mapping[str, object], transposed: bool = False
) -> dict[str, torch.Tensor]:
    """The three weights by their contract names, from what a module holds by path."""
    found = {role: weight_in(module, tensors, role) for role in WEIGHTS}
    return {role: held.T for role, held in found.items()} if transposed else found


def differs(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two weights differ."""
    return one.shape != other.shape or not same(one, other)


def weight_in(module: ModuleProxy, tensors: Mapping[str, object], path: str) -> torch.Tensor:
    """A weight by its contract name, whether a parameter or the weight of a layer."""
    for place in (path, f"{path}.weight"):
        held = tensors.get(place) if place in module.parameters else None
        if isinstance(held, torch.Tensor) and held.dim() == 2:
            return held
    raise CheckFailed(f"no parameter `{path}` any more", f"a parameter `{path}`")


@own("copying", of="copy_weights")
def source_is_left_as_it_was(student: Student, sample: Sample) -> None:
    """`copy_weights` changes `target` only."""
    source, target = pair(student, sample, USUAL)
    if not registered(source) or not registered(target):
        return  # weights that are no parameters are judged with their class
    seen = student.copy_weights.watched(source, target, before=(source,), after=(source,))
    before = weights_in(source, next(seen))
    next(seen)
    after = weights_in(source, next(seen))
    require(
        not any(differs(after[role], before[role]) for role in WEIGHTS),
        "a source whose weights have changed",
        "a source left as it was",
        misconception="copy-wrong-direction",
    )
