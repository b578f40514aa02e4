"""Judge the right variants by torch's own functions, without the kit.

The variants prove the grader, so something other than the grader must prove the variants. This
script needs torch alone: it compares each submission with `F.scaled_dot_product_attention` and
`nn.MultiheadAttention` in many sizes and modes, and prints what differs.

    python tests/variants/verify_right.py                 every right variant
    python tests/variants/verify_right.py PATH [PATH ..]  these submissions
"""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib
import io
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

NAMES = [
    "attention_scores",
    "softmax",
    "context_vector",
    "attention_weights",
    "context_vectors",
    "SelfAttention_v1",
    "SelfAttention_v2",
    "copy_weights",
    "causal_mask",
    "renormalized_weights",
    "masked_weights",
    "CausalAttention",
    "MultiHeadAttentionWrapper",
    "MultiHeadAttention",
    "merge_heads",
    "gpt2_attention",
]


class Failure(NamedTuple):
    """One promise that a name does not keep."""

    name: str
    promise: str
    detail: str


# --- reading a submission ---------------------------------------------------------------------


def run_statements(source: str, where: str, namespace: dict[str, Any]) -> list[str]:
    """Run statement by statement, as a reader of a notebook does; return what was raised."""
    raised = []
    for statement in ast.parse(source, where).body:
        code = compile(ast.Module([statement], []), where, "exec")
        try:
            exec(code, namespace)
        except (Exception, SystemExit) as error:
            raised.append(f"{where}: {type(error).__name__}: {error}")
    return raised


def run_notebook(path: Path) -> dict[str, Any]:
    module = fresh_module("__main__")
    for number, cell in enumerate(json.loads(path.read_text("utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            lines = "".join(cell["source"]).splitlines()
            kept = [line for line in lines if not line.lstrip().startswith(("%", "!"))]
            run_statements("\n".join(kept), f"{path.name} cell {number}", vars(module))
    return vars(module)


def fresh_module(name: str) -> ModuleType:
    """A module that dataclasses and pickles find under its name."""
    module = ModuleType(name)
    if name != "__main__":
        sys.modules[name] = module
    return module


def read_names(path: Path) -> dict[str, Any]:
    """The names that a submission (package folder, file or notebook) defines."""
    found: dict[str, Any] = {}
    if path.suffix == ".ipynb":
        found.update(run_notebook(path))
    elif path.suffix == ".py":
        module = fresh_module(f"submission_{path.stem}")
        run_statements(path.read_text("utf-8-sig"), path.name, vars(module))
        found.update(vars(module))
    else:
        sources = sorted(p for p in path.rglob("*.py") if not p.name.startswith("test_"))
        modules = [".".join(p.relative_to(path).with_suffix("").parts) for p in sources]
        ours = {module.split(".")[0] for module in modules}
        for known in [m for m in sys.modules if m.split(".")[0] in ours]:
            del sys.modules[known]
        sys.path.insert(0, str(path))
        sys.dont_write_bytecode = True
        importlib.invalidate_caches()
        try:
            for name in modules:
                found.update(vars(importlib.import_module(name)))
        finally:
            sys.path.remove(str(path))
        for notebook in sorted(path.rglob("*.ipynb")):
            found.update(run_notebook(notebook))
    return {name: found[name] for name in NAMES if name in found}


# --- references and inputs --------------------------------------------------------------------


class Sizes(NamedTuple):
    b: int
    T: int
    context: int
    d_in: int
    d_k: int
    H: int


CONFIGURATIONS = (
    Sizes(2, 6, 11, 7, 5, 3),
    Sizes(3, 1, 4, 5, 3, 2),
    Sizes(1, 8, 8, 3, 2, 5),
    Sizes(4, 5, 9, 12, 3, 4),
    Sizes(5, 3, 10, 2, 1, 1),
)


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape) * 7919)
    return torch.randn(*shape, generator=generator, dtype=torch.float64) * scale


def fill(module: nn.Module, seed: int, strength: float = 1.0) -> None:
    """Weights that a careless tolerance cannot hide."""
    with torch.no_grad():
        for number, parameter in enumerate(module.parameters()):
            scale = strength / parameter.shape[-1] ** 0.5
            parameter.copy_(normal(*parameter.shape, seed=seed + number, scale=scale))


def weight_of(layer: Any) -> Tensor:
    """(d_in, d_out), whatever holds it."""
    return layer.weight.T if isinstance(layer, nn.Linear) else layer


def project(layer: Any, x: Tensor) -> Tensor:
    return layer(x) if isinstance(layer, nn.Linear) else x @ layer


def split(x: Tensor, heads: int) -> Tensor:
    return torch.stack(x.chunk(heads, dim=-1), dim=-3)


def expected_output(module: nn.Module, x: Tensor, causal: bool, heads: int = 1) -> Tensor:
    """What the attention of these weights must give, by torch's own attention."""
    q, k, v = (project(getattr(module, n), x) for n in ("W_query", "W_key", "W_value"))
    q, k, v = (split(t, heads) for t in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    out = torch.cat(out.unbind(-3), dim=-1)
    return module.out_proj(out) if hasattr(module, "out_proj") else out


class CountOperators(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        self.counts[name] = self.counts.get(name, 0) + 1
        return func(*args, **(kwargs or {}))


LIBRARY_ATTENTION = ("scaled_dot_product", "native_multi_head", "transform_bias_rescale")


def operators(call: Callable[[], Any]) -> dict[str, int]:
    with CountOperators() as counter:
        call()
    return counter.counts


def close(got: Any, wanted: Tensor, tolerance: float = 1e-7) -> None:
    assert isinstance(got, Tensor), f"returned {type(got).__name__}"
    assert got.shape == wanted.shape, f"shape {tuple(got.shape)}, expected {tuple(wanted.shape)}"
    got = got.detach().double()
    assert bool(torch.isfinite(got).all()), "not finite"
    gap = float((got - wanted.detach().double()).abs().max()) if got.numel() else 0.0
    scale = max(1.0, float(wanted.detach().abs().max()))
    assert gap <= tolerance * scale, f"differs by {gap:.3g}"


def layouts(x: Tensor) -> Iterator[tuple[str, Tensor]]:
    yield "contiguous", x
    if x.dim() > 1:
        yield "transposed", x.transpose(-1, -2).contiguous().transpose(-1, -2)
    yield "sliced", torch.cat([x, x], dim=-1)[..., : x.shape[-1]]
    yield "needs gradient", x.clone().requires_grad_()


# --- the promises, name by name ---------------------------------------------------------------
# A promise is a function of the submission's names; what it raises is a failure.

PROMISES: list[tuple[str, str, Callable[[dict[str, Any]], None]]] = []


def promise(name: str, text: str) -> Callable[[Any], Any]:
    def add(function: Any) -> Any:
        PROMISES.append((name, text, function))
        return function

    return add


def function_promise(
    name: str, inputs: Callable[[int], tuple[Tensor, ...]], wanted: Callable[..., Tensor]
) -> None:
    """Values in many sizes, layouts and types, and arguments left as they were."""

    def values(names: dict[str, Any]) -> None:
        for T in (1, 2, 3, 6, 13):
            arguments = inputs(T)
            expected = wanted(*arguments)
            close(names[name](*(a.float() for a in arguments)), expected, 2e-4)
            for forms in zip(*(layouts(a) for a in arguments)):  # noqa: B905 - vectors have fewer
                # stage 1 may fill fresh tensors, which are float32: no dtype is promised there
                given = [f.float().detach() if name in NAMES[:5] else f for _, f in forms]
                before = [g.detach().clone() for g in given]
                close(names[name](*given), expected, 2e-4)
                for g, b in zip(given, before, strict=True):
                    assert torch.equal(g.detach(), b), f"argument changed ({forms[0][0]})"
                close(names[name](*given), expected, 2e-4)

    PROMISES.append((name, "values", values))


def vectors(T: int, d: int = 4) -> Tensor:
    return normal(T, d, seed=3, scale=1.3)


function_promise(
    "attention_scores", lambda T: (normal(4, seed=9), vectors(T)), lambda q, x: (x * q).sum(-1)
)
function_promise("softmax", lambda T: (normal(T, seed=4, scale=3),), lambda s: F.softmax(s, -1))
function_promise("softmax", lambda T: (normal(4, T, seed=4, scale=3),), lambda s: F.softmax(s, -1))
function_promise(
    "softmax", lambda T: (normal(2, 3, T, T + 1, seed=4, scale=3),), lambda s: F.softmax(s, -1)
)
function_promise(
    "context_vector",
    lambda T: (normal(4, seed=9), vectors(T)),
    lambda q, x: F.scaled_dot_product_attention(q[None], x, x, scale=1.0)[0],
)
function_promise(
    "attention_weights", lambda T: (vectors(T),), lambda x: F.softmax(torch.mm(x, x.T), -1)
)
function_promise(
    "context_vectors",
    lambda T: (vectors(T, 5),),
    lambda x: F.scaled_dot_product_attention(x, x, x, scale=1.0),
)


def causal_reference(scores: Tensor) -> Tensor:
    T = scores.shape[-1]
    allowed = torch.arange(T)[:, None] >= torch.arange(T)
    return F.softmax(scores.where(allowed, torch.tensor(float("-inf"), dtype=scores.dtype)), -1)


def square_scores(T: int) -> tuple[Tensor, ...]:
    return (normal(T, T, seed=8, scale=2.0).clamp(-9, 9),)


function_promise("renormalized_weights", square_scores, causal_reference)
function_promise("masked_weights", square_scores, causal_reference)


@promise("softmax", "large scores stay finite and right")
def _(names: dict[str, Any]) -> None:
    for shape in ((7,), (4, 7), (2, 4, 7)):
        scores = normal(*shape, seed=1, scale=600.0).clamp(-1000, 1000)
        for given in (scores, scores.float(), torch.full_like(scores, -1000.0)):
            close(names["softmax"](given), F.softmax(given, -1), 2e-4)


@promise("softmax", "no library softmax inside")
def _(names: dict[str, Any]) -> None:
    counts = operators(lambda: names["softmax"](normal(3, 4)))
    assert not {"_softmax", "_log_softmax"} & set(counts), "calls the library's softmax"


@promise("attention_weights", "matrix products, no loop over tokens")
def _(names: dict[str, Any]) -> None:
    few, many = (
        sum(operators(lambda T=T: names["attention_weights"](vectors(T))).values()) for T in (4, 12)
    )
    assert few == many, f"{few} operators for 4 tokens, {many} for 12"


@promise("masked_weights", "large scores stay finite and right")
def _(names: dict[str, Any]) -> None:
    scores = normal(9, 9, seed=1, scale=600.0).clamp(-1000, 1000)
    close(names["masked_weights"](scores), causal_reference(scores), 2e-4)
    close(names["masked_weights"](scores.float()), causal_reference(scores.float()), 2e-4)


@promise("causal_mask", "true above the diagonal, bool")
def _(names: dict[str, Any]) -> None:
    for T in (1, 2, 5, 12):
        mask = names["causal_mask"](T)
        assert mask.dtype == torch.bool, f"dtype {mask.dtype}"
        wanted = torch.arange(T)[:, None] < torch.arange(T)
        assert mask.shape == wanted.shape, f"shape {tuple(mask.shape)}"
        assert torch.equal(mask, wanted), "wrong cells"


class Layer(NamedTuple):
    """How a class of the contract is built and what it must compute."""

    name: str
    build: Callable[[Any, Sizes, float, bool], nn.Module]
    batched: bool
    causal: bool


LAYERS = (
    Layer("SelfAttention_v1", lambda c, s, p, bias: c(s.d_in, s.d_k), False, False),
    Layer("SelfAttention_v2", lambda c, s, p, bias: c(s.d_in, s.d_k, qkv_bias=bias), False, False),
    Layer(
        "CausalAttention",
        lambda c, s, p, bias: c(s.d_in, s.d_k, s.context, p, qkv_bias=bias),
        True,
        True,
    ),
    Layer(
        "MultiHeadAttentionWrapper",
        lambda c, s, p, bias: c(s.d_in, s.d_k, s.context, p, s.H, qkv_bias=bias),
        True,
        True,
    ),
    Layer(
        "MultiHeadAttention",
        lambda c, s, p, bias: c(s.d_in, s.d_k * s.H, s.context, p, s.H, qkv_bias=bias),
        True,
        True,
    ),
)


def reference_of(layer: Layer, module: nn.Module, x: Tensor, sizes: Sizes) -> Tensor:
    if layer.name == "MultiHeadAttentionWrapper":
        return torch.cat([expected_output(h, x, True) for h in module.heads], dim=-1)
    heads = sizes.H if layer.name == "MultiHeadAttention" else 1
    return expected_output(module, x, layer.causal, heads)


def tokens(layer: Layer, s: Sizes, T: int, scale: float = 1.0, seed: int = 5) -> Tensor:
    shape = (s.b, T, s.d_in) if layer.batched else (T, s.d_in)
    return normal(*shape, seed=seed, scale=scale)


def has_bias(layer: Layer, flag: bool) -> bool:
    return flag and layer.name != "SelfAttention_v1"


def layer_promises(layer: Layer) -> None:
    def made(names: dict[str, Any], s: Sizes, p: float = 0.0, bias: bool = False) -> nn.Module:
        return layer.build(names[layer.name], s, p, bias)

    def values(names: dict[str, Any]) -> None:
        for number, s in enumerate(CONFIGURATIONS):
            for bias in (False, True):
                module = made(names, s, 0.1 * number, bias).double().eval()
                fill(module, seed=number)
                for T in sorted({1, min(2, s.context), s.T, s.context}):
                    x = tokens(layer, s, T)
                    wanted = reference_of(layer, module, x, s)
                    for label, form in layouts(x):
                        before = form.detach().clone()
                        close(module(form), wanted)
                        assert torch.equal(form.detach(), before), f"argument changed ({label})"
                    close(module(x), wanted)

    def float32(names: dict[str, Any]) -> None:
        s = CONFIGURATIONS[0]
        module = made(names, s, 0.0, True).eval()
        fill(module, seed=2, strength=1.5)
        x = tokens(layer, s, s.T).float()
        got = module(x)
        assert got.dtype == torch.float32, f"dtype {got.dtype}"
        close(got, reference_of(layer, module, x, s), 3e-4)

    def large(names: dict[str, Any]) -> None:
        s = CONFIGURATIONS[0]
        module = made(names, s).double().eval()
        fill(module, seed=3)
        x = tokens(layer, s, s.T)
        # scores up to 80; a form that renormalises after softmax is promised a spread of 20 alone
        heads = getattr(module, "heads", [module])
        top = 1e-9
        count = s.H if layer.name == "MultiHeadAttention" else 1
        for head in heads:
            q, k = (split(project(getattr(head, n), x), count) for n in ("W_query", "W_key"))
            top = max(top, float((q @ k.mT).abs().max()) / s.d_k**0.5)
        x = x * ((9.9 if RENORMALISES else 79.0) / top) ** 0.5
        close(module(x), reference_of(layer, module, x, s))

    def gradients(names: dict[str, Any]) -> None:
        s = CONFIGURATIONS[0]
        module = made(names, s, 0.0, True).double().train()
        fill(module, seed=4)
        x = tokens(layer, s, s.T).requires_grad_()
        twin = copy.deepcopy(module)
        out = module(x)
        cotangent = normal(*out.shape, seed=6)
        out.backward(cotangent)
        y = x.detach().clone().requires_grad_()
        reference_of(layer, twin, y, s).backward(cotangent)
        assert x.grad is not None, "no gradient reaches the input"
        close(x.grad, y.grad)
        for (path, mine), theirs in zip(module.named_parameters(), twin.parameters(), strict=True):
            assert mine.grad is not None, f"{path} has no gradient"
            close(mine.grad, theirs.grad if theirs.grad is not None else torch.zeros_like(mine))
            assert "W_key.bias" in path or bool(mine.grad.abs().max() > 1e-9), f"{path}: zero"

    def state(names: dict[str, Any]) -> None:
        s = CONFIGURATIONS[0]
        for bias in (False, True):
            module = made(names, s, 0.0, bias)
            wide = s.d_k * s.H if layer.name == "MultiHeadAttention" else s.d_k
            wanted = {}
            for role in ("W_query", "W_key", "W_value"):
                if layer.name == "SelfAttention_v1":
                    wanted[role] = (s.d_in, wide)
                else:
                    wanted[f"{role}.weight"] = (wide, s.d_in)
                if has_bias(layer, bias):
                    wanted[f"{role}.bias"] = (wide,)
            if layer.name == "MultiHeadAttention":
                wanted |= {"out_proj.weight": (wide, wide), "out_proj.bias": (wide,)}
            if layer.name == "MultiHeadAttentionWrapper":
                assert isinstance(module.heads, nn.ModuleList), "heads is no ModuleList"
                assert all(isinstance(h, names["CausalAttention"]) for h in module.heads)
                wanted = {f"heads.{i}.{k}": v for i in range(s.H) for k, v in wanted.items()}
            found = {k: tuple(v.shape) for k, v in module.named_parameters()}
            assert found == wanted, f"parameters {found}"
            assert all(p.requires_grad for p in module.parameters()), "a frozen parameter"

    def buffers(names: dict[str, Any]) -> None:
        module = made(names, CONFIGURATIONS[0])
        for path, part in module.named_modules():
            loose = [k for k, v in vars(part).items() if isinstance(v, Tensor)]
            assert not loose, f"{path or 'module'} keeps {loose} that are no buffers"

    def causality(names: dict[str, Any]) -> None:
        s = CONFIGURATIONS[0]
        module = made(names, s).double().eval()
        fill(module, seed=5)
        x = tokens(layer, s, s.T)
        for position in range(1, s.T):
            changed = x.clone()
            changed[:, position:] += tokens(layer, s, s.T, seed=77)[:, position:]
            close(module(changed)[:, :position], module(x)[:, :position])

    def dropout(names: dict[str, Any]) -> None:
        s = Sizes(3, 5, 7, 5, 5, 2)
        for p in (0.5, 0.3):
            module = made(names, s, p).double()
            fill(module, seed=6, strength=1.5)
            with torch.no_grad():
                for head in getattr(module, "heads", [module]):
                    copies = s.H if layer.name == "MultiHeadAttention" else 1
                    head.W_value.weight.copy_(torch.eye(s.d_in).repeat(copies, 1))
                if hasattr(module, "out_proj"):
                    module.out_proj.weight.copy_(torch.eye(s.d_k * s.H))
                    module.out_proj.bias.zero_()
            x = torch.eye(s.d_in, dtype=torch.float64).expand(s.b, -1, -1).contiguous()
            whole = module.eval()(x)
            close(module(x), whole)
            kept = whole / (1 - p)
            module.train()
            torch.manual_seed(1)
            patterns = []
            for _ in range(60):
                seen = module(x).detach()
                fits = (seen.abs() < 1e-9) | ((seen - kept).abs() < 1e-9)
                assert bool(fits.all()), "weights are neither dropped nor scaled by 1 / (1 - p)"
                patterns.append((seen.abs() < 1e-9)[..., kept[0, -1].abs() > 1e-12])
            lower = torch.stack(patterns)[..., -1, :].double()  # the last token sees every token
            share = float(lower.mean())
            assert abs(share - p) < 0.08, f"{share:.2f} dropped, p is {p}"
            flat = lower.reshape(60, s.b, -1, s.T)
            assert not torch.equal(flat[:, 0], flat[:, 1]), "one pattern for the whole batch"
            if flat.shape[2] > 1:
                assert not torch.equal(flat[:, :, 0], flat[:, :, 1]), "one pattern for all heads"

    def dropout_of_what(names: dict[str, Any]) -> None:
        # The first token sees itself alone: its output is its value vector, whole or not at all.
        # (On one-hot values this could not tell the weights from the context or the values.)
        s = Sizes(3, 5, 7, 5, 5, 2)
        for p in (0.5, 0.3):
            module = made(names, s, p).double()
            fill(module, seed=7)
            x = tokens(layer, s, s.T)
            if hasattr(module, "out_proj"):
                with torch.no_grad():
                    module.out_proj.weight.copy_(torch.eye(s.d_k * s.H))
                    module.out_proj.bias.zero_()
            kept = module.eval()(x)[:, 0].detach() / (1 - p)
            module.train()
            for _ in range(20):
                seen = module(x)[:, 0].detach()
                parts = zip(seen.split(s.d_k, -1), kept.split(s.d_k, -1), strict=True)
                for mine, whole in parts:
                    gone = (mine.abs() < 1e-12).all(-1)
                    there = ((mine - whole).abs() < 1e-9).all(-1)
                    assert bool((gone | there).all()), "parts of a value vector were dropped"

    def library(names: dict[str, Any]) -> None:
        s = CONFIGURATIONS[0]
        module = made(names, s).eval()
        counts = operators(lambda: module(tokens(layer, s, s.T).float()))
        used = [k for k in counts if any(word in k for word in LIBRARY_ATTENTION)]
        assert not used, f"calls {used}"

    add = [("values", values), ("float32", float32), ("large scores", large)]
    add += [("gradients", gradients), ("state", state), ("buffers", buffers), ("library", library)]
    if layer.causal:
        add += [
            ("causality", causality),
            ("dropout", dropout),
            ("what is dropped", dropout_of_what),
        ]
    PROMISES.extend((layer.name, text, function) for text, function in add)


for each in LAYERS:
    layer_promises(each)


@promise("copy_weights", "both give the same output, the source is left as it was")
def _(names: dict[str, Any]) -> None:
    for d_in, d_out in ((5, 3), (4, 4)):
        source = names["SelfAttention_v2"](d_in, d_out).double()
        target = names["SelfAttention_v1"](d_in, d_out).double()
        fill(source, seed=1)
        before = {k: v.clone() for k, v in source.state_dict().items()}
        names["copy_weights"](source, target)
        x = normal(6, d_in, seed=2)
        close(target(x), expected_output(source, x, False))
        for role in ("W_query", "W_key", "W_value"):
            close(getattr(target, role), weight_of(getattr(source, role)))
            assert isinstance(getattr(target, role), nn.Parameter)
        for key, value in source.state_dict().items():
            assert torch.equal(value, before[key]), "source changed"


@promise("MultiHeadAttention", "divisibility")
def _(names: dict[str, Any]) -> None:
    try:
        names["MultiHeadAttention"](4, 7, 5, 0.0, 2)
    except (ValueError, AssertionError):
        return
    raise AssertionError("built with 7 outputs and 2 heads")


@promise("MultiHeadAttention", "no loop over heads")
def _(names: dict[str, Any]) -> None:
    totals = set()
    for heads in (2, 4, 8):
        module = names["MultiHeadAttention"](5, 16, 7, 0.0, heads).eval()
        x = torch.ones(3, 6, 5)
        totals.add(sum(operators(lambda m=module, x=x: m(x)).values()))
    assert len(totals) == 1, f"operators grow with the heads: {sorted(totals)}"


@promise("MultiHeadAttention", "equals nn.MultiheadAttention")
def _(names: dict[str, Any]) -> None:
    library = nn.MultiheadAttention(12, 3, bias=True, batch_first=True).double()
    fill(library, seed=7)
    mine = names["MultiHeadAttention"](12, 12, 9, 0.0, 3, qkv_bias=True).double().eval()
    with torch.no_grad():
        parts = zip(library.in_proj_weight.chunk(3), library.in_proj_bias.chunk(3), strict=True)
        for role, (weight, bias) in zip(("W_query", "W_key", "W_value"), parts, strict=True):
            getattr(mine, role).weight.copy_(weight)
            getattr(mine, role).bias.copy_(bias)
        mine.out_proj.load_state_dict(library.out_proj.state_dict())
    x = normal(2, 7, 12, seed=8)
    mask = torch.ones(7, 7).triu(1).bool()
    close(mine(x), library(x, x, x, attn_mask=mask, need_weights=False)[0])


@promise("merge_heads", "gives the wrapper's output, with weights of its own")
def _(names: dict[str, Any]) -> None:
    for bias in (False, True):
        for p in (0.0, 0.25):
            wrapper = names["MultiHeadAttentionWrapper"](7, 3, 9, p, 4, qkv_bias=bias).double()
            fill(wrapper, seed=9)
            before = {k: v.clone() for k, v in wrapper.state_dict().items()}
            modes = [m.training for m in wrapper.modules()]
            merged = names["merge_heads"](wrapper)
            assert isinstance(merged, names["MultiHeadAttention"])
            assert modes == [m.training for m in wrapper.modules()], "wrapper's mode changed"
            merged = merged.double().eval()
            wrapper.eval()
            for T in (1, 5, 9):
                x = normal(2, T, 7, seed=T)
                close(merged(x), wrapper(x), 1e-6)
            rates = [m.p for m in merged.modules() if isinstance(m, nn.Dropout)]
            assert not rates or rates == [p], f"dropout {rates}, expected {p}"
            with torch.no_grad():
                for parameter in merged.parameters():
                    parameter.add_(1.0)
            for key, value in wrapper.state_dict().items():
                assert torch.equal(value, before[key]), "wrapper changed"


@promise("gpt2_attention", "the sizes of the smallest GPT-2")
def _(names: dict[str, Any]) -> None:
    module = names["gpt2_attention"]().eval()
    assert isinstance(module, names["MultiHeadAttention"])
    for role in ("W_query", "W_key", "W_value", "out_proj"):
        assert tuple(getattr(module, role).weight.shape) == (768, 768)
    x = normal(1, 1024, 768, seed=1).float()
    close(module(x), expected_output(module, x, True, 12), 1e-4)


RENORMALISES = False


def failures(names: dict[str, Any]) -> list[Failure]:
    """Every promise that these names do not keep."""
    found = [Failure(name, "defined", "missing") for name in NAMES if name not in names]
    for name, text, function in PROMISES:
        if name not in names:
            continue
        try:
            function(names)
        except Exception as error:
            detail = f"{type(error).__name__}: {error}".replace("\n", " ")
            found.append(Failure(name, text, detail[:160]))
    return found


def main() -> int:
    global RENORMALISES
    here = Path(__file__).parent / "right"
    entries = [e for e in sorted(here.iterdir()) if e.suffix in ("", ".py", ".ipynb")]
    paths = [Path(a) for a in sys.argv[1:]] or entries
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    faulty = 0
    for path in paths:
        RENORMALISES = "renormalis" in path.name
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            found = failures(read_names(path))
        faulty += bool(found)
        print(f"{path.name}: {'right' if not found else 'NOT RIGHT'}", flush=True)
        for failure in found:
            print(f"    {failure.name}, {failure.promise}: {failure.detail}")
    print(f"{len(paths) - faulty} of {len(paths)} right")
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
