"""When two outputs count as the same numbers.

The tolerance is relative to the output's scale: 1e-3 in single precision, where right code was
seen to differ by 1.3e-4 on strong weights, and 1e-5 in double precision.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

SINGLE = 1e-3
DOUBLE = 1e-5

_SMALLEST = 1e-6  # an output that is zero everywhere has this scale


def tolerance(found: Tensor) -> float:
    """Of the output's scale, by the precision in which it was computed."""
    return DOUBLE if found.dtype == torch.float64 else SINGLE


def scale_of(expected: Tensor) -> float:
    """What a difference from these numbers is a share of."""
    if expected.numel() == 0:
        return _SMALLEST
    return max(_largest(expected.float() if expected.dtype == torch.bool else expected), _SMALLEST)


def difference(found: Tensor, expected: Tensor, scale: float | None = None) -> float:
    """The largest difference, as a share of the expected output's scale.

    Infinite where shapes differ or where only one of both is a number; nan equals nan. scale: that
    of `expected`, where it is known already (`scale_of`).
    """
    if found.shape != expected.shape:
        return float("inf")
    if found.dtype == expected.dtype and torch.equal(found, expected):
        return 0.0  # to the bit: seen at once, without an operation that makes a tensor
    if expected.dtype == torch.bool:
        expected = expected.float()
    if found.dtype == torch.bool:
        found = found.float()
    if found.numel() == 0:
        return 0.0
    apart = _largest(found - expected)
    if math.isfinite(apart):  # nothing odd in either: the usual case, done quickly
        return apart / (scale_of(expected) if scale is None else scale)
    ours, theirs = expected.double(), found.double()
    finite = torch.isfinite(ours)
    if not torch.equal(finite, torch.isfinite(theirs)):
        return float("inf")
    odd = ~finite
    if odd.any() and not torch.equal(
        torch.nan_to_num(ours[odd], nan=0.0), torch.nan_to_num(theirs[odd], nan=0.0)
    ):
        return float("inf")
    if not finite.any():
        return 0.0
    ours, theirs = ours[finite], theirs[finite]
    scale = max(float(ours.abs().max()), _SMALLEST)
    return float((ours - theirs).abs().max()) / scale


def _largest(numbers: Tensor) -> float:
    """The largest size among the numbers; nan where one of them is. A norm is one operation."""
    if numbers.is_floating_point():
        largest: float = torch.linalg.vector_norm(numbers, math.inf).item()
        return largest
    return float(numbers.abs().max())


def same(found: Tensor, expected: Tensor, scale: float | None = None) -> bool:
    """Whether both are the same numbers within the tolerance of `found`'s precision."""
    return difference(found, expected, scale) <= tolerance(found)


def same_each(found: Tensor, expected: Tensor) -> Tensor:
    """Of many expected outputs, side by side in a first dimension, those that `found` is: `(N,)`.

    The same judgement as `same`, made for all of them at once.
    """
    theirs = found.float().flatten()
    ours = expected.float().flatten(1)
    alike = torch.ones(len(ours), dtype=torch.bool)
    odd = ~torch.isfinite(theirs)
    if bool(odd.any()):
        agree = torch.nan_to_num(ours[:, odd], nan=0.0) == torch.nan_to_num(theirs[odd], nan=0.0)
        alike = agree.all(dim=1) & ~torch.isfinite(ours[:, odd]).any(dim=1)
        ours, theirs = ours[:, ~odd], theirs[~odd]
    if theirs.numel() == 0:
        return alike
    scale = ours.abs().amax(dim=1).clamp_min(_SMALLEST)
    apart = (ours - theirs).abs().amax(dim=1)
    return alike & torch.isfinite(apart) & (apart <= tolerance(found) * scale)
