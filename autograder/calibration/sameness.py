"""Is a mutant the same program as the solution? Tried on many random configurations.

Both packages, which are the kit's own sources and no student's, are loaded side by side. The names
of the mutated module and of later ones are called in both with the same arguments, weights and
seeds. Values, exceptions, arguments afterwards, state, and gradients in both modes are compared.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import torch
from torch import Tensor, nn

from autograder.calibration.configurations import (
    Configuration,
    Namespace,
    configuration,
    loaded,
)
from autograder.diagnosis.compare import same

#: How many configurations a mutant must agree on to count as the same program.
CONFIGURATIONS = 1_000
A_FEW = 40  # for a name that can only differ by calling another

#: What one call showed: tensors by what they are, everything else as text.
Seen = dict[str, Tensor | str]


def first_difference(
    solution: Mapping[str, str],
    mutant: Mapping[str, str],
    changed_name: str,
    configurations: int = CONFIGURATIONS,
) -> str | None:
    """Find a difference between a mutant and the solution.

    Args:
        solution: The solutions' sources by module, in the order of the stages.
        mutant: The same with one module changed.
        changed_name: The function or class that was changed. Other names can differ only by
            calling it, so they get fewer configurations.
        configurations: How many configurations to try.

    Returns:
        The name and the number of the configuration; None if there is no difference.
    """
    ours = loaded(solution)
    try:
        theirs = loaded(mutant)
    except Exception as error:
        return f"cannot be loaded: {type(error).__name__}"
    changed = [module for module in solution if solution[module] != mutant[module]]
    names = [
        (module, name)
        for module in list(solution)[list(solution).index(changed[0]) :]
        for name in QUESTIONS
        if name in ours[module] and getattr(ours[module][name], "__module__", "").endswith(module)
    ]
    with warnings.catch_warnings(), torch.random.fork_rng():
        warnings.simplefilter("ignore")
        for seed in range(configurations):
            chosen = configuration(seed)
            for module, name in names:
                if seed >= WITHOUT_ARGUMENTS.get(
                    name, CONFIGURATIONS if name == changed_name else A_FEW
                ):
                    continue
                one, other = (_seen(space[module], name, chosen) for space in (ours, theirs))
                if not _agree(one, other):
                    return f"{name} in configuration {seed}"
    return None


def start_quietly() -> None:
    """Set up a process that compares beside others: it uses one core."""
    torch.set_num_threads(1)


def _seen(space: Namespace, name: str, chosen: Configuration) -> Seen:
    torch.manual_seed(chosen.seed)
    seen: Seen = {}
    try:
        for what, value in QUESTIONS[name](space, chosen):
            seen[what] = value.detach().clone() if isinstance(value, Tensor) else str(value)
    except Exception as error:
        seen["raised"] = _kind(error)
    return seen


def _kind(error: Exception) -> str:
    """The kind of an exception; both kinds of refusal that the contract allows are the same."""
    refused = isinstance(error, ValueError | AssertionError)
    return "refused" if refused else type(error).__name__


def _agree(one: Seen, other: Seen) -> bool:
    if one.keys() != other.keys():
        return False
    for what, ours in one.items():
        theirs = other[what]
        if isinstance(ours, Tensor) and isinstance(theirs, Tensor):
            if ours.dtype != theirs.dtype or not same(theirs, ours):
                return False
        elif ours != theirs:
            return False
    return True


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

#: Names without arguments are asked once: 768 columns are slow to make.
WITHOUT_ARGUMENTS: Mapping[str, int] = {"gpt2_attention": 1}
