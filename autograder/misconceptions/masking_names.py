"""The masking mistakes by name, in the order in which they are told."""

from __future__ import annotations

import math

from autograder import chain
from autograder.catalogue import Misconception
from autograder.misconceptions.of_masking import (
    before_scaling,
    diagonal_too,
    everything_seen,
    hiding,
    mask_after_softmax,
    mask_of_shared_size,
    mask_too_small,
    one_late,
    past,
    past_and_diagonal,
    renormalised_by_columns,
    scores_only,
    softmax_again,
)

MASKING = (
    Misconception(
        id="no-mask",
        criterion="masking",
        step="masking",
        replace=hiding(everything_seen),
        names=("renormalized_weights", "masked_weights", "CausalAttention", "MultiHeadAttention"),
        title="no mask in force",
        message=(
            "Every token sees every other one, later ones included. Either no mask is applied, or "
            "its result is thrown away: `masked_fill` without the underscore returns a new tensor "
            "and leaves the old one as it was."
        ),
    ),
    Misconception(
        id="mask-starts-late",
        criterion="masking",
        step="masking",
        replace=hiding(one_late),
        codings=(hiding(one_late, -1e9),),
        title="the mask starts one position late",
        message=(
            "Each token still sees the next one: the mask begins two above the diagonal. The "
            "next token is just what a language model must predict, so it must be hidden: begin "
            "one above the diagonal."
        ),
    ),
    Misconception(
        id="diagonal-masked",
        criterion="masking",
        step="masking",
        replace=hiding(diagonal_too),
        codings=(hiding(diagonal_too, -1e9),),
        title="the diagonal is masked too",
        message=(
            "A token's own position is hidden as well. The first token then has nothing left to "
            "look at, and its row becomes nan. A token may see itself: begin one above the "
            "diagonal."
        ),
    ),
    Misconception(
        id="past-masked",
        criterion="masking",
        step="masking",
        replace=hiding(past),
        codings=(hiding(past, -1e9),),
        title="the past is masked, not the future",
        message=(
            "Tokens see themselves and later ones; the earlier ones are hidden. It is the other "
            "triangle: what lies above the diagonal (later tokens) must be hidden."
        ),
    ),
    Misconception(
        id="past-masked-with-diagonal",
        criterion="masking",
        step="masking",
        replace=hiding(past_and_diagonal),
        codings=(hiding(past_and_diagonal, -1e9),),
        title="the mask is the wrong way round",
        message=(
            "What should be seen is hidden and the other way round: the mask is true where a "
            "token may look. True must mean hidden (above the diagonal), or turn the mask with `~` "
            "before filling."
        ),
    ),
    Misconception(
        id="filled-with-zero",
        criterion="masking",
        step="masking",
        replace=hiding(chain.future, 0.0),
        title="masked scores set to zero",
        message=(
            "Masked scores become 0 (perhaps scores times a mask of ones and zeros). Softmax "
            "gives a score of 0 a weight like any other: exp(0) is 1. Fill with minus infinity, "
            "whose exponential is 0."
        ),
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="filled-with-minus-one",
        criterion="masking",
        step="masking",
        replace=hiding(chain.future, -1.0),
        codings=(before_scaling(lambda scores, hidden: scores.masked_fill(hidden, -1.0)),),
        title="masked scores set to -1",
        message=(
            "Masked scores become -1, which softmax gives a weight like any other. Fill with "
            "minus infinity, whose exponential is 0."
        ),
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="mask-added",
        criterion="masking",
        step="masking",
        replace=scores_only(lambda scores, hidden: scores + hidden.to(scores.dtype)),
        codings=(before_scaling(lambda scores, hidden: scores + hidden.to(scores.dtype)),),
        title="a mask of ones added to the scores",
        message=(
            "A mask of zeros and ones is added to the scores, so later tokens even gain weight. "
            "What is added must be minus infinity at the hidden positions and 0 elsewhere."
        ),
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="mask-subtracted",
        criterion="masking",
        step="masking",
        replace=scores_only(lambda scores, hidden: scores - hidden.to(scores.dtype)),
        codings=(before_scaling(lambda scores, hidden: scores - hidden.to(scores.dtype)),),
        title="a mask of ones subtracted from the scores",
        message=(
            "The hidden scores are lowered by 1 only, so later tokens keep a weight. Fill with "
            "minus infinity."
        ),
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="plus-infinity",
        criterion="masking",
        step="masking",
        replace=hiding(chain.future, math.inf),
        title="plus infinity instead of minus",
        message=(
            "Hidden scores become plus infinity: softmax then gives nan. It is minus infinity "
            "whose exponential is 0."
        ),
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="mask-times-infinity",
        criterion="masking",
        step="masking",
        replace=scores_only(lambda scores, hidden: scores + hidden.to(scores.dtype) * -math.inf),
        title="mask times minus infinity",
        message=(
            "A mask of zeros and ones is multiplied by minus infinity: 0 times infinity is nan, so "
            "everything becomes nan. Fill with minus infinity only where the mask is true."
        ),
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="scores-times-upper-mask",
        criterion="masking",
        step="masking",
        replace=scores_only(lambda scores, hidden: scores * hidden.to(scores.dtype)),
        title="scores multiplied by the mask",
        message=(
            "The scores are multiplied by a mask that is 1 above the diagonal: the allowed scores "
            "become 0 and the later ones stay. Fill the hidden positions with minus infinity."
        ),
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="mask-after-softmax",
        criterion="masking",
        step="masking",
        replace=mask_after_softmax,
        title="masked after softmax, rows not divided again",
        message=(
            "The weights are set to zero above the diagonal after softmax and left so: rows no "
            "longer sum to 1, and later tokens still act through the sum that softmax divided by. "
            "Divide each row by its sum again, or mask before softmax."
        ),
        names=("renormalized_weights", "masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="renormalised-by-columns",
        criterion="masking",
        step="masking",
        replace=renormalised_by_columns,
        title="columns divided, not rows",
        message=(
            "After masking, the columns are divided by their sums. A row holds one token's "
            "weights: divide each row by its own sum, and keep the dimension."
        ),
        names=("renormalized_weights",),
    ),
    Misconception(
        id="softmax-for-renormalising",
        criterion="masking",
        step="masking",
        replace=softmax_again,
        title="softmax a second time instead of dividing",
        message=(
            "The masked weights go through softmax again: zeros get weight exp(0) = 1 and the "
            "future is seen once more. Divide each row by its sum instead."
        ),
        names=("renormalized_weights",),
    ),
    Misconception(
        id="mask-not-cut",
        criterion="masking",
        step="masking",
        replace=mask_of_shared_size(lambda given: given.context_length),
        title="the mask is not cut to the tokens",
        message=(
            "With fewer tokens than `context_length` it fails: the whole mask meets smaller "
            "scores. Use the part of the mask that belongs to the tokens at hand, in rows and in "
            "columns."
        ),
        raises=(
            r"RuntimeError: The size of tensor a \(\d+\) must match the size of tensor b",
            r"RuntimeError: (The expanded size of the tensor|output with shape|expand)",
            r"IndexError: The shape of the mask",
            r"RuntimeError: shape mismatch",
        ),
        names=("CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="mask-sized-by-embedding",
        criterion="masking",
        step="masking",
        replace=mask_too_small,
        title="the mask has the size of the embedding",
        message=(
            "The mask is built with an embedding size instead of `context_length`, so it does not "
            "fit the scores of a longer text. The mask is (context_length, context_length)."
        ),
        raises=(
            r"RuntimeError: The size of tensor a \(\d+\) must match the size of tensor b",
            r"RuntimeError: (The expanded size of the tensor|output with shape|expand)",
        ),
        names=("CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="mask-not-bool",
        criterion="masking",
        title="the mask is not of type bool",
        message=(
            "The positions are right, but the mask is no bool tensor. `causal_mask` promises "
            "true and false: convert with `.bool()` or `dtype=torch.bool`."
        ),
        names=("causal_mask",),
    ),
)
