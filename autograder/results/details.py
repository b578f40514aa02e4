"""What a gradebook keeps about a result besides `result.json`: for the teacher, and for pictures.

The judge writes it as JSON; pages and commands read it. Any part may be missing: an older kit
wrote less, and a submission that could not be read has none.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from autograder.diagnosis.fingerprint import Fingerprint

#: A matrix of numbers, row by row; None stands for a number that is not finite.
Matrix = tuple[tuple[float | None, ...], ...]


#: Weights that differ by less look the same, since they are shown with two digits.
VISIBLE = 0.005


class HeadWeights(msgspec.Struct, frozen=True, gc=False):
    """The attention weights of one head, `(T, T)`: found, and those of a correct program."""

    found: Matrix
    expected: Matrix


class AttentionSeen(msgspec.Struct, frozen=True, gc=False):
    """What one name's attention looks like on the public worked example.

    Attributes:
        name: The function or class.
        stage: The id of its stage.
        tokens: The words of the example, one a row and column.
        heads: The weights, head by head.
        causal: Whether every weight above the diagonal must be 0.
        shares: Whether each row must sum to 1; not so for a mask.
        sure: Whether what was found is known to be the weights, or only what came out instead of
            them, because the mistake is unknown.
    """

    name: str
    stage: str
    tokens: tuple[str, ...]
    heads: tuple[HeadWeights, ...]
    causal: bool
    shares: bool = True
    sure: bool = True


class StandingSeen(msgspec.Struct, frozen=True, gc=False):
    """The status of one name: `right`, `explained`, `unexplained`, ... and by which mistakes."""

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
    """A tensor as a teacher sees it: its shape and its first numbers, rounded."""

    shape: tuple[int, ...]
    numbers: tuple[float | None, ...]


class Comparison(msgspec.Struct, frozen=True, gc=False):
    """The first call of a name whose output differed from the reference's."""

    name: str
    check: str
    call: str
    inputs: dict[str, Numbers]
    expected: Numbers
    found: Numbers | None
    exception: str = ""


class Details(msgspec.Struct, frozen=True, gc=False):
    """All details of one result.

    Attributes:
        standings: The status of each name.
        failures: The checks that did not pass.
        attention: Pictures of attention weights that are wrong.
        comparisons: The first wrong call of each name.
        fingerprints: By name, of outputs that nothing explains.
        titles: The titles of misconceptions, by id.
        output: What the submission printed, cut to the limit.
    """

    standings: dict[str, StandingSeen] = {}
    failures: tuple[FailureSeen, ...] = ()
    attention: tuple[AttentionSeen, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    fingerprints: dict[str, Fingerprint] = {}
    titles: dict[str, str] = {}
    output: str = ""


def read_details(data: bytes) -> Details:
    """Read the details that the judge wrote.

    Parts are read one by one, so that a part that another version of the kit wrote differently
    costs only itself.

    Args:
        data: The JSON that the gradebook keeps; may be empty.

    Returns:
        The details; a part that cannot be read has its default.
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
