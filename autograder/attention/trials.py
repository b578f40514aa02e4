"""How a mutant of a solution and the solution are compared: random sizes, weights and arguments."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from autograder.checks.declaration import Namespace, Trial


@dataclass(frozen=True, slots=True)
class Configuration:
    """Sizes, seed and precision of one comparison; all sizes are allowed by the contract."""

    seed: int
    tokens: int
    batch: int
    d_in: int
    d_k: int
    heads: int
    spare: int  # how many tokens more the context has
    dropout: float
    bias: bool
    double: bool
    reach: float

    @property
    def context(self) -> int:
        """The context length."""
        return self.tokens + self.spare

    def numbers(self, *shape: int, reach: float | None = None) -> Tensor:
        """Random numbers, the same for the same configuration and shape.

        Args:
            *shape: The shape.
            reach: Their standard deviation; the configuration's by default.
        """
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + sum(shape))
        kind = torch.float64 if self.double else torch.float32
        drawn = torch.randn(*shape, generator=generator, dtype=torch.float64)
        return (drawn * (self.reach if reach is None else reach)).to(kind)


def configuration(seed: int) -> Configuration:
    """The configuration with this number."""
    draw = random.Random(seed)
    return Configuration(
        seed=seed,
        tokens=draw.choice((1, 2, 3, 4, 5, 7)),
        batch=draw.choice((1, 2, 3, 5)),
        d_in=draw.choice((1, 2, 3, 5, 8)),
        d_k=draw.choice((1, 2, 3, 4, 6)),
        heads=draw.choice((1, 2, 3, 4)),
        spare=draw.choice((0, 0, 1, 3)),
        dropout=draw.choice((0.0, 0.0, 0.3, 0.6)),
        bias=draw.random() < 0.5,
        double=draw.random() < 0.7,
        reach=draw.choice((0.3, 1.0, 2.0)),
    )


# What is asked of each name -----------------------------------------------------------------

Question = Callable[[Namespace, Configuration], Iterator[tuple[str, object]]]


def _called(function: Callable[..., object], *arguments: Tensor) -> Iterator[tuple[str, object]]:
    held = [argument.requires_grad_(True) for argument in arguments]
    value = function(*held)
    yield "value", value
    if isinstance(value, Tensor) and value.requires_grad:
        weighted = (value * torch.linspace(0.5, 1.5, value.numel()).reshape(value.shape)).sum()
        for place, gradient in enumerate(
            torch.autograd.grad(weighted, held, allow_unused=True, materialize_grads=True)
        ):
            yield f"gradient {place}", gradient
    for place, argument in enumerate(held):
        yield f"argument {place}", argument


def _of_query(name: str) -> Question:
    def ask(space: Namespace, chosen: Configuration) -> Iterator[tuple[str, object]]:
        query = chosen.numbers(chosen.d_in)
        return _called(space[name], query, chosen.numbers(chosen.tokens, chosen.d_in))

    return ask


def _of_tokens(name: str) -> Question:
    def ask(space: Namespace, chosen: Configuration) -> Iterator[tuple[str, object]]:
        return _called(space[name], chosen.numbers(chosen.tokens, chosen.d_in))

    return ask


def _of_scores(name: str, widest: float, square: bool) -> Question:
    def ask(space: Namespace, chosen: Configuration) -> Iterator[tuple[str, object]]:
        size = chosen.tokens
        front = (size,) if square else (chosen.batch, chosen.heads)[: chosen.seed % 3]
        reach = widest if chosen.seed % 4 == 0 else chosen.reach
        return _called(space[name], chosen.numbers(*front, size, reach=reach))

    return ask


def _of_count(space: Namespace, chosen: Configuration) -> Iterator[tuple[str, object]]:
    yield "value", space["causal_mask"](chosen.tokens)


def _arguments(name: str, chosen: Configuration) -> dict[str, object]:
    split = name == "MultiHeadAttention"
    # Every tenth split is one that must be refused.
    width = chosen.d_k * (chosen.heads if split else 1) + (split and chosen.seed % 10 == 0)
    arguments: dict[str, object] = {"d_in": chosen.d_in, "d_out": width}
    if not name.startswith("SelfAttention"):
        arguments |= {"context_length": chosen.context, "dropout": chosen.dropout}
    if name.startswith("MultiHead"):
        arguments["num_heads"] = chosen.heads
    if name != "SelfAttention_v1":
        arguments["qkv_bias"] = chosen.bias
    return arguments


def _made(space: Namespace, name: str, chosen: Configuration, label: int = 0) -> nn.Module:
    """A module with weights that are the same for every class that names them the same."""
    module: nn.Module = space[name](**_arguments(name, chosen))
    if chosen.double:
        module.double()
    with torch.no_grad():
        for place, parameter in sorted(module.named_parameters()):
            mark = label + sum(map(ord, place))
            generator = torch.Generator().manual_seed(chosen.seed * 7_919 + mark)
            drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(drawn * chosen.reach)
    return module


def _state(module: nn.Module, mark: str = "") -> Iterator[tuple[str, object]]:
    yield f"{mark}mode", module.training
    yield f"{mark}class", type(module).__name__
    yield f"{mark}stored", sorted(module.state_dict())
    yield f"{mark}kinds", sorted((path, type(each).__name__) for path, each in _children(module))
    for path, parameter in module.named_parameters():
        yield f"{mark}parameter {path}", parameter
        yield f"{mark}trained {path}", parameter.requires_grad
    for path, buffer in module.named_buffers():
        yield f"{mark}buffer {path}", buffer


def _children(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    return ((path, each) for path, each in module.named_modules() if path)


def _run(
    module: nn.Module, tokens: Tensor, chosen: Configuration, mark: str = ""
) -> Iterator[tuple[str, object]]:
    """Outputs in eval mode, twice, and in training with the same seed, then gradients."""
    module.eval()
    yield f"{mark}eval", module(tokens)
    yield f"{mark}eval again", module(tokens)
    module.train()
    torch.manual_seed(chosen.seed)
    trained = module(tokens)
    yield f"{mark}train", trained
    cotangent = torch.linspace(0.5, 1.5, trained.numel(), dtype=trained.dtype)
    (trained * cotangent.reshape(trained.shape)).sum().backward()
    for path, parameter in module.named_parameters():
        gradient = parameter.grad
        yield f"{mark}gradient {path}", "none" if gradient is None else gradient
    yield f"{mark}gradient", tokens.grad if tokens.grad is not None else "none"
    yield f"{mark}tokens", tokens


def _of_module(name: str) -> Question:
    def ask(space: Namespace, chosen: Configuration) -> Iterator[tuple[str, object]]:
        module = _made(space, name, chosen)
        yield from _state(module)
        front = () if name.startswith("SelfAttention") else (chosen.batch,)
        tokens = chosen.numbers(*front, chosen.tokens, chosen.d_in).requires_grad_(True)
        yield from _run(module, tokens, chosen)

    return ask


def _of_copying(space: Namespace, chosen: Configuration) -> Iterator[tuple[str, object]]:
    source = space["SelfAttention_v2"](chosen.d_in, chosen.d_k)
    target = _made(space, "SelfAttention_v1", chosen, label=1)
    if chosen.double:
        source.double()
    with torch.no_grad():
        for place, parameter in enumerate(source.parameters()):
            parameter.copy_(chosen.numbers(*parameter.shape) + place)
    yield "value", space["copy_weights"](source, target)
    yield from _state(source, "source ")
    yield from _state(target, "target ")
    tokens = chosen.numbers(chosen.tokens, chosen.d_in)
    yield "output", target(tokens)


def _of_merging(space: Namespace, chosen: Configuration) -> Iterator[tuple[str, object]]:
    chosen = replace(chosen, double=False)  # of what precision a merged module is, is left open
    wrapper = _made(space, "MultiHeadAttentionWrapper", chosen).train(chosen.seed % 2 == 0)
    merged = space["merge_heads"](wrapper)
    yield from _state(wrapper, "wrapper ")
    yield from (shown for shown in _state(merged) if shown[0] != "mode")  # nothing is promised
    tokens = chosen.numbers(chosen.batch, chosen.tokens, chosen.d_in)
    yield from _run(merged, tokens, chosen)


def _of_gpt2(space: Namespace, chosen: Configuration) -> Iterator[tuple[str, object]]:
    module = space["gpt2_attention"]()
    yield from _state(module)
    yield "eval", module.eval()(chosen.numbers(1, 5, 768).float())


QUESTIONS: Mapping[str, Question] = {
    "attention_scores": _of_query("attention_scores"),
    "softmax": _of_scores("softmax", 500.0, square=False),
    "context_vector": _of_query("context_vector"),
    "attention_weights": _of_tokens("attention_weights"),
    "context_vectors": _of_tokens("context_vectors"),
    "SelfAttention_v1": _of_module("SelfAttention_v1"),
    "SelfAttention_v2": _of_module("SelfAttention_v2"),
    "copy_weights": _of_copying,
    "causal_mask": _of_count,
    "renormalized_weights": _of_scores("renormalized_weights", 4.0, square=True),
    "masked_weights": _of_scores("masked_weights", 500.0, square=True),
    "CausalAttention": _of_module("CausalAttention"),
    "MultiHeadAttentionWrapper": _of_module("MultiHeadAttentionWrapper"),
    "MultiHeadAttention": _of_module("MultiHeadAttention"),
    "merge_heads": _of_merging,
    "gpt2_attention": _of_gpt2,
}


def _trial(question: Question, most: int | None = None) -> Trial:
    return Trial(lambda space, number: question(space, configuration(number)), most)


#: A name without arguments is asked once: 768 columns are slow to make.
TRIALS: Mapping[str, Trial] = {
    name: _trial(question, 1 if name == "gpt2_attention" else None)
    for name, question in QUESTIONS.items()
}
