"""The public checks as notebooks have them, made from those of the template.

A notebook has neither student modules nor pytest: `stage.function` becomes `function`, and fixtures
and settings are filled in by `public_check`, which a cell near the top defines. The checks
themselves stay word for word.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.assignment.assignment import Assignment, Stage
from autograder.errors import InternalError, UsageError

RUNNER = "public_check"
CONFTEST = "conftest.py"

_SHARED = '''\
# What the public checks share. There is nothing to write here: run it once.
from inspect import signature
from itertools import product

{imports}


def public_check(test, **settings):
    """Run a public check, once for each of its settings, and say that it passed."""
    if "__file__" in globals() or not isinstance(get_ipython().execution_count, int):
        return  # brought in by another notebook, or being graded

{fixtures}

    fixtures = {{{names}}}

    def call(function, known):
        wanted = signature(function).parameters
        return function(
            **{{
                name: known[name] if name in known else call(fixtures[name], known)
                for name in wanted
            }}
        )

    for values in product(*settings.values()):
        call(test, dict(zip(settings, values)))
    print("passed, a public check:", test.__name__.removeprefix("test_").replace("_", " "))'''

Definition = ast.FunctionDef | ast.Assign


@dataclass(frozen=True)
class PublicCheck:
    """One check.

    Attributes:
        name: The name of its function.
        subjects: The assignment's names that it needs, in their order.
        imports: The imports that it needs, as source.
        leans_on: The constants and functions that it needs, as source.
        source: Its function.
        settings: Parameters and lists of their values, both as source.
    """

    name: str
    subjects: tuple[str, ...]
    imports: tuple[str, ...]
    leans_on: tuple[str, ...]
    source: str
    settings: tuple[tuple[str, str], ...]


def checks_of(assignment: Assignment, stage: Stage) -> tuple[PublicCheck, ...]:
    """The public checks of a stage, in the order in which they are written.

    Raises:
        UsageError: The assignment has no public checks.
        InternalError: A check uses something of pytest that notebooks cannot have.
    """
    file = _only(sorted(_tests(assignment).glob(f"test_*_{stage.module}.py")), stage)
    return tuple(_Reader(assignment, stage, file).checks())


def shared_cell(assignment: Assignment) -> str:
    """The cell that defines `public_check`, with the fixtures of the template's `conftest.py`."""
    file = _tests(assignment) / CONFTEST
    source = file.read_text(encoding="utf-8")
    module = ast.parse(source)
    texts, fixtures = [], _fixtures(module)
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("pytest_"):
            texts.append(_edited(source, node, _without_pytest(source, node), file))
        elif isinstance(node, ast.Assign):
            texts.append(_edited(source, node, [], file))
    body = textwrap.indent("\n\n".join(texts), "    ")
    names = ", ".join(f'"{name}": {name}' for name in fixtures)
    package = assignment.solutions.name
    imports = "\n".join(_imports(module, "\n\n".join(texts), package))
    return _SHARED.format(imports=imports, fixtures=body, names=names)


def _fixtures(module: ast.Module) -> list[str]:
    return [
        node.name
        for node in module.body
        if isinstance(node, ast.FunctionDef)
        and any("pytest.fixture" in ast.unparse(each) for each in node.decorator_list)
    ]


def cell_of(checks: Iterable[PublicCheck], title: str) -> str:
    """One cell with several checks: what they need, once; the checks; the calls."""
    taken = tuple(checks)
    imports = dict.fromkeys(line for check in taken for line in check.imports)
    leans_on = dict.fromkeys(text for check in taken for text in check.leans_on)
    constants = [text for text in leans_on if not text.startswith("def ")]
    functions = [text for text in leans_on if text.startswith("def ")]
    functions += [check.source for check in taken]
    calls = [
        f"{RUNNER}({', '.join([check.name, *(f'{key}={value}' for key, value in check.settings)])})"
        for check in taken
    ]
    head = [title, *imports] if not constants else [title, *imports, "", *constants]
    return "\n".join(head) + "\n\n" + "\n\n".join(functions) + "\n\n" + "\n".join(calls)


class _Reader:
    """Reads one file of checks."""

    def __init__(self, assignment: Assignment, stage: Stage, file: Path) -> None:
        self._names = assignment.names
        self._package = assignment.solutions.name
        self._modules = {each.module for each in assignment.stages}
        self._file = file
        self._source = file.read_text(encoding="utf-8")
        self._module = ast.parse(self._source)
        self._definitions: dict[str, Definition] = {}
        for node in self._module.body:
            if isinstance(node, ast.FunctionDef):
                self._definitions[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._definitions[node.targets[0].id] = node
        conftest = ast.parse((file.parent / CONFTEST).read_text(encoding="utf-8"))
        self._fixtures = _fixtures(conftest)
        texts = {node.value for node in ast.walk(self._module) if isinstance(node, ast.Constant)}
        self._by_text = [name for name in stage.names if name in texts]

    def checks(self) -> Iterator[PublicCheck]:
        """All checks, in the order in which they are written."""
        for node in self._module.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield self._check(node)

    def _check(self, node: ast.FunctionDef) -> PublicCheck:
        settings = tuple(self._settings(node))
        for parameter in node.args.args:
            if parameter.arg not in {*self._fixtures, *dict(settings)}:
                raise self._fault(node, f"{CONFTEST} has no fixture {parameter.arg!r}")
        leans_on = tuple(self._text(each) for each in self._needed(node))
        source = self._text(node)
        whole = "\n".join([*leans_on, source, *(value for _, value in settings)])
        used = _identifiers(whole)
        subjects = tuple(name for name in self._names if name in used)
        return PublicCheck(
            node.name,
            subjects,
            _imports(self._module, whole, self._package),
            leans_on,
            source,
            settings,
        )

    def _settings(self, node: ast.FunctionDef) -> Iterator[tuple[str, str]]:
        """What `pytest.mark.parametrize` gives: a parameter and the list of its values."""
        for mark in reversed(node.decorator_list):
            if not isinstance(mark, ast.Call) or "parametrize" not in ast.unparse(mark.func):
                raise self._fault(mark, "only parametrize can be carried into notebooks")
            name, values = mark.args
            if not isinstance(name, ast.Constant) or "," in str(name.value):
                raise self._fault(mark, "one parameter at a time can be carried into notebooks")
            if isinstance(values, ast.Name):
                definition = self._definitions[values.id]
                assert isinstance(definition, ast.Assign)
                values = definition.value
            yield str(name.value), ast.get_source_segment(self._source, values) or ""

    def _needed(self, node: ast.FunctionDef) -> list[Definition]:
        """The constants and functions of the file that a check needs, in the file's order."""
        found: set[str] = set()
        waiting = [*node.body]
        while waiting:
            for each in ast.walk(waiting.pop()):
                if not isinstance(each, ast.Name) or each.id in found:
                    continue
                if each.id in self._definitions:
                    found.add(each.id)
                    waiting.append(self._definitions[each.id])
        return [each for name, each in self._definitions.items() if name in found]

    def _text(self, node: Definition) -> str:
        edits = _without_pytest(self._source, node)
        for each in ast.walk(node):
            if isinstance(each, ast.Attribute) and _is_name(each.value, self._modules):
                edits.append((each, each.attr))
            elif isinstance(each, ast.Call) and _is_name(each.func, {"getattr"}):
                module, name = each.args
                if _is_name(module, self._modules):
                    names = ", ".join(f"{known}={known}" for known in self._by_text)
                    key = ast.get_source_segment(self._source, name)
                    edits.append((each, f"dict({names})[{key}]"))
        return _edited(self._source, node, edits, self._file)

    def _fault(self, node: ast.expr | ast.stmt, what: str) -> InternalError:
        return InternalError(f"{self._file.name}:{node.lineno}: {what}")


Edit = tuple[ast.AST, str]


def _without_pytest(source: str, node: ast.AST) -> list[Edit]:
    """Replacements for what a check uses of pytest."""
    edits: list[Edit] = []
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and ast.unparse(each.func) == "pytest.fail":
            message = ast.get_source_segment(source, each.args[0])
            edits.append((each, f"raise AssertionError({message})"))
        elif isinstance(each, ast.Attribute) and ast.unparse(each) == "pytest.raises":
            edits.append((each, "unittest.TestCase().assertRaises"))
    return edits


def _edited(source: str, node: Definition, edits: list[Edit], file: Path) -> str:
    """A definition's source without its decorators, with some parts replaced."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def span(part: ast.AST) -> tuple[int, int]:
        first = starts[part.lineno - 1] + part.col_offset  # type: ignore[attr-defined]
        last = starts[part.end_lineno - 1] + part.end_col_offset  # type: ignore[attr-defined]
        return first, last

    begin, end = span(node)
    data = source.encode()
    places = sorted(((*span(part), text) for part, text in edits), reverse=True)
    for first, last, text in places:
        data = data[:first] + text.encode() + data[last:]
        end += len(text.encode()) - (last - first)
    text = data[begin:end].decode()
    if "pytest" in _identifiers(textwrap.dedent(text)):
        raise InternalError(
            f"{file.name}: {text.splitlines()[0]} needs pytest, which notebooks do not have"
        )
    return text


def _imports(module: ast.Module, text: str, package: str) -> tuple[str, ...]:
    """The imports of a file that a text needs, without pytest and the student's own modules."""
    used = _identifiers(text)
    found = ["import unittest"] if "unittest" in used else []
    for node in module.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            own = isinstance(node, ast.ImportFrom) and node.module in (package, None)
            kept = [
                each
                for each in node.names
                if (each.asname or each.name).partition(".")[0] in used and not own
            ]
            if kept:
                wanted = type(node)(**{**dict(ast.iter_fields(node)), "names": kept})
                found.append(ast.unparse(wanted))
    return tuple(found)


def _identifiers(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


def _is_name(node: ast.expr, names: Iterable[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _tests(assignment: Assignment) -> Path:
    if assignment.template is None:
        raise UsageError(
            f"{assignment.folder}: the assignment names no template with public checks"
        )
    tests = assignment.template / "tests"
    if not tests.is_dir():
        raise UsageError(f"{tests}: no such folder; the notebooks' public checks come from it")
    return tests


def _only(files: list[Path], stage: Stage) -> Path:
    if len(files) != 1:
        raise InternalError(
            f"one file of public checks is needed for {stage.id}; found {len(files)}"
        )
    return files[0]
