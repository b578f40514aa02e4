"""The handouts' figures, drawn from the worked example."""

from collections.abc import Callable, Mapping

from autograder.attention.figures import heads, weights

#: By name of the file without its ending.
FIGURES: Mapping[str, Callable[[], str]] = {
    "scores_to_context": weights.scores_to_context,
    "query_key_value": weights.query_key_value,
    "mask": weights.mask,
    "dropout": weights.dropout,
    "two_heads": heads.two_heads,
    "weight_split": heads.weight_split,
}


def figure_files() -> dict[str, str]:
    """All figures: file name to text."""
    return {f"{name}.svg": draw() for name, draw in FIGURES.items()}
