"""Lists of what could not be matched, for the terminal: nothing is dropped silently."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from autograder.feedback.plain import one_line


def titled(title: str, rows: Iterable[Sequence[str]]) -> RenderableType | None:
    """Rows of cells below a title; None if there are no rows."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    empty = True
    for row in rows:
        empty = False
        grid.add_row(
            *(
                Text(f"  {one_line(cell)}" if n == 0 else one_line(cell))
                for n, cell in enumerate(row)
            )
        )
    return None if empty else Group(Text(title, "bold"), grid)
