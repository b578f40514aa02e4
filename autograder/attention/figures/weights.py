"""Figures of one set of attention weights: how they come about, the mask, dropout."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from torch import Tensor

from autograder.attention import chain, worked_example
from autograder.attention.chain import Given, Values
from autograder.attention.figures.canvas import CELL_HEIGHT, CELL_WIDTH, ROW, Canvas

TOKENS = worked_example.TOKENS
QUERY = 1  # the token that looks in the worked numbers: "journey"
DROPPED = 0.5


def given(name: str) -> Given:
    """The worked example of a class: its inputs, and the weights that its seed gives.

    In float64, so that a figure is the same on every processor.
    """
    weights = worked_example.weights(name)
    roles = {"W_query": "query", "W_key": "key", "W_value": "value"}
    return Given(
        tokens=worked_example.inputs().double(),
        weights={roles[name]: weight.double() for name, weight in weights.items()},
    )


def attended(begun: Values, masked: bool) -> Values:
    """Values after softmax, from queries and keys."""
    scaled = chain.scaling(chain.scores(begun))
    return chain.softmax(chain.masking(scaled) if masked else scaled)


def numbers(row: Tensor) -> list[float]:
    """A vector as plain numbers."""
    return [float(each) for each in row]


def scores_to_context() -> str:
    """Stage 1: one query's scores, weights and context vector."""
    inputs = worked_example.inputs().double()
    begun = chain.attend_to_tokens(Given(tokens=inputs, query=inputs[QUERY]))
    done = chain.context(chain.softmax(chain.scores(begun)))
    canvas = Canvas(
        780,
        264,
        "From scores to weights to a context vector",
        "The token “journey” as the query: its score with each of six tokens, the weights that "
        "softmax makes of them, and the context vector, the sum of the tokens by these weights.",
    )
    top = 66
    canvas.text(88, 26, "tokens", "ink head")
    canvas.text(268, 26, "scores", "ink head")
    canvas.text(268, 44, "dot product with “journey”", "small faint")
    canvas.text(452, 26, "weights", "ink head")
    canvas.text(452, 44, "softmax: positive, sum 1", "small faint")
    canvas.text(622, 26, "context vector", "ink head")
    canvas.text(622, 44, "sum of weight × token", "small faint")
    labels = [f"{token} (query)" if n == QUERY else token for n, token in enumerate(TOKENS)]
    canvas.row_labels(104, top, labels)
    canvas.matrix(112, top, inputs.tolist(), ("a",))
    _bars(canvas, 268, top, numbers(done.scores), 70, 1.5)
    _bars(canvas, 452, top, numbers(done.weights), 80, 0.25, "b")
    bottom = top + len(TOKENS) * ROW + 18
    canvas.text(452, bottom, f"sum {float(done.weights.sum()):.4f}", "small ink")
    middle = top + len(TOKENS) * ROW / 2
    canvas.arrow(586, middle, 612, middle)
    for number, value in enumerate(numbers(done.context)):
        y = middle - 1.5 * ROW + number * ROW
        canvas.cell(622, y, f"{value:.4f}", "c", 0.2, width=70)
    return canvas.svg()


def query_key_value() -> str:
    """Stage 2: query, keys and values of one token of `SelfAttention_v1`."""
    made = chain.projections(chain.start(given("SelfAttention_v1")))
    done = chain.context(attended(made, masked=False))
    raw = numbers(chain.scores(made).scores[QUERY])
    canvas = Canvas(
        800,
        330,
        "Queries, keys and values",
        "The query of “journey” meets the key of every token; the scaled scores become weights, "
        "and the weights gather the values.",
    )
    top = 96
    canvas.text(96, 26, "query of “journey”", "ink head")
    canvas.matrix(96, 36, [numbers(made.query[QUERY])], ("a",), width=56)
    for x, title, told in (
        (96, "keys", ""),
        (240, "scores", "query · key"),
        (372, "÷ √2", "the key size is 2"),
        (474, "weights", "softmax"),
        (626, "values", ""),
    ):
        canvas.text(x, 84 if not told else 74, title, "ink head")
        canvas.text(x, 88, told, "small faint")
    canvas.row_labels(88, top, TOKENS)
    canvas.matrix(96, top, made.key.tolist(), ("b",), width=56)
    _bars(canvas, 240, top, raw, 70, 1.9)
    for number, value in enumerate(raw):
        y = top + number * ROW + CELL_HEIGHT / 2 + 4
        canvas.text(372, y, f"{value / 2**0.5:.4f}", "small ink")
    _bars(canvas, 474, top, numbers(done.weights[QUERY]), 80, 0.25, "b")
    canvas.matrix(626, top, made.value.tolist(), ("c",), width=56)
    bottom = top + len(TOKENS) * ROW
    canvas.arrow(682, bottom + 4, 682, bottom + 26)
    canvas.text(618, bottom + 48, "context vector: sum of weight × value", "small faint", "end")
    for number, value in enumerate(numbers(done.context[QUERY])):
        canvas.cell(626 + 56 * number, bottom + 30, f"{value:.4f}", "c", 0.2, width=56)
    return canvas.svg()


def mask() -> str:
    """Stage 3: scores with the future hidden, and what softmax makes of them."""
    made = chain.projections(chain.start(given("SelfAttention_v2")))
    scaled = chain.scaling(chain.scores(made)).scores
    done = attended(made, masked=True)
    canvas = Canvas(
        780,
        262,
        "The causal mask",
        "Scaled scores above the diagonal are replaced by minus infinity; after softmax these "
        "places have weight 0, and each row sums to 1.",
    )
    top, left, right = 66, 74, 452
    canvas.text(left, 24, "scaled scores, minus infinity above the diagonal", "ink head")
    canvas.text(right, 24, "weights: each row sums to 1", "ink head")
    for x in (left, right):
        canvas.row_labels(x - 8, top, TOKENS)
        canvas.column_labels(x, top, TOKENS)
    for row in range(len(TOKENS)):
        for column in range(len(TOKENS)):
            y = top + row * ROW
            later = column > row
            words = "−∞" if later else f"{float(scaled[row, column]):.2f}"
            depth = 0.0 if later else 0.15
            canvas.cell(left + column * CELL_WIDTH, y, words, "a", depth, hatched=later)
    canvas.arrow(left + 6 * CELL_WIDTH + 8, 144, right - 58, 144, "softmax")
    canvas.matrix(right, top, done.weights.tolist(), ("b",), 1.0)
    canvas.text(left, 244, "rows are queries, columns are keys", "small faint")
    return canvas.svg()


def dropout() -> str:
    """Stage 3: one draw of dropout on the masked weights."""
    made = chain.projections(chain.start(given("SelfAttention_v2")))
    weights = attended(made, masked=True).weights
    canvas = Canvas(
        800,
        262,
        "Dropout on the attention weights",
        "In training each weight is set to zero with probability one half, and those that stay "
        "are doubled. A row need not sum to 1 afterwards.",
    )
    top, left, right = 66, 74, 472
    canvas.text(left, 24, "weights", "ink head")
    canvas.text(right, 24, "in training, p = 0.5: one draw of many", "ink head")
    for x in (left, right):
        canvas.row_labels(x - 8, top, TOKENS)
        canvas.column_labels(x, top, TOKENS)
    canvas.matrix(left, top, weights.tolist(), ("b",), 1.0)
    canvas.arrow(left + 6 * CELL_WIDTH + 8, 144, right - 58, 144, "dropout")
    for row in range(len(TOKENS)):
        for column in range(len(TOKENS)):
            x, y = right + column * CELL_WIDTH, top + row * ROW
            weight = float(weights[row, column])
            dropped = weight > 0 and (row * 5 + column * 3 + 2) % 7 < 3
            value = 0.0 if dropped else weight / (1 - DROPPED)
            words = "0" if value == 0 else f"{value:.2f}"
            depth = min(value, 1.0) * 0.85
            canvas.cell(x, y, words, "b", depth, hatched=dropped)
    canvas.text(right, 244, "hatched: dropped; the others are divided by 1 − p", "small faint")
    return canvas.svg()


def _bars(
    canvas: Canvas,
    x: float,
    y: float,
    values: Sequence[float],
    longest: float,
    largest: float,
    colour: str = "a",
) -> None:
    for number, value in enumerate(values):
        canvas.bar(x, y + number * ROW, longest * value / largest, f"{value:.4f}", colour)


def head_values(made: Values, heads: int) -> Values:
    """The same values, cut into heads in front: `(1, H, T, d_k)`."""
    batched = replace(
        made,
        given=replace(made.given, heads=heads),
        query=made.query.unsqueeze(0),
        key=made.key.unsqueeze(0),
        value=made.value.unsqueeze(0),
    )
    return chain.split(batched)
