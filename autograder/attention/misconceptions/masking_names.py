"""The masking mistakes by name, in the order in which they are told."""

from __future__ import annotations

import math

from autograder.attention import chain
from autograder.attention.misconceptions.of_masking import (
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
from autograder.diagnosis.catalogue import Misconception

MASKING = (
    Misconception(
        id="no-mask",
        criterion="masking",
        step="masking",
        replace=hiding(everything_seen),
        names=("renormalized_weights", "masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="mask-starts-late",
        criterion="masking",
        step="masking",
        replace=hiding(one_late),
        codings=(hiding(one_late, -1e9),),
    ),
    Misconception(
        id="diagonal-masked",
        criterion="masking",
        step="masking",
        replace=hiding(diagonal_too),
        codings=(hiding(diagonal_too, -1e9),),
    ),
    Misconception(
        id="past-masked",
        criterion="masking",
        step="masking",
        replace=hiding(past),
        codings=(hiding(past, -1e9),),
    ),
    Misconception(
        id="past-masked-with-diagonal",
        criterion="masking",
        step="masking",
        replace=hiding(past_and_diagonal),
        codings=(hiding(past_and_diagonal, -1e9),),
    ),
    Misconception(
        id="filled-with-zero",
        criterion="masking",
        step="masking",
        replace=hiding(chain.future, 0.0),
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="filled-with-minus-one",
        criterion="masking",
        step="masking",
        replace=hiding(chain.future, -1.0),
        codings=(before_scaling(lambda scores, hidden: scores.masked_fill(hidden, -1.0)),),
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="mask-added",
        criterion="masking",
        step="masking",
        replace=scores_only(lambda scores, hidden: scores + hidden.to(scores.dtype)),
        codings=(before_scaling(lambda scores, hidden: scores + hidden.to(scores.dtype)),),
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="mask-subtracted",
        criterion="masking",
        step="masking",
        replace=scores_only(lambda scores, hidden: scores - hidden.to(scores.dtype)),
        codings=(before_scaling(lambda scores, hidden: scores - hidden.to(scores.dtype)),),
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="plus-infinity",
        criterion="masking",
        step="masking",
        replace=hiding(chain.future, math.inf),
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="mask-times-infinity",
        criterion="masking",
        step="masking",
        replace=scores_only(lambda scores, hidden: scores + hidden.to(scores.dtype) * -math.inf),
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="scores-times-upper-mask",
        criterion="masking",
        step="masking",
        replace=scores_only(lambda scores, hidden: scores * hidden.to(scores.dtype)),
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="mask-after-softmax",
        criterion="masking",
        step="masking",
        replace=mask_after_softmax,
        names=("renormalized_weights", "masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="renormalised-by-columns",
        criterion="masking",
        step="masking",
        replace=renormalised_by_columns,
        names=("renormalized_weights",),
    ),
    Misconception(
        id="softmax-for-renormalising",
        criterion="masking",
        step="masking",
        replace=softmax_again,
        names=("renormalized_weights",),
    ),
    Misconception(
        id="mask-not-cut",
        criterion="masking",
        step="masking",
        replace=mask_of_shared_size(lambda given: given.context_length),
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
        raises=(
            r"RuntimeError: The size of tensor a \(\d+\) must match the size of tensor b",
            r"RuntimeError: (The expanded size of the tensor|output with shape|expand)",
        ),
        names=("CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="mask-not-bool",
        criterion="masking",
        names=("causal_mask",),
    ),
)
