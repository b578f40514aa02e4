"""`selfcheck/mistakes.json`: what known mistakes give on public inputs, as numbers.

The catalogue's steps are run here, and only their outputs are released: a sample of the numbers for
each mistake, and the catalogue's text about it. So the self-check can name a mistake although it
holds neither a solution nor an input of the hidden checks.

It is all computed in float64, of which `_steady` keeps what every processor agrees on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from autograder.assignment.assignment import Assignment, Stage
from autograder.checks.sample import Sample, Sizes
from autograder.diagnosis.catalogue import Catalogue, Misconception, load_catalogue
from autograder.diagnosis.chain import Chain, Given, Step, StepRaises, run
from autograder.diagnosis.compare import difference
from autograder.release.course import rounded, section_of

PUBLIC = b"public inputs of the self-check"
DIGITS = 5
STEADY = 9  # significant digits in which sums in float64 agree, in whatever order they were added
MOST_NUMBERS = 32  # of one output; enough to tell all mistakes apart
APART = 3e-3  # of the output's scale: what is closer than this counts as the same

#: Title and message of mistakes whose text in the catalogue contains a line of a solution.
OTHER_WORDS = {
    "super-init-missing": (
        "the base class is not set up",
        "The constructor makes layers or parameters before `nn.Module` has been set up, so PyTorch "
        "has nowhere to keep them. Call the base class's own constructor first, in `__init__`.",
    ),
}

_PATHS = {"query": "W_query", "key": "W_key", "value": "W_value", "output": "out_proj"}


@dataclass(frozen=True, slots=True)
class Probe:
    """A public input of one name: what the chain gets, and what the student's code gets."""

    given: Given
    told: Mapping[str, object]


def mistakes_json(assignment: Assignment) -> str:
    """The mistakes of all stages as JSON, one line for each."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # small tensors: waking more threads takes longer than the work
    try:
        return _mistakes(assignment)
    finally:
        torch.set_num_threads(threads)


@cache
def _mistakes(assignment: Assignment) -> str:
    sample = Sample(PUBLIC)
    names: list[str] = []
    words: list[str] = []
    for stage in assignment.stages:
        catalogue = load_catalogue(stage.misconceptions)
        words.append(f"  {_line(stage.id)}: {_words(stage, catalogue)}")
        for name, chain in catalogue.chains.items():
            probes = probes_of(name, sample)
            if probes:
                names.append(f"  {_line(name)}: {_table(name, chain, catalogue, probes)}")
    return (
        '{\n "names": {\n'
        + ",\n".join(names)
        + '\n },\n "mistakes": {\n'
        + ",\n".join(words)
        + "\n }\n}\n"
    )


# Public inputs ------------------------------------------------------------------------------


def probes_of(name: str, sample: Sample) -> tuple[Probe, ...]:
    """The public inputs of a name; empty if its mistakes are recognised in another way."""
    match name:
        case "attention_scores" | "context_vector":
            tokens = _short(sample.numbers("tokens", 5, 3, reach=1.5))
            return (_call(Given(tokens=tokens, query=tokens[1]), tokens[1], tokens),)
        case "softmax":
            return tuple(
                _call(Given(scores=each), each)
                for each in (
                    _short(sample.numbers("matrix", 4, 4, reach=3.0)),
                    _short(sample.numbers("stack", 2, 3, 5, reach=3.0)),
                )
            )
        case "attention_weights" | "context_vectors":
            shapes = ((5, 3), (4, 4))
            inputs = [_short(sample.numbers("tokens", *shape, reach=1.5)) for shape in shapes]
            return tuple(_call(Given(tokens=each), each) for each in inputs)
        case "causal_mask":
            return (Probe(Given(count=5), {"arguments": [5]}),)
        case "renormalized_weights" | "masked_weights":
            scores = _short(sample.numbers("scores", 5, 5, reach=3.0))
            return (_call(Given(scores=scores), scores),)
        case "SelfAttention_v1" | "SelfAttention_v2":
            sizes = (Sizes(d_in=4, d_out=3, tokens=5), Sizes(d_in=4, d_out=4, tokens=5))
            return tuple(_module(name, each, sample) for each in sizes)
        case "CausalAttention" | "MultiHeadAttention" | "MultiHeadAttentionWrapper":
            heads = 0 if name == "CausalAttention" else 2
            wide = 6 if name == "MultiHeadAttention" else 3
            oblong = Sizes(4, wide, tokens=5, batch=3, context_length=8, heads=heads)
            square = Sizes(wide, wide, tokens=5, batch=3, context_length=8, heads=heads)
            full = Sizes(4, wide, tokens=7, batch=3, context_length=7, heads=heads)
            if name == "MultiHeadAttentionWrapper":
                return (_wrapper(oblong, sample),)
            alike = 2 if heads else 5  # dimensions that broadcasting cannot tell apart
            equal = Sizes(4, wide, tokens=alike, batch=alike, context_length=8, heads=heads)
            return tuple(_module(name, each, sample) for each in (oblong, square, full, equal))
    return ()


def _call(given: Given, *arguments: Tensor) -> Probe:
    return Probe(given, {"arguments": [rounded(each, DIGITS) for each in arguments]})


def _short(tensor: Tensor) -> Tensor:
    """The tensor as it will be read back, rounded."""
    return torch.tensor(rounded(tensor, DIGITS), dtype=torch.float64)


def _module(name: str, sizes: Sizes, sample: Sample) -> Probe:
    tokens = _short(sample.tokens(name, sizes))
    weights = {role: _short(each) for role, each in sample.weights(name, sizes).items()}
    given = Given(
        tokens=tokens,
        weights=weights,
        heads=max(sizes.heads, 1),
        context_length=sizes.context_length,
    )
    return Probe(given, _told(sizes, tokens, {"": weights}))


def _wrapper(sizes: Sizes, sample: Sample) -> Probe:
    """Heads with weights of their own; the right chain computes what each returns."""
    causal = load_catalogue("autograder.attention.misconceptions.causal").chains["CausalAttention"]
    single = Sizes(
        sizes.d_in, sizes.d_out, sizes.tokens, sizes.batch, context_length=sizes.context_length
    )
    tokens = _short(sample.tokens("head 0", single))
    heads: dict[str, dict[str, Tensor]] = {}
    parts = []
    for number in range(sizes.heads):
        drawn = sample.weights(f"head {number}", single)
        weights = {role: _short(each) for role, each in drawn.items()}
        heads[f"heads.{number}."] = weights
        parts.append(run(causal, Given(tokens=tokens, weights=weights)))
    return Probe(Given(tokens=tokens, parts=tuple(parts)), _told(sizes, tokens, heads))


def _told(
    sizes: Sizes, tokens: Tensor, weights: Mapping[str, Mapping[str, Tensor]]
) -> dict[str, object]:
    arguments: dict[str, object] = {"d_in": sizes.d_in, "d_out": sizes.d_out}
    if sizes.context_length:
        arguments |= {"context_length": sizes.context_length, "dropout": 0.0}
    if sizes.heads:
        arguments["num_heads"] = sizes.heads
    return {
        "sizes": arguments,
        "weights": {
            prefix + _path(role): rounded(weight, DIGITS)
            for prefix, each in weights.items()
            for role, weight in each.items()
        },
        "arguments": [rounded(tokens, DIGITS)],
    }


def _path(role: str) -> str:
    layer, _, bias = role.partition("_")
    return _PATHS[layer] + (".bias" if bias else "")


# What comes out -----------------------------------------------------------------------------


Outputs = tuple[Tensor | None, ...]


def _table(name: str, chain: Chain, catalogue: Catalogue, probes: Sequence[Probe]) -> str:
    kept: list[tuple[Outputs, dict[str, object], list[str]]] = []
    for identifier, raises, outputs in _entries(name, chain, catalogue, probes):
        visible = any(each is not None for each in outputs)
        same = [ids for other, _, ids in kept if visible and _alike(outputs, other)]
        if not same:
            ids = [identifier]
            samples = [_sample(each) for each in outputs]
            kept.append((outputs, {"ids": ids, "raises": raises, "samples": samples}, ids))
        elif identifier not in same[0] and "right" not in same[0]:
            same[0].append(identifier)
    told = ",\n".join(f"    {_line(probe.told)}" for probe in probes)
    entries = ",\n".join(f"    {_line(entry)}" for _, entry, _ in kept)
    return f'{{"probes": [\n{told}\n   ], "entries": [\n{entries}\n   ]}}'


def _entries(
    name: str, chain: Chain, catalogue: Catalogue, probes: Sequence[Probe]
) -> Iterator[tuple[str, tuple[str, ...], Outputs]]:
    """Null programs, the right numbers, then the mistakes in the catalogue's order.

    A mistake that shows other numbers where another step is done right in another way comes again
    in the end.
    """
    for null in catalogue.nulls:
        output = null.outputs.get(name)
        if output is not None:
            yield null.id, (), tuple(output(probe.given).double() for probe in probes)
    yield "right", (), _outputs(chain, probes, {})
    others: list[Mapping[str, Step]] = [{}]
    for step_name, ways in chain.realizations.items():
        others += [{step_name: ways[0]}, {step_name: ways[-1]}]
    for other in others:
        for entry in catalogue.of(name):
            for step in entry.steps:
                if entry.step not in other:
                    outputs = _outputs(chain, probes, {**other, entry.step: step})
                    yield entry.id, entry.raises, outputs
            if not other and not entry.steps and entry.raises:
                yield entry.id, entry.raises, tuple(None for _ in probes)


def _outputs(chain: Chain, probes: Sequence[Probe], replaced: Mapping[str, Step]) -> Outputs:
    return tuple(_output(chain, probe.given, replaced) for probe in probes)


def _output(chain: Chain, given: Given, replaced: Mapping[str, Step]) -> Tensor | None:
    try:
        with torch.no_grad():
            return run(chain, given, replaced).double()
    except (StepRaises, RuntimeError, IndexError):
        return None


def _alike(one: Outputs, other: Outputs) -> bool:
    return all(
        (a is None and b is None) or (a is not None and b is not None and difference(a, b) < APART)
        for a, b in zip(one, other, strict=True)
    )


def _sample(output: Tensor | None) -> dict[str, object] | None:
    if output is None:
        return None
    step = -(-output.numel() // MOST_NUMBERS)
    if step % output.shape[-1] == 0:  # else only one column would be seen
        step += 1
    numbers = [
        _steady(number) if math.isfinite(number) else str(number)
        for number in output.flatten()[::step].tolist()
    ]
    return {"shape": list(output.shape), "step": step, "numbers": numbers}


def _steady(number: float) -> float:
    """A number in so few digits that no processor's way of adding up shows.

    It is rounded twice: what lies halfway between two short numbers, as the mean of two inputs
    does, is first brought to exactly there. Zero has no sign.
    """
    return round(float(f"{number:.{STEADY}g}"), DIGITS) + 0.0


# Words --------------------------------------------------------------------------------------


def _words(stage: Stage, catalogue: Catalogue) -> str:
    lines = [
        f"   {_line(entry.id)}: {_line(_told_of(stage, entry))}"
        for entry in catalogue.misconceptions
    ]
    seen: set[str] = {entry.id for entry in catalogue.misconceptions}
    for null in catalogue.nulls:
        if null.id not in seen:
            seen.add(null.id)
            section = section_of(stage, next(iter(null.outputs)))
            told = {"title": "nothing computed yet", "message": null.message, "section": section}
            lines.append(f"   {_line(null.id)}: {_line(told)}")
    return "{\n" + ",\n".join(lines) + "\n  }"


def _told_of(stage: Stage, entry: Misconception) -> dict[str, str]:
    sections = {criterion.id: criterion.section for criterion in stage.criteria}
    title, message = OTHER_WORDS.get(entry.id, (entry.title, entry.message))
    return {
        "title": title,
        "message": message,
        "section": sections.get(entry.criterion, ""),
    }


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
