"""What a student is told about the loading, in the order in which it happened."""

import re
from collections import Counter
from collections.abc import Sequence
from types import TracebackType

MAX_LENGTH = 300
MAX_NOTES = 60
LISTED_AT_MOST = 6  # items of one note
RAISED_AT_MOST = 5  # of one file; one failing line often makes many others fail

# The interpreter words these, so they are the same on every run. What other exceptions say may
# hold times, addresses or random numbers, and results must not differ between two runs.
_TOLD = ("NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "AttributeError")
_traceback = BaseException.__dict__["__traceback__"].__get__
_arguments = BaseException.__dict__["args"].__get__
_SPELLING = ("SyntaxError", "IndentationError", "TabError")


class Notes:
    """Collects notes: clean, cut to a line, each once, and not without end."""

    def __init__(self, root: str) -> None:
        self._root = root  # the name under which all modules live, not for students to read
        self._notes: dict[str, None] = {}
        self._raised: Counter[str] = Counter()
        self._left_out: dict[str, dict[str, None]] = {}

    def add(self, text: str) -> None:
        """Add one note."""
        if len(self._notes) < 10 * MAX_NOTES:
            self._notes[clean(text.replace(self._root + ".", ""))] = None

    def raised(self, path: str, where: str, error: BaseException) -> str:
        """Note that a statement raised, and give back what it raised in words."""
        words = described(error).replace(self._root + ".", "")
        self._raised[path] += 1
        if self._raised[path] <= RAISED_AT_MOST:
            self.add(f"{path} {where} raised {words}; the rest ran")
        return words

    def left_out(self, path: str, what: str, where: str) -> None:
        """Note a magic or a shell line that was not run; those of one file make one note."""
        self._left_out.setdefault(path, {})[f"{what} ({where})"] = None

    def finished(self) -> tuple[str, ...]:
        """All notes, those that sum something up at the end."""
        for path, found in self._left_out.items():
            self.add(f"{path}: left out, being no Python: {listed(list(found))}")
        self._left_out.clear()
        for path, count in self._raised.items():
            if count > RAISED_AT_MOST:
                more = count - RAISED_AT_MOST
                self.add(f"{path}: {more} more statement{'s' * (more > 1)} raised")
        self._raised.clear()
        notes = tuple(self._notes)
        if len(notes) > MAX_NOTES:
            return (*notes[:MAX_NOTES], f"and {len(notes) - MAX_NOTES} more notes")
        return notes


def described(error: BaseException) -> str:
    """The kind of an exception, with its words where those are the interpreter's own."""
    kind = class_name(type(error))
    if kind not in _TOLD + _SPELLING:
        return kind
    arguments = _arguments(error)
    text = arguments[0] if arguments and type(arguments[0]) is str else ""
    text = re.sub(r"0x[0-9a-fA-F]+", "0x...", re.sub(r" \(/[^()]*\)$", "", text))
    return clean(f"{kind}: {text}" if text else kind)


def class_name(kind: type) -> str:
    """The name of a class, whatever its metaclass makes of `__name__`."""
    name = type.__dict__["__name__"].__get__(kind)
    return clean(str(name))


def line_within(error: BaseException, filename: str) -> int | None:
    """The line of a file at which an exception left it, from its traceback."""
    trace: TracebackType | None = _traceback(error)
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            return trace.tb_lineno
        trace = trace.tb_next
    return None


def listed(items: Sequence[str]) -> str:
    """Items as one would say them."""
    if len(items) > LISTED_AT_MOST:
        shown = ", ".join(items[:LISTED_AT_MOST])
        return f"{shown} and {len(items) - LISTED_AT_MOST} more"
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def clean(text: str) -> str:
    """Text that can be shown anywhere: no control characters, one line, not too long."""
    text = text[: 4 * MAX_LENGTH]
    shown = (
        text
        if text.isprintable()
        else "".join(each if each.isprintable() else " " for each in text)
    )
    return shown if len(shown) <= MAX_LENGTH else shown[: MAX_LENGTH - 3] + "..."
