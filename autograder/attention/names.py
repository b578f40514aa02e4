"""Declarations of attention's names: modules with weights, and functions of tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from autograder.attention import words
from autograder.attention.chain import Given, Values, into_heads
from autograder.attention.sample import Sample, Sizes
from autograder.checks import sample as generic
from autograder.checks.declaration import Declaration, Probe, Question, Trial, View, rounded
from autograder.diagnosis.chain import Chain
from autograder.sandbox.host.student import Reply, Student

#: Where the contract keeps the weight of a role.
PATHS = {"query": "W_query", "key": "W_key", "value": "W_value", "output": "out_proj"}


@dataclass(frozen=True)
class Module(Declaration):
    """A class with weights for queries, keys and values.

    Attributes:
        chain: Its steps.
        sizes: Sizes of the hidden checks by label, pairwise different as far as a label allows:
            `usual`, `other`, `square` (as many features out as in), and for causal modules
            `whole` (as many tokens as the context) and `easy` (runs wherever anything does).
        further: Other sizes, where explanations are told apart.
        public: Sizes of the self-check's inputs.
        shown: Sizes in which its attention is drawn; None where it is not.
    """

    chain: Chain
    sizes: Mapping[str, Sizes]
    further: tuple[Sizes, ...] = ()
    public: tuple[Sizes, ...] = ()
    shown: Sizes | None = None

    @property
    def heads_to_watch(self) -> int:
        """How many heads a module has whose dropout is watched; 0 for a class of one head."""
        return 2 if self.sizes["usual"].heads else 0

    def given(self, tokens: Tensor, weights: Mapping[str, Tensor], sizes: Sizes) -> Given:
        """What a module of these sizes is called with, for the chain."""
        return Given(
            tokens=tokens,
            weights=weights,
            heads=max(sizes.heads, 1),
            context_length=sizes.context_length,
        )

    def questions(self, sample: generic.Sample) -> Sequence[Question]:
        """Other sizes than those of the hidden checks."""
        assert isinstance(sample, Sample)
        return [self._question(sample, sizes) for sizes in self.further]

    def _question(self, sample: Sample, sizes: Sizes) -> Question:
        from autograder.attention.checks.subject import build

        tokens, weights = sample.tokens("further", sizes), sample.weights("further", sizes)

        def ask(student: Student) -> Reply:
            return build(student, sample, self, sizes, weights=weights).module.ask(tokens)

        return Question(self.given(tokens, weights, sizes), ask)

    def view(self) -> View | None:
        """Its attention to the words of the worked example, seen through an identity."""
        from autograder.attention.checks.subject import build

        sizes = self.shown
        if sizes is None:
            return None
        weights = words.visible_weights(sizes)
        one_hot = torch.eye(sizes.tokens, sizes.d_in)
        tokens = torch.stack([one_hot, one_hot.flip(0)]) if sizes.batch else one_hot

        def ask(student: Student, sample: generic.Sample) -> Tensor:
            assert isinstance(sample, Sample)
            return build(student, sample, self, sizes, weights=weights)(tokens)

        def direct(found: Tensor) -> Tensor:
            first = found[0] if found.dim() == 3 else found
            return into_heads(first, max(sizes.heads, 1))[..., : sizes.tokens]

        return View(
            self.given(tokens, weights, sizes),
            ask,
            _first_weights,
            direct,
            words.WORDS,
            indirect=True,
            lower_half="masking" in self.chain.names,
        )

    def probes(self, sample: generic.Sample) -> Sequence[Probe]:
        """Modules with weights whose numbers the self-check has."""
        assert isinstance(sample, Sample)
        return [self._probe(sample, sizes) for sizes in self.public]

    def _probe(self, sample: Sample, sizes: Sizes) -> Probe:
        tokens = words.short(sample.tokens(self.name, sizes))
        weights = {
            role: words.short(each) for role, each in sample.weights(self.name, sizes).items()
        }
        return Probe(self.given(tokens, weights, sizes), told(sizes, tokens, {"": weights}))

    def trial(self) -> Trial | None:
        """Random sizes, weights and tokens, in both modes."""
        from autograder.attention import trials

        return trials.TRIALS.get(self.name)


def _first_weights(values: Values) -> Tensor | None:
    """The attention weights of the first text, `(H, T, T)`."""
    weights, tokens = values.weights, values.given.tokens
    if tokens is not None and tokens.dim() == 3 and weights.dim() > 2:
        weights = weights[0]
    if weights.dim() == 2:
        weights = weights.unsqueeze(0)
    return weights if weights.dim() == 3 else None


def told(
    sizes: Sizes, tokens: Tensor, weights: Mapping[str, Mapping[str, Tensor]]
) -> dict[str, object]:
    """What the self-check builds and calls: sizes, weights by path, arguments."""
    arguments: dict[str, object] = {"d_in": sizes.d_in, "d_out": sizes.d_out}
    if sizes.context_length:
        arguments |= {"context_length": sizes.context_length, "dropout": 0.0}
    if sizes.heads:
        arguments["num_heads"] = sizes.heads
    return {
        "sizes": arguments,
        "weights": {
            prefix + _path(role): rounded(weight, words.DIGITS)
            for prefix, each in weights.items()
            for role, weight in each.items()
        },
        "arguments": [rounded(tokens, words.DIGITS)],
    }


def _path(role: str) -> str:
    layer, _, bias = role.partition("_")
    return PATHS[layer] + (".bias" if bias else "")


@dataclass(frozen=True)
class Function(Declaration):
    """A function of tensors or of a number.

    Attributes:
        chain: Its steps; None where it is judged by checks of its own alone.
        further: Inputs on which explanations are told apart.
        public: The self-check's inputs.
        shown: What it is called with where what it returns is drawn.
    """

    chain: Chain | None = None
    further: Callable[[Sample], Sequence[Given]] = field(default=lambda sample: ())
    public: Callable[[Sample], Sequence[Given]] = field(default=lambda sample: ())
    shown: Given | None = None
    shares: bool = True

    def arguments(self, given: Given) -> list[object]:
        """What it is called with, in order."""
        if given.count:
            return [given.count]
        return [each for each in (given.query, given.tokens, given.scores) if each is not None]

    def questions(self, sample: generic.Sample) -> Sequence[Question]:
        """Other shapes than those of the hidden checks."""
        assert isinstance(sample, Sample)
        return [self._question(given) for given in self.further(sample)]

    def _question(self, given: Given) -> Question:
        return Question(given, lambda student: student.call(self.name, *self.arguments(given)))

    def view(self) -> View | None:
        """What it returns for the words of the worked example."""
        given, chain = self.shown, self.chain
        if given is None or chain is None:
            return None

        def ask(student: Student, _: generic.Sample) -> Tensor:
            from autograder.attention.checks.subject import tensor_of

            found = student.proxy(self.name)(*self.arguments(given))
            return tensor_of(found, len(words.WORDS), len(words.WORDS))

        return View(
            given,
            ask,
            lambda values: chain.result(values).float().unsqueeze(0),
            lambda found: found.unsqueeze(0),
            words.WORDS,
            lower_half="masking" in chain.names and self.shares,
            shares=self.shares,
        )

    def probes(self, sample: generic.Sample) -> Sequence[Probe]:
        """Short numbers that the self-check can hold."""
        assert isinstance(sample, Sample)
        return [
            Probe(
                given,
                {
                    "arguments": [
                        rounded(each, words.DIGITS) if isinstance(each, Tensor) else each
                        for each in self.arguments(given)
                    ]
                },
            )
            for given in self.public(sample)
        ]

    def trial(self) -> Trial | None:
        """Random arguments."""
        from autograder.attention import trials

        return trials.TRIALS.get(self.name)
