"""Stage 4: heads side by side, and the exercises on both forms (section 3.6.1, exercises)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace
from torch import Tensor

from autograder.attention import trials, words
from autograder.attention.chain import Given
from autograder.attention.checks.causal_modules import NAMES as MODULES
from autograder.attention.checks.heads import (
    CAUSAL,
    HEAD,
    OTHER,
    ROLES,
    TAKES_BIAS,
    USUAL,
    WRAPPER,
    armed,
    head_output,
    head_roles,
    head_weights,
    heads_and_whole,
    real_tensors,
    roles_of_heads,
)
from autograder.attention.checks.subject import make, tensor_of
from autograder.attention.misconceptions.trainable import ATTENDS
from autograder.attention.names import told
from autograder.attention.sample import Sample, Sizes
from autograder.checks import sample as generic
from autograder.checks.declaration import Declaration, Probe, Trial
from autograder.checks.evidence import Observer
from autograder.checks.failures import CheckFailed, require
from autograder.checks.marks import cases, criterion, dependence, own, setting, values
from autograder.diagnosis.chain import run
from autograder.diagnosis.compare import same
from autograder.sandbox.host.student import ModuleProxy, Student

BIASED = replace(USUAL, bias=True)

#: What the names of this stage are built on.
BUILT_ON = {WRAPPER: HEAD, "merge_heads": HEAD}


@dataclass(frozen=True)
class Wrapper(Declaration):
    """The class that joins heads; what it is asked comes with heads of known weights."""

    def probes(self, sample: generic.Sample) -> Sequence[Probe]:
        """Heads with weights of their own; the right chain computes what each returns."""
        assert isinstance(sample, Sample)
        single = Sizes(d_in=4, d_out=3, tokens=5, batch=3, context_length=8)
        head = MODULES[CAUSAL].chain
        tokens = words.short(sample.tokens("head 0", single))
        held: dict[str, dict[str, Tensor]] = {}
        parts = []
        for number in range(2):
            drawn = sample.weights(f"head {number}", single)
            weights = {role: words.short(each) for role, each in drawn.items()}
            held[f"heads.{number}."] = weights
            parts.append(run(head, Given(tokens=tokens, weights=weights)))
        given = Given(tokens=tokens, parts=tuple(parts))
        return [Probe(given, told(replace(single, heads=2), tokens, held))]

    def trial(self) -> Trial | None:
        """Random sizes, weights and tokens, in both modes."""
        return trials.TRIALS.get(self.name)


NAMES = {WRAPPER: Wrapper(WRAPPER)}


@values(of=WRAPPER)
@cases("sizes", [USUAL, OTHER], labels=["usual", "other"])
def heads_stand_side_by_side(
    sizes: Sizes, student: Student, sample: Sample, observe: Observer
) -> None:
    """The output is the outputs of the wrapper's own heads, joined along the last dimension."""
    wrapper, heads = armed(student, sample, sizes)
    tokens = sample.tokens("strong", sizes)
    for parts, whole in heads_and_whole(wrapper, heads, (tokens,), sizes, observe.counted):
        observe(Given(tokens=tokens, parts=parts), whole)


@setting("stacking", of=WRAPPER)
def any_number_of_tokens_works(student: Student, sample: Sample, observe: Observer) -> None:
    """Any number of tokens works, from 1 to `context_length`."""
    wrapper, heads = armed(student, sample, OTHER)
    counts = (1, OTHER.context_length)
    texts = [sample.tokens("length", replace(OTHER, tokens=count, batch=1)) for count in counts]
    each = heads_and_whole(wrapper, heads, texts, OTHER, observe.counted)
    for tokens, (parts, whole) in zip(texts, each, strict=True):
        observe(Given(tokens=tokens, parts=parts), whole)


@dependence(of=WRAPPER, told=ATTENDS)
def output_depends_on_queries_and_keys_of_the_heads(student: Student, sample: Sample) -> None:
    """The output depends on the heads' query and key weights, and on nothing random."""
    wrapper, heads = armed(student, sample, USUAL)
    tokens = sample.tokens("strong", USUAL)
    shape = (USUAL.batch, USUAL.tokens, USUAL.heads * USUAL.d_out)
    once, again = (tensor_of(wrapper(tokens), *shape) for _ in range(2))
    require(same(again, once), "a different output at the second call", "the same output twice")
    for number, head in enumerate(heads):
        roles = head_roles(head, USUAL)
        if roles is None:
            return
        weights = head_weights(sample, USUAL, number)
        for role in ("query", "key"):
            weights[role] = sample.numbers(f"other {number} {role}", *weights[role].shape)
        head.set(roles.settings(weights))
    require(
        not same(tensor_of(wrapper(tokens), *shape), once),
        "the same output whatever the heads' queries and keys are",
        "an output that depends on scores between tokens",
    )


@criterion("stacking", of=WRAPPER)
def output_is_as_wide_as_all_heads_together(student: Student, sample: Sample) -> None:
    """`(b, T, H * d_out)`."""
    wrapper, _ = armed(student, sample, USUAL)
    found = wrapper(sample.tokens("strong", USUAL))
    tensor_of(found, USUAL.batch, USUAL.tokens, USUAL.heads * USUAL.d_out)


@own("stacking", of=WRAPPER)
def every_head_has_weights_of_its_own(student: Student, sample: Sample) -> None:
    """Heads that were given different weights keep them apart."""
    _, heads = armed(student, sample, USUAL)
    student.fetch(heads)
    for number, head in enumerate(heads):
        roles = head_roles(head, USUAL)
        if roles is None:
            return
        held = roles.read(real_tensors(head))
        require(
            "value" not in held
            or same(held["value"], head_weights(sample, USUAL, number)["value"]),
            "heads that share their weights: the list holds the same module several times",
            "a module of its own for every head",
            misconception="one-head-repeated",
        )


@own("stacking", of=WRAPPER)
def heads_get_the_dropout_rate(
    student: Student, sample: Sample, findings: Mapping[str, bool]
) -> None:
    """A wrapper passes its dropout rate on to its heads."""
    _, heads = armed(student, sample, USUAL, dropout=0.5)
    tokens = sample.tokens("strong", USUAL)

    stands_in = not findings[CAUSAL]  # whose dropout is right
    alone = () if stands_in else (make(student, CAUSAL, replace(USUAL, heads=0), dropout=0.5),)
    modes = (False, True)
    calls = [module.asked(tokens, training=mode) for module in (*alone, *heads) for mode in modes]
    replies = heads[0].ask_each(calls)

    def vary(modules: Sequence[ModuleProxy]) -> bool:
        outputs = [head_output(next(replies), tokens, USUAL) for _ in modules for _ in modes]
        return not any(
            same(trained, kept) for kept, trained in zip(outputs[::2], outputs[1::2], strict=True)
        )

    if vary(alone):
        require(
            vary(heads),
            "heads that drop nothing in training",
            "heads built with the wrapper's dropout rate",
        )


@own("state", of=WRAPPER)
def heads_are_a_module_list(student: Student) -> None:
    """`heads` is a ModuleList, so that the heads' weights are the wrapper's parameters."""
    wrapper = make(student, WRAPPER, USUAL)
    registered = {path for path, _ in wrapper.submodules}
    if "heads.0" not in registered:
        require(
            "heads.0" not in {path for path, _ in wrapper.hidden_modules},
            "heads in a plain list",
            "heads in an nn.ModuleList",
            misconception="heads-in-list",
        )
        raise CheckFailed("no `heads`", f"`heads`, a ModuleList of {USUAL.heads} CausalAttention")
    require(
        f"heads.{USUAL.heads - 1}" in registered and f"heads.{USUAL.heads}" not in registered,
        "another number of heads",
        f"{USUAL.heads} heads",
    )


@own("state", of=WRAPPER)
def bias_reaches_the_heads(student: Student, findings: Mapping[str, bool]) -> None:
    """A wrapper passes `qkv_bias` on to its heads."""
    if not findings[TAKES_BIAS]:
        return  # what its head has no argument for, a wrapper cannot hand on
    # A head that follows `qkv_bias` stands here: the student's own, or one in its place.
    both = ((BIASED, "bias-ignored"), (USUAL, "bias-always"))
    for sizes, misconception in both:
        places = [roles.places for roles in roles_of_heads(student, sizes) if roles is not None]
        found = [f"{role}_bias" in held for held in places for role in ROLES]
        require(
            all(found) if sizes.bias else not any(found),
            f"heads {'without' if sizes.bias else 'with'} bias with qkv_bias={sizes.bias}",
            "heads built with the wrapper's `qkv_bias`",
            misconception=misconception,
        )


# gpt2_attention -----------------------------------------------------------------------------
