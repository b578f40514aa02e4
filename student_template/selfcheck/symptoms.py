"""Mistakes that a single call does not show: in parameters, gradients, training, refusals.

Each symptom is a question to the student's code whose answer can only be "yes" where the mistake
is made. A question that raises has no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

Question = Callable[[Any], bool]

_SIZES: dict[str, dict[str, Any]] = {
    "SelfAttention_v1": {"d_in": 5, "d_out": 3},
    "SelfAttention_v2": {"d_in": 5, "d_out": 3},
    "CausalAttention": {"d_in": 5, "d_out": 3, "context_length": 9, "dropout": 0.0},
    "MultiHeadAttentionWrapper": {
        "d_in": 5, "d_out": 3, "context_length": 9, "dropout": 0.0, "num_heads": 2,
    },
    "MultiHeadAttention": {
        "d_in": 5, "d_out": 6, "context_length": 9, "dropout": 0.0, "num_heads": 2,
    },
}  # fmt: skip


#: Functions of stage 1, called with so many tokens of a width, and how many rows they should give.
_CALLS: dict[str, Callable[[Any, int, int], tuple[Tensor, int]]] = {
    "attention_scores": lambda f, count, width: (f(_ones(width), _ones(count, width)), count),
    "softmax": lambda f, count, width: (f(_ones(count - 2, count)), count - 2),
    "context_vector": lambda f, count, width: (f(_ones(width), _ones(count, width)), width),
    "attention_weights": lambda f, count, width: (f(_ones(count, width)), count),
    "context_vectors": lambda f, count, width: (f(_ones(count, width)), count),
}


def _ones(*shape: int) -> Tensor:
    return torch.ones(shape)


def symptoms_of(module: ModuleType, name: str) -> Iterator[str]:
    """The ids of the mistakes that a name shows, in the order in which they are best told."""
    target = getattr(module, name)
    for identifier, question in _questions(module, name):
        # Not `torch.manual_seed`: that notes where it was called, for devices that are not used.
        torch.default_generator.manual_seed(0)
        try:
            if question(target):
                yield identifier
        except Exception:
            continue


def _questions(module: ModuleType, name: str) -> list[tuple[str, Question]]:
    fixed: list[tuple[str, Question]] = []
    if name in _CALLS or name in _SIZES:
        fixed = [("sizes-hard-coded", lambda target: _only_the_example(target, name))]
    if name in _CALLS:
        shifted = {"softmax": _not_shifted, "attention_weights": _weights_not_shifted}
        own = [("softmax-no-shift", shifted[name])] if name in shifted else []
        return [*own, *fixed]
    if name == "causal_mask":
        return [("mask-not-bool", lambda mask: mask(3).dtype != torch.bool)]
    if name == "copy_weights":
        return _of_copying(module)
    if name == "merge_heads":
        return [
            ("merge-transposed", lambda merge: _does_not_fit(merge, module)),
            ("merge-identity-missing", lambda merge: _mixes(merge, module)),
        ]
    if name == "gpt2_attention":
        return [("gpt2-sizes", _not_gpt2)]
    if name not in _SIZES:
        return []
    sizes = _SIZES[name]
    questions: list[tuple[str, Question]] = [
        ("super-init-missing", lambda kind: _raises_before_init(kind, sizes)),
        ("heads-in-list", lambda kind: _has_list_of_heads(kind(**sizes))),
        ("one-head-repeated", lambda kind: _repeats_a_head(kind(**sizes))),
        ("unregistered-parameters", lambda kind: _has_plain_weights(kind(**sizes))),
        ("names-differ", lambda kind: _has_other_names(kind(**sizes))),
        ("weights-made-anew", lambda kind: _changes_its_mind(kind(**sizes).eval(), name)),
        ("gradient-cut", lambda kind: _is_cut(kind(**sizes), name)),
    ]
    if name != "SelfAttention_v1":
        questions += [
            ("bias-always", lambda kind: _biases(kind(**sizes)) > 0),
            ("bias-ignored", lambda kind: _biases(kind(**sizes, qkv_bias=True)) == 0),
            ("bias-ignored", lambda kind: _is_cut(kind(**sizes, qkv_bias=True), name)),
        ]
    if "dropout" in sizes and name != "MultiHeadAttentionWrapper":
        dropping = sizes | {"dropout": 0.5}
        questions += [
            ("dropout-in-eval", lambda kind: _changes_its_mind(kind(**dropping).eval(), name)),
            ("dropout-missing", lambda kind: not _changes_its_mind(kind(**dropping), name)),
        ]
    questions += fixed
    if name == "MultiHeadAttention":
        questions.append(
            ("divisibility-unchecked", lambda kind: bool(kind(**sizes | {"d_out": 7})))
        )
    return questions


def _tokens(name: str) -> Tensor:
    tokens = torch.linspace(-1.0, 1.0, 40).sin().reshape(2, 4, 5)
    return tokens[0] if name.startswith("SelfAttention") else tokens


def _not_shifted(softmax: Callable[[Tensor], Tensor]) -> bool:
    small = softmax(torch.tensor([0.0, 1.0]))
    large = softmax(torch.tensor([1000.0, 1000.0]))
    return bool(torch.isfinite(small).all()) and not bool(torch.isfinite(large).all())


def _weights_not_shifted(attend: Callable[[Tensor], Tensor]) -> bool:
    tokens = torch.eye(3)
    return bool(torch.isfinite(attend(tokens)).all()) and not bool(
        torch.isfinite(attend(40.0 * tokens)).all()
    )


def _only_the_example(target: Any, name: str) -> bool:
    """It works for the example's six tokens and two texts, and for no other number."""
    return any(
        _works(target, name, tokens=6, batch=2, width=width)
        and not _works(target, name, tokens=4, batch=3, width=width)
        for width in (3, 4, 5)
    )


def _works(target: Any, name: str, tokens: int, batch: int, width: int) -> bool:
    """Whether it takes so many tokens, and gives as many rows as it should."""
    try:
        if name in _CALLS:
            result, rows = _CALLS[name](target, tokens, width)
            return len(result) == rows
        several = name == "MultiHeadAttention"
        sizes = _SIZES[name] | {"d_in": width, "d_out": 6 if several else width}
        single = name.startswith("SelfAttention")
        shape = (tokens, width) if single else (batch, tokens, width)
        return len(target(**sizes).eval()(torch.ones(shape))) == shape[0]
    except Exception:
        return False


def _raises_before_init(kind: Callable[..., object], sizes: dict[str, Any]) -> bool:
    try:
        kind(**sizes)
    except AttributeError as raised:
        return "before Module.__init__() call" in str(raised)
    return False


def _has_list_of_heads(module: nn.Module) -> bool:
    return _has_list_of([getattr(module, "heads", None)])


def _has_list_of(values: Iterable[object]) -> bool:
    """Whether modules stand in a plain list, where PyTorch does not look for them."""
    return any(
        isinstance(value, list | tuple) and any(isinstance(each, nn.Module) for each in value)
        for value in values
    )


@torch.no_grad()
def _changes_its_mind(module: nn.Module, name: str) -> bool:
    return not torch.equal(module(_tokens(name)), module(_tokens(name)))


def _is_cut(module: nn.Module, name: str) -> bool:
    out = module(_tokens(name))
    if not out.requires_grad:
        return True
    out.square().sum().backward()
    return any(each.grad is None for each in module.parameters())


def _repeats_a_head(module: nn.Module) -> bool:
    heads = [*getattr(module, "heads", ())]
    return len({id(head) for head in heads}) < len(heads)


def _has_plain_weights(module: nn.Module) -> bool:
    weights = [getattr(module, role, None) for role in ("W_query", "W_key", "W_value")]
    plain = [isinstance(each, Tensor) and not isinstance(each, nn.Parameter) for each in weights]
    return any(plain) or not [*module.parameters()] or _has_list_of(vars(module).values())


def _has_other_names(module: nn.Module) -> bool:
    """There are weights, and they are kept under other names than those of the task."""
    if hasattr(module, "heads"):
        return False
    paths = [path for path, _ in module.named_parameters() if not path.startswith("out_proj")]
    roles = ("W_query", "W_key", "W_value")
    return len(paths) >= 3 and not any(path.startswith(roles) for path in paths)


def _biases(module: nn.Module) -> int:
    return sum("W_" in path and path.endswith("bias") for path, _ in module.named_parameters())


def _of_copying(module: ModuleType) -> list[tuple[str, Question]]:
    roles = ("W_query", "W_key", "W_value")

    def copied(copy: Callable[..., object], d_out: int) -> tuple[Any, Any, list[Tensor]]:
        source = module.SelfAttention_v2(3, d_out)
        target = module.SelfAttention_v1(3, d_out)
        before = [getattr(source, role).weight.detach().clone() for role in roles]
        copy(source, target)
        return source, target, before

    def changed_source(copy: Callable[..., object]) -> bool:
        source, _, before = copied(copy, 3)
        now = [getattr(source, role).weight for role in roles]
        return any(not torch.equal(*pair) for pair in zip(before, now, strict=True))

    def as_it_stood(copy: Callable[..., object]) -> bool:
        """Whether the very numbers came over, each where it stood."""
        _, target, before = copied(copy, 3)
        return all(
            torch.equal(getattr(target, role), weight)
            for role, weight in zip(roles, before, strict=True)
        )

    def incomplete(copy: Callable[..., object]) -> bool:
        source, target, _ = copied(copy, 3)
        probe = torch.eye(3)
        found = [
            torch.allclose(probe @ getattr(target, role), getattr(source, role)(probe))
            for role in roles
        ]
        return any(found) and not all(found)

    return [
        ("copy-wrong-direction", changed_source),
        ("copy-not-transposed", as_it_stood),
        ("copy-incomplete", incomplete),
    ]


def _does_not_fit(merge: Callable[[nn.Module], object], module: ModuleType) -> bool:
    wrapper = module.MultiHeadAttentionWrapper(**_SIZES["MultiHeadAttentionWrapper"])
    try:
        merged: Any = merge(wrapper)
    except RuntimeError as raised:
        return "size" in str(raised) or "shape" in str(raised)
    return any(
        tuple(getattr(merged, role).weight.shape) != (6, 5)
        for role in ("W_query", "W_key", "W_value")
    )


def _mixes(merge: Callable[[nn.Module], Any], module: ModuleType) -> bool:
    merged = merge(module.MultiHeadAttentionWrapper(**_SIZES["MultiHeadAttentionWrapper"]))
    return not torch.equal(merged.out_proj.weight, torch.eye(6)) or bool(merged.out_proj.bias.any())


def _not_gpt2(make: Callable[[], nn.Module]) -> bool:
    weights = {tuple(each.shape) for each in make().parameters()}
    return not weights <= {(768, 768), (768,)} or (768, 768) not in weights
