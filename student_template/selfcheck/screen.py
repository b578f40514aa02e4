"""What the terminal shows: where a student stands, what to do next, hints, heatmaps.

Every state has a mark and a word; colour only repeats them. Fits 80 columns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .course import PUBLIC_ONLY, Stage, course
from .heatmap import weight_text
from .hints import Hints
from .standing import NameStanding, StageStanding, Standing, State, Weights
from .stubs import line_of
from .submit import Submission

WIDEST = 100
BAR = 30
LOW = 34  # lines; on a terminal that has fewer, the list of all names is a row for each stage

STATES: dict[State, tuple[str, str, str, str]] = {  # mark, mark without Unicode, word, style
    "done": ("✓", "+", "done", "green"),
    "wrong": ("✗", "x", "not right yet", "red"),
    "todo": ("·", ".", "not written yet", "yellow"),
    "waits": ("·", ".", "waits for another name", "yellow"),
    "unseen": ("·", ".", "not checked", "yellow"),
}

#: A stage, and a name in it that is to be done; None where the stage cannot be checked.
Step = tuple[StageStanding, NameStanding | None]


class Screen:
    """A terminal, or a pipe, and what can be shown on it.

    With `keys`, single keys are heard, and hints are asked for by one of them.
    """

    def __init__(self, console: Console | None = None, keys: bool = False) -> None:
        self.keys = keys
        if console is None:
            for stream in (sys.stdout, sys.stderr):
                reconfigure = getattr(stream, "reconfigure", None)
                if reconfigure is not None:  # what cannot be shown is no error
                    reconfigure(errors="replace")
            console = Console(highlight=False)
            console.width = min(console.width, WIDEST)
        self.console = console
        self.plain = not (console.encoding or "").lower().startswith("utf")

    def show(self, *parts: RenderableType) -> None:
        """Print, a part below the other; in a pipe without spaces at the ends of lines."""
        if self.console.is_terminal:
            self.console.print(Group(*parts))
            return
        with self.console.capture() as captured:
            self.console.print(Group(*parts))
        lines = captured.get().splitlines()
        self.console.file.write("".join(f"{line.rstrip()}\n" for line in lines))

    @contextmanager
    def waiting(self) -> Iterator[Callable[[str], None]]:
        """A line on a terminal that says what is being done, and is gone afterwards."""
        console = Console(stderr=True, highlight=False)
        shown = Text("checking ...", overflow="ellipsis", no_wrap=True)
        with console.status(shown, spinner="line") as status:

            def tell(what: str) -> None:
                status.update(Text(f"checking ... {clean(what)}"[: console.width - 4], "dim"))

            yield tell

    def mark(self, state: State) -> Text:
        """The mark of a state."""
        mark, plain, _, style = STATES[state]
        return Text(plain if self.plain else mark, style)

    # Where the student stands ---------------------------------------------------------------

    def status(self, standing: Standing, step: Step | None, names: bool = False) -> RenderableType:
        """All stages with a bar, and what is in that of the next step; with `names`, in each."""
        passed, total = standing.passed, standing.total
        share = passed / total if total else 0.0
        full, empty = ("#", "-") if self.plain else ("█", "░")
        filled = int(share * BAR)
        bar = Text.assemble((full * filled, "green"), empty * (BAR - filled))
        heading = Text.assemble((course().title, "bold"), "\n", (PUBLIC_ONLY, "dim"))
        return Group(
            heading,
            Text.assemble("\n  ", bar, f"  {passed} of {total} checks passed\n"),
            self._stages(standing, step, names),
        )

    def _stages(self, standing: Standing, step: Step | None, names: bool) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        table.add_column(width=2, justify="right")
        table.add_column(overflow="fold")
        table.add_column()
        for stage in standing.stages.values():
            state = _state_of(stage)
            told = stage.stage
            table.add_row(
                self.mark(state), Text(f"{told.number} {told.title}"), Text(_count(stage, state))
            )
            if names and self.console.height < LOW:
                table.add_row("", Text("  ").join(self._marked(stage)), "")
            elif names or (step is not None and step[0] is stage and not stage.problem):
                for name in stage.names.values():
                    table.add_row(
                        "",
                        Text.assemble("    ", self.mark(name.state), " ", name.name),
                        Text(STATES[name.state][2]),
                    )
        return table

    def _marked(self, stage: StageStanding) -> Iterator[Text]:
        """The names of a stage in a row, for a terminal that is too low for a line each."""
        for name in stage.names.values():
            yield Text.assemble(self.mark(name.state), " ", name.name)

    # What comes next ------------------------------------------------------------------------

    def next_step(self, step: Step | None) -> RenderableType:
        """The next thing to do, if there is any."""
        if step is None:
            return Text.assemble(
                ("\nAll public checks passed. Well done.\n", "bold"),
                "Make the zip to hand in: python -m selfcheck submit",
            )
        stage, name = step
        lines = [*(_problem(stage) if name is None else self._step(stage.stage, name))]
        stuck = Text(f"Stuck? {self._hint(stage.stage.id)}", "dim")
        body = Padding(Group(*lines, stuck), (0, 0, 0, 2))
        title = stage.stage.file if name is None else f"{name.name}, {_place(stage.stage, name)}"
        return Group(Text.assemble("\nNext: ", (title, "bold")), body)

    def _step(self, stage: Stage, name: NameStanding) -> Iterator[RenderableType]:
        trouble = name.trouble
        read = f"{stage.handout}#{name.section}"
        if trouble is None or trouble.status in ("todo", "waits"):
            message = trouble.message if trouble is not None else f"`{name.name}` was not checked"
            yield Text(f"{clean(message)}. Read {read}")
            return
        yield Text(f"{trouble.check}: not right yet")
        for line in trouble.message.splitlines():
            yield Text(clean(line))
        if trouble.place:
            yield Text(f"  seen in: {clean(trouble.place)}")
        if trouble.printed:
            yield Text("  printed: " + clean(" / ".join(trouble.printed.splitlines())))
        if name.mistake is not None:
            title, message = name.mistake.told
            yield Text(title, "bold")
            yield Text(message)
            read = f"{stage.handout}#{name.mistake.section}"
            if read not in trouble.message:
                yield Text(f"Read {read}")
        elif "where to look:" not in trouble.message:
            yield Text(f"  where to look: {read}")

    # Hints, weights, submissions --------------------------------------------------------------

    def hints(self, hints: Hints) -> RenderableType:
        """The hints that were shown by now, the newest last."""
        heading = f"{hints.name}: hint {len(hints.shown)} of {hints.total}"
        rows = Table.grid(padding=(0, 1))
        for number, hint in enumerate(hints.shown, start=1):
            newest = number == len(hints.shown)
            rows.add_row(f"{number}.", Text(hint, "" if newest else "dim"))
        if len(hints.shown) < hints.total:
            more = f"One more: {self._hint(hints.name)}"
        else:
            more = f"That was the last one. Read {hints.stage.handout} again, or go on and return."
        return Group(Text(heading, "bold"), rows, Text(more, "dim"))

    def _hint(self, word: str) -> str:
        """How to ask for the next hint."""
        return "press h" if self.keys else f"python -m selfcheck hint {word}"

    def heatmap(self, seen: Weights) -> RenderableType:
        """Attention weights with the tokens as labels; shade and number say the same."""
        tokens = course().example.tokens
        table = Table.grid(padding=(0, 0))
        table.add_column(justify="right")
        narrow = self.console.width < 64
        for _ in tokens:
            table.add_column(justify="right", min_width=8 if narrow else 9, no_wrap=True)
        table.add_row("", *(Text(f"{token} ", "bold") for token in tokens))
        for token, row in zip(tokens, seen.rows, strict=True):
            table.add_row(Text(f"{token} ", "bold"), *(self._cell(weight) for weight in row))
        return Group(Text(f"\n{seen.title}: each row is what one query gives to every key"), table)

    def _cell(self, weight: float) -> Text:
        shade = min(max(weight, 0.0), 1.0) if weight == weight else 0.0
        blocks = " .:*#" if self.plain else " ░▒▓█"
        block = blocks[0 if shade == 0 else 1 + min(3, int(shade * 4))]
        blue = f"rgb({int(235 - 200 * shade)},{int(242 - 130 * shade)},{int(250 - 60 * shade)})"
        ink = "black" if shade < 0.6 else "white"
        return Text(f" {block}{weight_text(weight):>5} ", f"{ink} on {blue}" if shade else "")

    def submission(self, made: Submission) -> RenderableType:
        """What is in the zip and, at the end, what of it will be graded, name by name."""
        lines: list[RenderableType] = [Text(f"Made {made.zip.name} with:")]
        lines += [Text(f"  {clean(each)}") for each in made.files]
        lines += [Text(f"{clean(each)}; nothing in it will count") for each in made.unreadable]
        for each in made.broken:
            lines.append(Text(f"{clean(each.where)} is not Python yet: {clean(each.message)}"))
            lines.append(Text("  what to do: mend it; the rest of the file still counts"))
        total = sum(len(stage.names) for stage in course().stages)
        heading = f"\nWhat will be graded, {len(made.written)} of {total} names:"
        lines.append(Text(heading, "bold"))
        table = Table.grid(padding=(0, 1))
        table.add_column(width=1)
        table.add_column(overflow="fold")
        table.add_column(overflow="fold")
        for stage in course().stages:
            for name in stage.names:
                table.add_row(*self._handed_in(made, stage, name.name))
        lines.append(table)
        if made.stubs:
            lines.append(Text("A stub costs its own points alone."))
        if made.missing:
            lines.append(Text("What is missing needs just that name; or bring its stub back:"))
            lines.append(Text(f"  python -m selfcheck reset {made.missing[0]}"))
        if made.loses:
            lines.append(Text("Something will not count: see above, mend it, submit again."))
        else:
            lines.append(Text("Hand it in as it is. It is graded by hidden checks: other sizes,"))
            lines.append(Text("larger numbers, batches, dropout that is on."))
        return Group(*lines)

    def _handed_in(
        self, made: Submission, stage: Stage, name: str
    ) -> tuple[RenderableType, RenderableType, RenderableType]:
        """One name: a mark, the name, and where it was found or why it will not count."""
        lost = next((each for each in made.lost if each.name == name), None)
        if name in made.written:
            found = made.written[name]
            other = "" if found.name == name else f", called {found.name} there"
            return self.mark("done"), Text(name), Text(clean(found.where + other))
        if lost is not None:
            return self.mark("wrong"), Text(name), Text(clean(f"lost: {lost.where} {lost.why}"))
        if name in made.stubs:
            return self.mark("todo"), Text(name), Text("only a stub: " + made.stubs[name].where)
        return self.mark("wrong"), Text(name), Text(f"missing in {stage.file}")


def steps_left(standing: Standing) -> list[Step]:
    """What is left to do, in order."""
    return [(stage, name) for stage in standing.stages.values() for name in _steps_of(stage)]


def _steps_of(stage: StageStanding) -> Iterator[NameStanding | None]:
    if stage.problem:
        yield None
        return
    yield from (name for name in stage.names.values() if name.state != "done")


def _problem(stage: StageStanding) -> Iterator[RenderableType]:
    for line in stage.problem.splitlines():
        yield Text(clean(line))


def _state_of(stage: StageStanding) -> State:
    if stage.done:
        return "done"
    if stage.problem or any(name.state == "wrong" for name in stage.names.values()):
        return "wrong"
    return "todo"


def _count(stage: StageStanding, state: State) -> str:
    if stage.problem:
        return "cannot be checked"
    if not stage.begun:
        return "not begun"
    return f"{stage.passed} of {stage.total}" + (" done" if state == "done" else "")


def _place(stage: Stage, name: NameStanding) -> str:
    line = line_of(stage, name.name)
    return stage.file if line is None else f"{stage.file}:{line}"


def clean(text: str) -> str:
    """Text without anything that a terminal would obey."""
    return "".join(each if each.isprintable() else "�" for each in text.expandtabs(4))


def svg_name(title: str) -> str:
    """The file name of a heatmap, such as `MultiHeadAttention-head-1.svg`."""
    return title.replace(",", "").replace(" ", "-") + ".svg"
