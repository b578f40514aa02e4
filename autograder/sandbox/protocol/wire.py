"""The parts of messages between judge and guest, and the bounds that they must keep.

Both sides import this module, so it must not need the rest of the kit. The judge trusts no
message: every one is decoded into these structs (unknown fields refused, ranges checked) and
only then looked at. Tensors travel behind a message as raw bytes; a message names them by number.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

MAX_DIMENSIONS = 8
MAX_SIZE = 1 << 24  # of one dimension
MAX_TENSOR_BYTES = 1 << 25
MAX_PAYLOAD_BYTES = 1 << 26
MAX_MESSAGE_BYTES = 1 << 27
MAX_REPLY_BYTES = 1 << 20
MAX_TENSORS = 4096
MAX_ITEMS = 4096
MAX_TEXT = 4000
MAX_NAME = 300
MAX_FRAMES = 5
MAX_DEPTH = 12  # of lists in lists

Index = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
Size = Annotated[int, msgspec.Meta(ge=0, le=MAX_SIZE)]
Shape = Annotated[tuple[Size, ...], msgspec.Meta(max_length=MAX_DIMENSIONS)]
Label = Annotated[str, msgspec.Meta(max_length=MAX_NAME)]
Words = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]


class Message(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """Base of everything on the wire: small, immutable, strict."""


# --- what a submission is made of -------------------------------------------------------------


class SourceFile(Message, frozen=True):
    """One file of a submission. A notebook has its code cells, other files have their bytes."""

    path: str
    kind: Literal["module", "notebook", "data"]
    data: bytes
    cells: tuple[str, ...] = ()


class OtherNames(Message, frozen=True):
    """What a parameter of the contract is called elsewhere.

    Attributes:
        near: Its other names, without case and underscores. Of two parameters that share one, the
            one whose own name is still free takes it; of several the first is the nearest.
        harmless: A constructor may do without it: its loss changes nothing at this value, in a
            tuple of its own; empty where it always matters.
        heeded: Whether it says anything about results; if not, it may always be left out.
    """

    near: tuple[str, ...] = ()
    harmless: tuple[bool | int | float | str | None, ...] = ()
    heeded: bool = True


class NameSpec(Message, frozen=True):
    """A name that the contract asks for, and the parameters that it is called with.

    package: the folder in which the template has its module.
    """

    name: str
    module: str
    kind: Literal["function", "class"]
    parameters: tuple[str, ...] = ()
    package: str = ""


class Found(Message, frozen=True):
    """Where a contract name was found, and how the student spelled it."""

    name: Label
    path: Label
    spelled: Label
    stub: bool
    line: Index | None = None
    cell: Index | None = None


class Missing(Message, frozen=True):
    """A contract name that was not found, with the nearest name that was."""

    name: Label
    suggestion: Label | None = None


class Report(Message, frozen=True):
    """What loading a submission showed."""

    found: Annotated[tuple[Found, ...], msgspec.Meta(max_length=MAX_ITEMS)] = ()
    missing: Annotated[tuple[Missing, ...], msgspec.Meta(max_length=MAX_ITEMS)] = ()
    notes: Annotated[tuple[Words, ...], msgspec.Meta(max_length=MAX_ITEMS)] = ()


# --- values -----------------------------------------------------------------------------------


class TensorHead(Message, frozen=True):
    """Type and shape of one tensor whose bytes follow the message."""

    dtype: Annotated[str, msgspec.Meta(max_length=16)]
    shape: Shape


class TensorValue(Message, frozen=True, tag=0):
    """A tensor, by its position among those that follow the message."""

    index: Index


class Many(Message, frozen=True, tag=1):
    """A list or a tuple."""

    items: Annotated[list[Value], msgspec.Meta(max_length=MAX_ITEMS)]


class Slot(Message, frozen=True):
    """One parameter, buffer or attribute of a module, without its bytes."""

    path: Label
    shape: Shape
    dtype: Label
    device: Label
    requires_grad: bool


Slots = Annotated[tuple[Slot, ...], msgspec.Meta(max_length=MAX_ITEMS)]


class ModuleValue(Message, frozen=True, tag=2):
    """A module that stays in the guest. Its handle is valid for this guest only."""

    handle: Index
    class_name: Label
    parameters: Slots = ()
    buffers: Slots = ()
    state_names: Annotated[tuple[Label, ...], msgspec.Meta(max_length=MAX_ITEMS)] = ()


class Described(Message, frozen=True, tag=3):
    """Something that cannot be sent: described in words, with the tensors that it holds."""

    type_name: Label
    why: Label
    shape: Shape | None = None
    dtype: Label | None = None
    device: Label | None = None
    parts: Annotated[dict[Label, Value], msgspec.Meta(max_length=MAX_ITEMS)] = {}


class Text(Message, frozen=True, tag=4):
    """A string, cut to a length that can be shown."""

    text: Words


Value = None | bool | int | float | TensorValue | Many | ModuleValue | Described | Text

# How a tensor lies in memory when it is handed over; the numbers are the same.
Layout = Literal["contiguous", "transposed", "sliced", "expanded"]
