"""Where in a TOML file a key or a table stands."""

import pytest

from autograder.assignment.assignment import load_assignment, parse
from autograder.assignment.toml_lines import line_of
from autograder.errors import UsageError

TEXT = """\
title = "x"

[late]  # what it costs
"due" = 2026-10-01T00:00:00Z
grace_minutes = 5

[[stages]]
id = "a"
[[stages.criteria]]
points = 1
[[stages]]
id = "b"
[[stages.criteria]]
points = 2
[[stages.criteria]]
points = 3
[stages.names.softmax]
kind = "function"
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("$.title", 1),
        ("$.late", 3),
        ("$.late.due", 4),
        ("$.late.grace_minutes", 5),
        ("$.stages[0]", 7),
        ("$.stages[0].criteria[0].points", 10),
        ("$.stages[1].id", 12),
        ("$.stages[1].criteria[1].points", 16),
        ("$.stages[1].names.softmax.kind", 18),
        ("$.late.nothing.of.this", 3),
        ("$.stages[1].criteria[1].shares[3]", 15),
    ],
)
def test_a_path_has_the_line_of_its_key_or_of_what_it_lies_in(path: str, line: int) -> None:
    assert line_of(TEXT, path) == line


@pytest.mark.parametrize("path", ["", "$", "$.nothing", "nonsense"])
def test_what_is_not_there_has_no_line(path: str) -> None:
    assert line_of(TEXT, path) is None


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("grace_minutes = -1", r"Expected `int` >= 0 - at `\$\.late\.grace_minutes`"),
        ("percent_per_day = 101.0", r"Expected `float` <= 100.0 - at `\$\.late\.percent_per_day`"),
        ("cap_percent = 'half'", r"Expected `float`, got `str` - at `\$\.late\.cap_percent`"),
        ("due = 2026-10-01T23:59:00", r"with a timezone component - at `\$\.late\.due`"),
        ("due = 2026-10-01", r"got `date` - at `\$\.late\.due`"),
        ("percent_a_day = 10", r"unknown field `percent_a_day` - at `\$\.late`"),
    ],
)
def test_a_wrong_late_policy_is_told_with_line_and_key(wrong: str, told: str) -> None:
    file = load_assignment().folder / "assignment.toml"
    before, found, rest = file.read_text("utf-8").partition("[late]\n")
    assert found
    text = before + "[late]\n" + wrong + "\n\n[[stages]]" + rest.partition("[[stages]]")[2]
    line = text[: text.index(wrong)].count("\n") + 1
    with pytest.raises(UsageError, match=f"line {line}: .*{told}"):
        parse(text, file)
