"""What a gradebook keeps about a result besides `result.json`: for the teacher, and for pictures.

The judge writes it as JSON, pages and commands read it. Every part may be missing: an older kit
wrote less, and a submission that could not be read has none.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from autograder.diagnosis.fingerprint import Fingerprint

#: A matrix of numbers, row by row; None where no finite number was.
Matrix = tuple[tuple[float | None, ...], ...]


#: Weights that differ by less look the same, as they are shown with two digits.
VISIBLE = 0.005


class HeadWeights(msgspec.Struct, frozen=True, gc=False):
    """The attention weights of one head, `(T, T)`: what was found and what a right program has."""

    found: Matrix
    expected: Matrix


class AttentionSeen(msgspec.Struct, frozen=True, gc=False):
    """What one name's attention looks like, on inputs that are no hidden ones.

    causal: whether nothing may stand above the diagonal. shares: whether each row is to sum to 1
    (a mask is none). sure: whether what was found is known to be its weights, or only what came
    out in their place, because its mistake is an unknown one.
    """

    name: str
    stage: str
    tokens: tuple[str, ...]
    heads: tuple[HeadWeights, ...]
    causal: bool
    shares: bool = True
    sure: bool = True


class StandingSeen(msgspec.Struct, frozen=True, gc=False):
    """How one name stands: `right`, `explained`, `unexplained`, ... and by which mistakes."""

    kind: str
    misconceptions: tuple[str, ...] = ()
    alternatives: tuple[tuple[str, ...], ...] = ()


class FailureSeen(msgspec.Struct, frozen=True, gc=False):
    """One check that did not pass, with the numbers that only a teacher may see."""

    check: str
    status: str
    found: str = ""
    expected: str = ""
    numbers: str = ""
    text: str = ""


class Numbers(msgspec.Struct, frozen=True, gc=False):
    """A tensor as it is shown to a teacher: its shape and its first numbers, rounded."""

    shape: tuple[int, ...]
    numbers: tuple[float | None, ...]


class Comparison(msgspec.Struct, frozen=True, gc=False):
    """The first call of a name that did not give what the reference gives."""

    name: str
    check: str
    call: str
    inputs: dict[str, Numbers]
    expected: Numbers
    found: Numbers | None
    exception: str = ""


class Details(msgspec.Struct, frozen=True, gc=False):
    """All of it. fingerprints: by name, of outputs that nothing explains.

    titles: what the misconceptions are called, by id. output: what the submission printed, cut.
    """

    standings: dict[str, StandingSeen] = {}
    failures: tuple[FailureSeen, ...] = ()
    attention: tuple[AttentionSeen, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    fingerprints: dict[str, Fingerprint] = {}
    titles: dict[str, str] = {}
    output: str = ""


def read_details(data: bytes) -> Details:
    """The details that the judge wrote; a part that cannot be read is as if it were not there.

    Parts are read one by one, so that what another kit wrote otherwise costs nothing but itself.
    """
    try:
        parts = _PARTS.decode(data) if data else {}
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Details()
    read = {}
    for name, decoder in _DECODERS.items():
        if name in parts:
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                read[name] = decoder.decode(parts[name])
    return Details(**read)


# Made once: to look up what a struct's fields are takes longer than to read them.
_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    field.name: msgspec.json.Decoder(field.type) for field in msgspec.structs.fields(Details)
}
