"""Figures of several heads: two heads side by side, and one weight split for both."""

from __future__ import annotations

import torch

from autograder.attention import chain, worked_example
from autograder.attention.figures.canvas import CELL_WIDTH, ROW, Canvas
from autograder.attention.figures.weights import TOKENS, attended, given, head_values

HEADS = 2


def two_heads() -> str:
    """Stage 4: what two heads look at, and how their columns are joined."""
    made = chain.projections(chain.start(given("MultiHeadAttention")))
    done = chain.context(attended(head_values(made, HEADS), masked=True))
    joined = chain.merge(done).context[0]
    canvas = Canvas(
        900,
        262,
        "Two heads",
        "Two heads give two sets of weights for the same tokens; their context vectors are put "
        "side by side, head 1 first.",
    )
    top = 66
    for number, (left, colour) in enumerate(((74, "a"), (404, "b"))):
        canvas.text(left, 24, f"head {number + 1}: its own weights", "ink head")
        canvas.column_labels(left, top, TOKENS)
        weights = done.weights[0, number].tolist()
        canvas.matrix(left, top, weights, (colour,), 1.0)
    canvas.row_labels(66, top, TOKENS)
    canvas.arrow(676, 144, 716, 144)
    canvas.text(730, 24, "joined columns", "ink head")
    canvas.column_labels(730, top, ("head 1", "head 2"), 60)
    canvas.matrix(730, top, joined.tolist(), ("a", "b"), width=60)
    canvas.text(74, 244, "rows are queries, columns are keys", "small faint")
    canvas.text(730, 244, "then out_proj mixes them", "small faint")
    return canvas.svg()


def stacked_queries() -> tuple[list[list[float]], list[list[float]]]:
    """The query weights of the wrapper's two heads side by side, and all queries.

    Drawn with the seed of the wrapper's worked numbers, six layers in the order in which two heads
    make them.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(123)
        layers = [torch.nn.Linear(3, 2, bias=False).weight.detach().T for _ in range(3 * HEADS)]
    weight = torch.cat(layers[::3], dim=-1).double()
    return weight.tolist(), (worked_example.inputs().double() @ weight).tolist()


def weight_split() -> str:
    """Stage 4: one projection for two heads, and its columns shared out."""
    weight, queries = stacked_queries()
    canvas = Canvas(
        850,
        300,
        "The weight split",
        "One product with a wide weight makes the queries of both heads at once; each head owns "
        "neighbouring columns, which are then brought in front.",
    )
    top = 84
    canvas.text(64, 24, "tokens", "ink head")
    canvas.text(64, 42, "(T, d_in) = (6, 3)", "small faint")
    canvas.row_labels(58, top, TOKENS)
    canvas.matrix(64, top, worked_example.inputs().tolist(), ("c",), width=40)
    canvas.text(196, top + 3 * ROW + 4, "×", "ink head", "middle")
    canvas.text(212, 24, "W_query of both heads", "ink head")
    canvas.text(212, 42, "(d_in, d_out) = (3, 4)", "small faint")
    canvas.column_labels(212, top + 1.5 * ROW, ("head 1", "head 2"), 2 * CELL_WIDTH)
    canvas.matrix(212, top + 1.5 * ROW, weight, ("a", "b"))
    canvas.text(402, top + 3 * ROW + 4, "=", "ink head", "middle")
    canvas.text(418, 24, "all queries", "ink head")
    canvas.text(418, 42, "(T, d_out) = (T, H · d_k)", "small faint")
    canvas.column_labels(418, top, ("head 1", "head 2"), 2 * CELL_WIDTH)
    canvas.matrix(418, top, queries, ("a", "b"))
    canvas.arrow(602, top + 3 * ROW, 636, top + 3 * ROW)
    canvas.text(646, 24, "split: (H, T, d_k)", "ink head")
    canvas.text(646, 42, "the head in front, like a batch", "small faint")
    for number, colour in enumerate(("a", "b")):
        left = 646 + number * (2 * CELL_WIDTH + 12)
        canvas.column_labels(left, top, (f"head {number + 1}",), 2 * CELL_WIDTH)
        own = [row[2 * number : 2 * number + 2] for row in queries]
        canvas.matrix(left, top, own, (colour,))
    canvas.text(
        64, 282, "keys and values are split the same way; H = 2 heads of d_k = 2", "small faint"
    )
    return canvas.svg()
