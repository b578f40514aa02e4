"""The masking mistakes by name, in the order in which they are told."""

from __future__ import annotations

import math

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
from autograder.diagnosis import chain
from autograder.diagnosis.catalogue import Misconception

MASKING = (
    Misconception(
        id="no-mask",
        criterion="masking",
        step="masking",
        replace=hiding(everything_seen),
        names=("renormalized_weights", "masked_weights", "CausalAttention", "MultiHeadAttention"),
        title="no mask in force",
        found="Every token sees the tokens after it: no mask is in force.",
        expected="What stands above the diagonal should be hidden.",
        look=(
            "Look at what happens to the masked result: some functions return a new tensor, and "
            "only those whose name ends in an underscore change the old one."
        ),
    ),
    Misconception(
        id="mask-starts-late",
        criterion="masking",
        step="masking",
        replace=hiding(one_late),
        codings=(hiding(one_late, -1e9),),
        title="the mask starts one position late",
        found="The mask starts one token late: each token still sees the next one.",
        expected="All that stands above the diagonal should be hidden.",
        look="Look at the diagonal where your mask starts.",
    ),
    Misconception(
        id="diagonal-masked",
        criterion="masking",
        step="masking",
        replace=hiding(diagonal_too),
        codings=(hiding(diagonal_too, -1e9),),
        title="the diagonal is masked too",
        found=(
            "The mask takes the diagonal along: no token sees itself, and the first row has "
            "nothing left and gives NaN."
        ),
        expected="The diagonal should stay: a token always sees itself.",
        look="Look at the diagonal where your mask starts.",
    ),
    Misconception(
        id="past-masked",
        criterion="masking",
        step="masking",
        replace=hiding(past),
        codings=(hiding(past, -1e9),),
        title="the past is masked, not the future",
        found="The mask hides earlier tokens and shows the later ones.",
        expected="What comes later should be hidden: it stands above the diagonal.",
        look="Look at which side of the diagonal your mask takes.",
    ),
    Misconception(
        id="past-masked-with-diagonal",
        criterion="masking",
        step="masking",
        replace=hiding(past_and_diagonal),
        codings=(hiding(past_and_diagonal, -1e9),),
        title="the mask is the wrong way round",
        found="The mask is the wrong way round: hidden is what a token may look at.",
        expected="True should say that a token must not look, above the diagonal.",
        look="Look at what true says in your mask and in the function that gets it.",
    ),
    Misconception(
        id="filled-with-zero",
        criterion="masking",
        step="masking",
        replace=hiding(chain.future, 0.0),
        title="masked scores set to zero",
        found="Masked scores become 0, which softmax gives a weight: the exponential of 0 is 1.",
        expected="Masked scores should become minus infinity.",
        look=(
            "Look at what is put above the diagonal; scores that are multiplied by a mask become "
            "0, too."
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
        found="Masked scores become -1, which softmax gives a weight.",
        expected="They should become minus infinity, whose exponential is 0.",
        look="Look at the number that is put above the diagonal.",
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="mask-added",
        criterion="masking",
        step="masking",
        replace=scores_only(lambda scores, hidden: scores + hidden.to(scores.dtype)),
        codings=(before_scaling(lambda scores, hidden: scores + hidden.to(scores.dtype)),),
        title="a mask of ones added to the scores",
        found="A mask of zeros and ones is added to the scores, so later tokens gain weight.",
        expected="Masked scores should become minus infinity.",
        look="Look at what is added above the diagonal.",
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="mask-subtracted",
        criterion="masking",
        step="masking",
        replace=scores_only(lambda scores, hidden: scores - hidden.to(scores.dtype)),
        codings=(before_scaling(lambda scores, hidden: scores - hidden.to(scores.dtype)),),
        title="a mask of ones subtracted from the scores",
        found="A mask of zeros and ones is taken from the scores, so later tokens keep a weight.",
        expected="Masked scores should become minus infinity.",
        look="Look at what is taken away above the diagonal.",
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="plus-infinity",
        criterion="masking",
        step="masking",
        replace=hiding(chain.future, math.inf),
        title="plus infinity instead of minus",
        found="Masked scores become plus infinity, and softmax gives NaN.",
        expected="They should become minus infinity, whose exponential is 0.",
        look="Look at the sign of what is put above the diagonal.",
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="mask-times-infinity",
        criterion="masking",
        step="masking",
        replace=scores_only(lambda scores, hidden: scores + hidden.to(scores.dtype) * -math.inf),
        title="mask times minus infinity",
        found="A mask of zeros and ones is multiplied by infinity: 0 times infinity is NaN.",
        expected="Masked scores should become minus infinity, and the others stay as they were.",
        look="Look at what your mask holds where nothing is hidden.",
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="scores-times-upper-mask",
        criterion="masking",
        step="masking",
        replace=scores_only(lambda scores, hidden: scores * hidden.to(scores.dtype)),
        title="scores multiplied by the mask",
        found=(
            "The scores are multiplied by a mask: what a token may see becomes 0, what comes "
            "later stays."
        ),
        expected="Masked scores should become minus infinity, and the others stay as they were.",
        look="Look at where your mask is 1, and at the operator.",
        names=("masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="mask-after-softmax",
        criterion="masking",
        step="masking",
        replace=mask_after_softmax,
        title="masked after softmax, rows not divided again",
        found=(
            "The mask sets weights to zero after softmax and leaves the rows so: they do not sum "
            "to 1, and the future sits in the denominator."
        ),
        expected=(
            "Each row should be divided by its sum again, or the mask should come before softmax."
        ),
        look="Look at the sums of the rows after masking.",
        names=("renormalized_weights", "masked_weights", "CausalAttention", "MultiHeadAttention"),
    ),
    Misconception(
        id="renormalised-by-columns",
        criterion="masking",
        step="masking",
        replace=renormalised_by_columns,
        title="columns divided, not rows",
        found="After masking, the columns are divided by their sums.",
        expected="Each row should be divided by its own sum.",
        look="Look at the dimension of your sum, and at its shape when you divide.",
        names=("renormalized_weights",),
    ),
    Misconception(
        id="softmax-for-renormalising",
        criterion="masking",
        step="masking",
        replace=softmax_again,
        title="softmax a second time instead of dividing",
        found=(
            "After masking, the weights go through softmax again, and hidden tokens get a weight:"
            " the exponential of 0 is 1."
        ),
        expected="Each row should be divided by its sum instead.",
        look="Look at what you do after the zeros are set.",
        names=("renormalized_weights",),
    ),
    Misconception(
        id="mask-not-cut",
        criterion="masking",
        step="masking",
        replace=mask_of_shared_size(lambda given: given.context_length),
        title="the mask is not cut to the tokens",
        found="The mask fits sequences of full length only; shorter ones fail.",
        expected="A kept mask should be cut to the number of tokens at hand, in both directions.",
        look="Look at the shapes of mask and scores for fewer tokens than `context_length`.",
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
        found="The mask has the size of an embedding and is too small for longer sequences.",
        expected="It should have `context_length` rows and as many columns.",
        look="Look at the size that the mask is made with in the constructor.",
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
        found="The mask has the right places and another type than bool.",
        expected="`causal_mask` should return true and false.",
        look="Look at the type of what you return.",
        names=("causal_mask",),
    ),
)
