"""The table in each handout that says what is judged and for how many points.

It stands between two comments and is built from `assignment.toml`, so that what students read and
what is graded stay the same.
"""

from autograder.assignment.assignment import Share, Stage
from autograder.errors import UsageError

BEGIN = "<!-- rubric -->\n"
END = "<!-- end of rubric -->\n"


def with_rubric(handout: str, stage: Stage) -> str:
    """A handout's text with the stage's current rubric.

    Raises:
        UsageError: The handout lacks the two comments.
    """
    before, begun, rest = handout.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (begun and ended):
        raise UsageError(f"{stage.handout.name} has no place for the rubric: {BEGIN}{END}")
    return before + BEGIN + rubric(stage) + END + after


def rubric(stage: Stage) -> str:
    """The stage's criteria as a Markdown table, each linked to the section that teaches it."""
    rows = [
        "| what is judged | points | shown by |",
        "|---|---|---|",
        *(
            f"| [{criterion.title}](#{criterion.section}) | {criterion.points}"
            f" | {', '.join(map(_share, criterion.shares))} |"
            for criterion in stage.criteria
        ),
        f"| total | {stage.points} | |",
    ]
    return "\n".join(rows) + "\n"


def _share(share: Share) -> str:
    aspect = f" ({share.aspect})" if share.aspect else ""
    return f"`{share.name}`{aspect} {share.points}"
