"""One result in full, for a teacher: every lost point with its checks, inputs, expected, found.

It shows hidden inputs and expected numbers, so it is not for students.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from autograder.assignment.assignment import Assignment
from autograder.feedback.heatmap_blocks import attention_blocks
from autograder.feedback.plain import one_line, plain
from autograder.feedback.terminal import result_view
from autograder.feedback.words import points
from autograder.gradebook.adjustments import Adjusted
from autograder.results.details import Comparison, Details, FailureSeen, Numbers

COLUMNS = 10  # numbers in a line


def full_view(told: Adjusted, details: Details, assignment: Assignment) -> RenderableType:
    """Everything that is known of one student's result.

    Args:
        told: The result with the teacher's changes.
        details: What the judge kept for the teacher.
        assignment: The assignment.
    """
    parts: list[RenderableType] = [result_view(told.result, show=True)]
    for change, graded in told.applied:
        counts = f"{change.stage}/{change.criterion}: graded {points(graded)}, counts"
        counts += f" {points(change.points)} since {change.made}: {one_line(change.reason)}"
        parts.append(Text(f"changed by hand: {counts}"))
    parts += _section("status of each name", _standings(details))
    parts += _section("checks that did not pass", map(_failure, details.failures))
    for comparison in details.comparisons:
        parts += _section(f"the first wrong call of {comparison.name}", _comparison(comparison))
    for seen in details.attention:
        parts += [Text(), attention_blocks(seen, numbers=True)]
    if details.output:
        parts += _section("what it printed", map(Text, plain(details.output).splitlines()))
    if details == Details():
        parts += [Text(), Text("no more details: it was not run")]
    return Group(*parts)


def _section(title: str, lines: Iterable[RenderableType]) -> list[RenderableType]:
    body = [Padding(line, (0, 0, 0, 2)) for line in lines]
    return [Text(), Text(title, "bold"), *body] if body else []


def _standings(details: Details) -> Iterator[Text]:
    for name, standing in details.standings.items():
        if standing.kind == "right":
            continue
        named = [f"{each} ({details.titles.get(each, each)})" for each in standing.misconceptions]
        told = f"{name}: {standing.kind}" + (f" by {', '.join(named)}" if named else "")
        if standing.alternatives:
            others = "; ".join(" and ".join(each) for each in standing.alternatives)
            told += f", or as well by {others}"
        yield Text(one_line(told))


def _failure(failure: FailureSeen) -> Text:
    told = f"{failure.check}: {failure.status}"
    if failure.expected or failure.found:
        told += f"; expected {failure.expected}, found {failure.found}"
    for more in (failure.numbers, failure.text):
        told += f" ({one_line(more)})" if more else ""
    return Text(plain(told))


def _comparison(seen: Comparison) -> Iterator[RenderableType]:
    yield Text(f"in {seen.check}: {one_line(seen.call).replace('`', '')}")
    for name, tensor in seen.inputs.items():
        yield Text(f"{name} {_shape(tensor)}")
        yield Padding(Text(_written(tensor), no_wrap=True), (0, 0, 0, 2))
    yield Text(f"expected {_shape(seen.expected)}")
    yield Padding(Text(_written(seen.expected), no_wrap=True), (0, 0, 0, 2))
    if seen.found is None:
        yield Text(f"found nothing: {one_line(seen.exception)}")
    else:
        yield Text(f"found {_shape(seen.found)}")
        yield Padding(Text(_written(seen.found), no_wrap=True), (0, 0, 0, 2))


def _shape(tensor: Numbers) -> str:
    sizes = ", ".join(map(str, tensor.shape))
    return f"({sizes}{',' if len(tensor.shape) == 1 else ''})"


def _written(tensor: Numbers) -> str:
    """The numbers row by row, as far as they were kept."""
    row = tensor.shape[-1] if tensor.shape else 1
    step = row if 0 < row <= COLUMNS else COLUMNS
    words = ["–" if each is None else f"{each:g}" for each in tensor.numbers]
    lines = [
        " ".join(f"{word:>9}" for word in words[at : at + step])
        for at in range(0, len(words), step)
    ]
    left = math.prod(tensor.shape) - len(tensor.numbers)
    return "\n".join([*lines, *([f"and {left} more"] if left > 0 else [])])
