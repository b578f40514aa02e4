"""What stands for an import that is not there: silent while a submission loads, loud when graded.

Most submissions import more than they need: a plotting library for a figure, a tokenizer for a
demonstration. None of that may cost points. So the missing name is bound to an object that takes
everything in silence. Once grading has begun, any use of it raises ImportError and says why, for
then a graded name really leans on it.
"""

import opcode
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

_UNPACK_SEQUENCE = opcode.opmap["UNPACK_SEQUENCE"]
_UNPACK_EX = opcode.opmap["UNPACK_EX"]
_STATED = {"__version__": "0", "__all__": ()}  # dunder names that people print or read

_graded = False


def graded(on: bool) -> None:
    """Tell whether graded calls are being made: from then on every use raises."""
    global _graded
    _graded = on


class Placeholder:
    """Takes attributes, calls, loops, arithmetic and subclassing, and gives more of itself.

    A quiet one never raises: it stands for what only shows things, such as IPython's display.
    """

    __slots__ = ("_quiet", "_reason")

    def __init__(self, reason: str, *, quiet: bool = False) -> None:
        object.__setattr__(self, "_reason", reason)
        object.__setattr__(self, "_quiet", quiet)

    def __getattr__(self, name: str) -> Any:
        # Names with two underscores are asked for by Python and by libraries that want to know
        # what an object can do; "yes, everything" would lead them astray.
        if name.startswith("__") and name.endswith("__"):
            if name in _STATED:
                return _STATED[name]
            raise AttributeError(name)
        return more(self)

    def __setattr__(self, name: str, value: object) -> None:
        check(self)

    def __delattr__(self, name: str) -> None:
        check(self)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Another placeholder, or as a decorator what it decorates."""
        check(self)
        if len(arguments) == 1 and not options and isinstance(arguments[0], (FunctionType, type)):
            return arguments[0]  # used as a decorator: what it decorates stays as it is
        return more(self)

    def __iter__(self) -> Iterator[Any]:
        check(self)
        return iter([more(self) for _ in range(_wanted(sys._getframe(1)))])

    def __next__(self) -> Any:
        return more(self)

    def __len__(self) -> int:
        check(self)
        return 0

    def __bool__(self) -> bool:
        check(self)
        return True

    def __contains__(self, item: object) -> bool:
        check(self)
        return False

    def __int__(self) -> int:
        check(self)
        return 0

    def __index__(self) -> int:
        check(self)
        return 0

    def __float__(self) -> float:
        check(self)
        return 0.0

    def __lt__(self, other: object) -> bool:
        check(self)
        return False

    __le__ = __gt__ = __ge__ = __lt__

    def __setitem__(self, key: object, value: object) -> None:
        check(self)

    def __delitem__(self, key: object) -> None:
        check(self)

    def __enter__(self) -> Any:
        return more(self)

    def __exit__(self, *raised: object) -> None:
        return None

    async def __aenter__(self) -> Any:
        return more(self)

    async def __aexit__(self, *raised: object) -> None:
        return None

    def __await__(self) -> Iterator[Any]:
        check(self)
        return iter(())

    def __instancecheck__(self, instance: object) -> bool:
        check(self)
        return False

    def __subclasscheck__(self, subclass: object) -> bool:
        check(self)
        return False

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        check(self)
        return (_base_class(self),)

    def __repr__(self) -> str:
        return f"<{self._reason}>"

    def __format__(self, how: str) -> str:
        return repr(self)


def check(placeholder: Any) -> None:
    """Raise ImportError where a graded call uses what is not there."""
    if _graded and not object.__getattribute__(placeholder, "_quiet"):
        raise ImportError(object.__getattribute__(placeholder, "_reason"))


def more(placeholder: Any, *_arguments: object, **_options: object) -> Any:
    """Another placeholder of the same reason, for whatever was asked of the first."""
    check(placeholder)
    reason = object.__getattribute__(placeholder, "_reason")
    return Placeholder(reason, quiet=object.__getattribute__(placeholder, "_quiet"))


for _operation in (
    *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow", "lshift"),
    *("rshift", "and", "or", "xor"),
):
    for _side in ("", "r"):
        setattr(Placeholder, f"__{_side}{_operation}__", more)
for _operation in ("neg", "pos", "abs", "invert", "round", "getitem"):
    setattr(Placeholder, f"__{_operation}__", more)


def _wanted(frame: Any) -> int:
    """How many items the code that asks for an iterator will unpack; 0 for a loop.

    `figure, axes = plt.subplots()` must find two things, and `for batch in loader` none.
    """
    code, at = frame.f_code.co_code, frame.f_lasti
    if not 0 <= at < len(code) - 1:
        return 0
    if code[at] == _UNPACK_SEQUENCE:
        return int(code[at + 1])
    if code[at] == _UNPACK_EX:
        return int(code[at + 1])  # the names before the starred one; none after it, as a rule
    return 0


def _base_class(placeholder: Any) -> type:
    """A class to inherit from in the place of one that is not there."""

    class Absent:
        _placeholder = placeholder

        def __init_subclass__(cls, **options: Any) -> None:
            super().__init_subclass__()

        def __init__(self, *arguments: Any, **options: Any) -> None:
            check(placeholder)

        def __getattr__(self, name: str) -> Any:
            return getattr(placeholder, name)

    return Absent
