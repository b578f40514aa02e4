"""Notebook cells to Python, and what a notebook expects around it.

IPython's own transformer turns magics and shell lines into calls of `get_ipython()`. Here that is
a stand-in which runs none of them and tells what was left out.
"""

import ast
import importlib
import importlib.abc
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any
from warnings import catch_warnings, simplefilter

from .placeholders import Placeholder
from .sources import tidy

_KEPT = frozenset(("time", "capture", "prun", "memit", "mprun"))  # their cell's body is Python
_TRANSFORMS = 500  # IPython's own bound
_QUIET = Placeholder("shown in a notebook only", quiet=True)

_transformer: Any = None


def prepare() -> None:
    """Import IPython's transformer alone, and leave no trace of IPython behind."""
    global _transformer
    if _transformer is not None:
        return
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_ipython(name)}
    try:
        for name in ("IPython", "IPython.core", "IPython.utils"):
            stub = ModuleType(name)
            stub.__path__ = [
                str(folder)
                for folder in (Path(entry or ".", *name.split(".")) for entry in sys.path)
                if folder.is_dir()
            ]
            sys.modules[name] = stub
        module = importlib.import_module("IPython.core.inputtransformer2")
        _transformer = module.TransformerManager()
        _transformer.transform_cell("%time x = !ls")  # so that patterns are compiled
    finally:
        for name in [name for name in sys.modules if _is_ipython(name)]:
            del sys.modules[name]
        sys.modules.update(before)


def body_of(cell: str) -> tuple[str, str | None]:
    """A cell's text without its cell magic, and the magic if it takes the whole cell with it.

    Lines keep their numbers: what is taken out leaves an empty line.
    """
    lines = tidy(cell).split("\n")
    for number, line in enumerate(lines):
        if line.startswith("%%"):
            name = line[2:].split(" ", 1)[0].strip()
            if name not in _KEPT:
                return "", f"%%{name}"
            lines[number] = ""
        elif line.strip():
            break
    return "\n".join(lines), None


def written_by(cell: str) -> tuple[str, str, bool] | None:
    """The file that a `%%writefile` cell writes, its text, and whether it adds to what is there."""
    first, _, text = tidy(cell).lstrip("\n").partition("\n")
    words = first.split()
    if not words or words[0] not in ("%%writefile", "%%file"):
        return None
    paths = [word.strip("'\"") for word in words[1:] if not word.startswith("-")]
    if len(paths) != 1:
        return None
    # Wherever it was written on the student's machine, here it lies beside the notebook.
    parts = paths[0].replace("\\", "/").split("/")
    is_elsewhere = paths[0].startswith(("/", "~")) or ".." in parts or ":" in paths[0]
    inside = parts[-1:] if is_elsewhere else [part for part in parts if part not in ("", ".")]
    return "/".join(inside), text, "-a" in words


def transformed(text: str) -> str:
    """Text with IPython's syntax as plain Python, line for line."""
    prepare()
    lines = [line + "\n" for line in text.split("\n")]
    try:
        with catch_warnings():
            simplefilter("ignore")
            return "".join(_line_for_line(lines))
    except Exception:  # it was made for what people type, not for any bytes
        return text


def _line_for_line(lines: list[str]) -> list[str]:
    # The first clean-up drops empty lines at the top, which would shift the numbers.
    for cleanup in _transformer.cleanup_transforms[1:]:
        lines = cleanup(lines)
    for _ in range(_TRANSFORMS):
        changed, new = _transformer.do_one_token_transform(lines)
        if not changed:
            break
        lost = len(lines) - len(new)
        if lost > 0:  # a continued line became one
            pairs = enumerate(zip(lines, new, strict=False))
            at = next((number for number, (old, now) in pairs if old != now), 0)
            new = [*new[: at + 1], *["\n"] * lost, *new[at + 1 :]]
        lines = new
    return lines


class Shell:
    """What `get_ipython()` gives: runs no magic, and tells which were left out."""

    def __init__(
        self, left_out: Callable[[str], None], run: Callable[[str], bool] = lambda path: False
    ) -> None:
        self._left_out = left_out
        self._run = run

    def run_line_magic(self, name: str, line: str = "", *rest: object) -> Any:
        """`%name line`: only what is timed is run, and files of the submission."""
        if name == "time" and isinstance(line, str):
            return self._timed(line)
        if name == "run" and isinstance(line, str) and self._run(line.strip()):
            return None
        if not str(name).startswith(("pinfo", "psearch")):
            self._left_out(f"%{name}")
        return None

    def run_cell_magic(self, name: str, line: str = "", cell: str = "") -> None:
        """`%%name`, called by hand."""
        self._left_out(f"%%{name}")

    def magic(self, line: str = "") -> Any:
        """The old way to run a line magic."""
        name, _, rest = str(line).partition(" ")
        return self.run_line_magic(name, rest)

    def system(self, command: str = "") -> None:
        """`!command`."""
        self._left_out("!" + (str(command).split() or [""])[0])

    def getoutput(self, command: str = "", *rest: object, **options: object) -> list[str]:
        """`lines = !command`: no lines."""
        self.system(command)
        return []

    def _timed(self, line: str) -> Any:
        namespace = sys._getframe(2).f_globals
        tree = ast.parse(line)
        if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
            return eval(line, namespace)
        exec(line, namespace)
        return None

    def __getattr__(self, name: str) -> Any:
        return getattr(_QUIET, name)


class _Shown(ModuleType):
    """IPython and its modules, as far as they only show things: anything, doing nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _QUIET


_shell = Shell(lambda what: None)


def install(
    left_out: Callable[[str], None], run: Callable[[str], bool]
) -> dict[str, ModuleType | None]:
    """Put the stand-ins in IPython's place; gives back what was there before."""
    global _shell
    _shell = Shell(left_out, run)
    before: dict[str, ModuleType | None] = {"IPython": None, "IPython.display": None}
    if "IPython" in sys.modules:  # else not looked through: a copied process pays for every touch
        for name in [name for name in sys.modules if _is_ipython(name)]:
            before[name] = sys.modules.pop(name)
    for name in ("IPython", "IPython.display"):
        sys.modules[name] = _shown(name)
    sys.modules["IPython"].__dict__["display"] = sys.modules["IPython.display"]
    return before


def remove(before: dict[str, ModuleType | None]) -> None:
    """Put back what was there before."""
    for name in [name for name in sys.modules if _is_ipython(name)]:
        del sys.modules[name]
    sys.modules.update({name: module for name, module in before.items() if module is not None})


def find_spec(name: str) -> ModuleSpec | None:
    """Any module below IPython is a stand-in too."""
    return ModuleSpec(name, _Stand(), is_package=True) if _is_ipython(name) else None


def names() -> dict[str, Any]:
    """What every notebook finds in its namespace."""
    return {"get_ipython": get_ipython, "display": display, "In": [""], "Out": {}, "_": ""}


def get_ipython() -> Shell:
    """The stand-in for the running shell."""
    return _shell


def display(*things: object, **options: object) -> None:
    """Shows nothing."""


class _Stand(importlib.abc.Loader):
    """Loader of stand-in modules."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _shown(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


def _shown(name: str) -> ModuleType:
    module = _Shown(name)
    module.__path__ = []
    module.__dict__.update(get_ipython=get_ipython, display=display, version_info=(9, 0, 0, ""))
    return module


def _is_ipython(name: str) -> bool:
    return name == "IPython" or name.startswith("IPython.")
