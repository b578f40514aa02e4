"""The commands of `python -m selfcheck`."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Sequence
from pathlib import Path

from .course import PUBLIC_ONLY, ROOT, Unknown, course

WEIGHTS = ROOT / "weights"  # where pictures of attention weights are put

READ_ONLY = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOSPC,
    errno.EISDIR,
)  # nothing can be written

NEEDED = ("torch", "pytest", "rich")

DONE, NOT_YET, WRONG_USE, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 where all is done, 1 where something is left to do."""
    chosen = _parser().parse_args(arguments)
    try:
        return int(chosen.run(chosen))
    except Unknown as error:
        print(f"selfcheck: {error}", file=sys.stderr)
        return WRONG_USE
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        print(
            f"selfcheck: {error.name} is not installed here\n"
            f"  what to do: python -m pip install {' '.join(NEEDED)}",
            file=sys.stderr,
        )
        return WRONG_USE
    except BrokenPipeError:  # whoever read has seen enough
        sys.stderr.close()
        return NOT_YET
    except OSError as error:
        if error.errno not in READ_ONLY:
            raise
        place = Path(error.filename or ROOT).name
        print(
            f"selfcheck: {place} cannot be written here: {error.strerror}\n"
            "  what to do: copy the folder to a place that is yours, and work there",
            file=sys.stderr,
        )
        return WRONG_USE
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m selfcheck",
        description="Where you stand, what is wrong and why, what to do next.",
        epilog=f"These are the {PUBLIC_ONLY}.",
    )
    parser.set_defaults(run=_status)
    commands = parser.add_subparsers(metavar="COMMAND")

    def command(name: str, run: object, told: str, word: str = "", example: str = "") -> None:
        made = commands.add_parser(
            name, help=told, description=told, epilog=f"Example: python -m selfcheck {example}"
        )
        made.set_defaults(run=run)
        if word:
            made.add_argument("word", metavar=word)

    command(
        "status", _status, "where you stand in all stages (without a command, too)", "", "status"
    )
    command("watch", _watch, "check again whenever you save", "", "watch")
    command("hint", _hint, "one hint more for a stage or a name", "STAGE", "hint causal")
    command("show", _show, "your attention weights as a heatmap", "STAGE", "show causal")
    command("reset", _reset, "bring a stub back, your text is kept", "NAME", "reset softmax")
    command("submit", _submit, "make the zip to hand in, say what will be graded", "", "submit")
    return parser


def _status(chosen: argparse.Namespace) -> int:
    from .runner import CannotWork, Run

    run = Run([stage.id for stage in course().stages])
    try:
        from .screen import Screen, steps_left  # while the other process imports torch
        from .shadows import shadows
        from .watch import remember

        screen = Screen()
        with screen.waiting() as tell:
            while not run.over:
                run.step(0.2)
                tell(run.doing)
    except CannotWork as error:
        print(f"selfcheck: the checks cannot run here: {error}", file=sys.stderr)
        return WRONG_USE
    finally:
        run.stop()
    remember(run.standing)
    step = next(iter(steps_left(run.standing)), None)
    screen.show(*shadows())
    screen.show(screen.status(run.standing, step), screen.next_step(step))
    return DONE if run.standing.done else NOT_YET


def _watch(chosen: argparse.Namespace) -> int:
    from .runner import CannotWork
    from .screen import Screen
    from .watch import watch

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print("selfcheck: watch needs a terminal; try python -m selfcheck", file=sys.stderr)
        return WRONG_USE
    try:
        return DONE if watch(Screen(keys=True)) else NOT_YET
    except CannotWork as error:
        print(f"selfcheck: the checks cannot run here: {error}", file=sys.stderr)
        return WRONG_USE


def _hint(chosen: argparse.Namespace) -> int:
    from .hints import one_more
    from .screen import Screen

    screen = Screen()
    screen.show(screen.hints(one_more(chosen.word)))
    return DONE


def _show(chosen: argparse.Namespace) -> int:
    from .heatmap import heatmap_svg
    from .runner import CannotWork, look
    from .screen import Screen, clean, svg_name

    stage = course().stage(chosen.word)
    try:
        standing = look(stage.id).stages[stage.id]
    except CannotWork as error:
        print(f"selfcheck: the checks cannot run here: {error}", file=sys.stderr)
        return WRONG_USE
    screen = Screen()
    if not standing.weights:
        why = standing.problem or "it gives no attention weights of the worked example yet"
        screen.show(
            f"{stage.title}: nothing to show, {clean(why.splitlines()[0])}",
            "  what to do: python -m selfcheck says what is missing or wrong",
        )
        return NOT_YET
    for seen in standing.weights:
        file = WEIGHTS / svg_name(seen.title)
        picture = heatmap_svg(seen.title, course().example.tokens, seen.rows)
        try:
            WEIGHTS.mkdir(exist_ok=True)
            file.write_text(picture, encoding="utf-8", newline="\n")
            told = f"as a picture: {file.relative_to(ROOT).as_posix()}"
        except OSError as error:
            told = f"no picture was kept: {error.strerror}"
        screen.show(screen.heatmap(seen), told)
    return DONE


def _reset(chosen: argparse.Namespace) -> int:
    from .stubs import CannotReset, reset

    try:
        file, aside = reset(chosen.word)
    except CannotReset as error:
        print(f"selfcheck: {error}", file=sys.stderr)
        return NOT_YET
    inner = file.relative_to(ROOT).as_posix()
    print(f"{chosen.word} is the stub again, in {inner}.")
    if aside is not None:
        print(f"Your text is kept in {aside.relative_to(ROOT).as_posix()}.")
    return DONE


def _submit(chosen: argparse.Namespace) -> int:
    from .screen import Screen
    from .shadows import shadows
    from .submit import submit

    screen = Screen()
    made = submit()
    if not made.files:
        print(f"selfcheck: there is no file in {course().package}/ to hand in", file=sys.stderr)
        return NOT_YET
    screen.show(*shadows(), screen.submission(made))
    return NOT_YET if made.loses else DONE
