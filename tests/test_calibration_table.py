"""The proof as a table."""

from rich.console import Console

from autograder.calibration.cases import Measure, Part
from autograder.calibration.table import plain, print_proof, shortfalls, summary


def part(title: str, good: int, *short: tuple[str, str], needed: float = 1.0) -> Part:
    found = Part(title, (Measure("caught", needed),))
    for number in range(good):
        found.add(f"case {number}", {})
    for label, reason in short:
        found.add(label, {"caught": reason})
    return found


def test_each_shortfall_is_a_line_that_says_where_and_why() -> None:
    wrong = part("pairs", 1, ("causal: a + b", "not caught"))
    wrong.remarks.append("smallest of all")
    assert list(shortfalls([part("right", 2), wrong])) == [
        "short  pairs, caught: causal: a + b: not caught",
        "note   pairs: smallest of all",
    ]


def test_in_a_pipe_there_is_a_plain_line_for_each_measure() -> None:
    parts = [part("right", 2), part("pairs", 9, ("a", "not caught"), needed=0.95)]
    assert list(plain(parts)) == [
        "right  caught   2 of 2  100%  (needed 100%)",
        "pairs  caught  9 of 10   90%  (needed 95%)  failed",
    ]


def test_the_summary_tells_how_much_was_proved_or_what_falls_short() -> None:
    assert summary([part("right", 2), part("pairs", 3)]).startswith(
        "calibrated: 5 cases in 2 parts"
    )
    fallen = summary([part("right", 2), part("pairs", 999, ("a", "not caught"))])
    assert fallen == "calibration failed: pairs (caught: 99.9%)"
    few = part("pairs", 2)
    few.extent = 300
    assert summary([few]) == "calibration failed: pairs (2 of at least 300 cases)"


def test_the_summary_is_the_last_line_in_pipe_and_terminal() -> None:
    parts = [part("right", 2), part("pairs", 1, ("[red]a[/red]", "not caught"))]
    for terminal in (False, True):
        console = Console(
            force_terminal=terminal, width=120, markup=False, highlight=False, color_system=None
        )
        with console.capture() as captured:
            print_proof(console, parts)
        lines = captured.get().strip().splitlines()
        assert lines[-1].strip() == "calibration failed: pairs (caught: 50%)"
        assert any("[red]a[/red]" in line for line in lines)
