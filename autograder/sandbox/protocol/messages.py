"""Requests of the judge and replies of a guest.

A request has parts that do not depend on each other. Each holds operations, which are carried out
in order; its reply has an outcome for each of them, up to the first that raised. Both sides import
this module, so it must not need the rest of the kit.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from .wire import (
    MAX_FRAMES,
    MAX_ITEMS,
    MAX_TENSORS,
    Described,
    Index,
    Label,
    Layout,
    Message,
    NameSpec,
    OtherNames,
    Report,
    Slots,
    SourceFile,
    TensorHead,
    TensorValue,
    Text,
    Value,
    Words,
)

# --- requests ---------------------------------------------------------------------------------


class Load(Message, frozen=True, tag=0):
    """Find and run the submission's names, leaving out the statements that hung before.

    parameters: what students call the contract's parameters elsewhere.
    """

    files: tuple[SourceFile, ...]
    names: tuple[NameSpec, ...]
    skip: tuple[Index, ...] = ()
    parameters: dict[str, OtherNames] = msgspec.field(default_factory=dict)


class Make(Message, frozen=True, tag=1):
    """Build a class of the submission; the judge chooses the handle."""

    name: str
    handle: Index
    keywords: dict[str, Value]


class Call(Message, frozen=True, tag=2):
    """Call a function by name, or a module by handle.

    Attributes:
        target: The function's name or the module's handle.
        arguments: Positional arguments.
        keywords: Keyword arguments.
        layouts: The memory layout of some positional arguments, by position.
        cotangent: The vector to multiply gradients with; None for no gradients.
        arguments_wanted: Whether to return the arguments as they are after the call.
        operators_wanted: Whether to count all operators that it dispatches.
        grad_enabled: Whether gradients are recorded.
        unfilled: Whether weights are left uninitialised.
        training: The mode that a module is put into before; None to leave it.
        library_wanted: Whether to count only torch's own attention.
    """

    target: str | int
    arguments: tuple[Value, ...]
    keywords: dict[str, Value] = msgspec.field(default_factory=dict)
    layouts: dict[int, Layout] = msgspec.field(default_factory=dict)
    cotangent: TensorValue | None = None
    arguments_wanted: bool = False
    operators_wanted: bool = False
    grad_enabled: bool = False
    unfilled: bool = False
    training: bool | None = None
    library_wanted: bool = False


class Fetch(Message, frozen=True, tag=3):
    """The tensors of a module: its parameters and buffers, all in one frame."""

    handle: Index


class Assign(Message, frozen=True, tag=4):
    """Copy tensors into parameters or buffers, in place, each by its path."""

    handle: Index
    values: dict[str, TensorValue]


class Mode(Message, frozen=True, tag=5):
    """Training or evaluation, as the module itself understands it."""

    handle: Index
    training: bool


class Convert(Message, frozen=True, tag=6):
    """To another dtype or device, as the module itself understands it."""

    handle: Index
    to: Literal["double", "float", "meta"]


class Submodules(Message, frozen=True, tag=7):
    """Paths and class names of everything inside a module."""

    handle: Index


class Child(Message, frozen=True, tag=8):
    """A handle of one submodule; the judge chooses the handle."""

    handle: Index
    path: str
    child: Index


class Attributes(Message, frozen=True, tag=9):
    """Get what a module keeps besides parameters and buffers."""

    handle: Index


class Release(Message, frozen=True, tag=10):
    """Forget handles."""

    handles: tuple[Index, ...]


class Substitute(Message, frozen=True, tag=11):
    """Replace the student's functions by the judge's own of the same names.

    Attributes:
        source: The judge's functions.
        called: Whether a call by name reaches them too; if not, only student code uses them.
    """

    source: str
    called: bool = True


class Probe(Message, frozen=True, tag=12):
    """Try the wall from inside. Sent to a guest without a submission, when a level is chosen."""

    secret: str  # a file that exists outside and must not be readable
    folder: str  # a folder that exists outside and must not be writable


Operation = (
    Load
    | Make
    | Call
    | Fetch
    | Assign
    | Mode
    | Convert
    | Submodules
    | Child
    | Attributes
    | Release
    | Substitute
    | Probe
)


class Asked(Message, frozen=True):
    """One part of a request: operations in order, each with the seed that it starts from.

    tensors: how many of the frame's are its own; its operations count from the first of these.
    """

    operations: tuple[Operation, ...]
    seeds: tuple[Index, ...]
    tensors: Index = 0


class Request(Message, frozen=True):
    """One frame to the guest."""

    id: Index
    parts: tuple[Asked, ...]
    tensors: tuple[TensorHead, ...] = ()


# --- replies ----------------------------------------------------------------------------------


class Spot(Message, frozen=True):
    """One frame of a traceback that lies within the submission."""

    path: Label
    line: Index
    function: Label
    source: Label
    cell: Index | None = None


class Raised(Message, frozen=True, tag=0):
    """An exception, described. `not_implemented` is true for that of a stub."""

    kind: Label
    text: Words
    not_implemented: bool
    spots: Annotated[tuple[Spot, ...], msgspec.Meta(max_length=MAX_FRAMES)] = ()


class Done(Message, frozen=True, tag=1):
    """The operation was carried out and has no result."""


class Loaded(Message, frozen=True, tag=2):
    """The submission was loaded."""

    report: Report
    printed: Words = ""


class Answer(Message, frozen=True, tag=3):
    """A value, and what else was asked for."""

    value: Value
    arguments: (
        Annotated[list[TensorValue | Described], msgspec.Meta(max_length=MAX_ITEMS)] | None
    ) = None
    gradients: (
        Annotated[dict[Label, TensorValue | None], msgspec.Meta(max_length=MAX_ITEMS)] | None
    ) = None
    operators: Annotated[dict[Label, Index], msgspec.Meta(max_length=MAX_ITEMS)] | None = None
    printed: Words = ""
    notes: Annotated[tuple[Words, ...], msgspec.Meta(max_length=MAX_ITEMS)] = ()
    dropped: Annotated[tuple[Label, ...], msgspec.Meta(max_length=MAX_ITEMS)] = ()


class Tensors(Message, frozen=True, tag=4):
    """Named tensors; what cannot travel is described."""

    values: Annotated[dict[Label, TensorValue | Described], msgspec.Meta(max_length=MAX_ITEMS)]


class Part(Message, frozen=True):
    """One module inside another; `registered` says whether torch knows of it."""

    path: Label
    class_name: Label
    registered: bool


class Parts(Message, frozen=True, tag=5):
    """Everything inside a module."""

    items: Annotated[tuple[Part, ...], msgspec.Meta(max_length=MAX_ITEMS)]


Scalar = None | bool | int | float | Text | Described


class SlotList(Message, frozen=True, tag=6):
    """Attributes of a module that hold tensors, and its plain ones as words."""

    tensors: Slots
    scalars: Annotated[dict[Label, Scalar], msgspec.Meta(max_length=MAX_ITEMS)]


class Breaches(Message, frozen=True, tag=7):
    """What a probe of the wall could do and should not have been able to."""

    names: Annotated[tuple[Label, ...], msgspec.Meta(max_length=MAX_ITEMS)]


Outcome = Raised | Done | Loaded | Answer | Tensors | Parts | SlotList | Breaches


Outcomes = Annotated[tuple[Outcome, ...], msgspec.Meta(max_length=MAX_ITEMS)]


class Reply(Message, frozen=True):
    """One frame from the guest: for each part an outcome of each operation, up to one that raised.

    tensors: those of all parts; outcomes count from the first of the frame.
    """

    id: Index
    parts: Annotated[tuple[Outcomes, ...], msgspec.Meta(max_length=MAX_ITEMS)]
    tensors: Annotated[tuple[TensorHead, ...], msgspec.Meta(max_length=MAX_TENSORS)] = ()
