# Stage 3 of 4: Causal attention.
# handouts/3_causal.md says what to write and how it is judged.
# Put your code where an error is raised now. Names and arguments stay as they are.

"""Stage 3: causal attention, for batches, with dropout.

A model that writes text one token after another must not see what comes next. A mask takes the
later tokens away from every query. Sequences now come in batches, and dropout hides some of the
attention weights while the model is trained.

Shapes: `b` is the batch size, `T` the number of tokens, `d_in` the size of an embedding, `d_out`
the size of queries, keys and values.
Background: chapter 3, section 3.5; Vaswani et al. 2017, sections 3.2.1 and 3.2.3.
"""

import torch
from torch import nn


def causal_mask(num_tokens: int) -> torch.Tensor:
    """Mark what a token must not look at (chapter 3, section 3.5.1).

    Args:
        num_tokens: the number of tokens `T`, 1 or more.

    Returns:
        `(T, T)`, bool; true at `[i, j]` exactly where `j` comes after `i`.
    """
    raise NotImplementedError("causal_mask: not written yet (stage 3, causal)")


def renormalized_weights(scores: torch.Tensor) -> torch.Tensor:
    """Mask after softmax, then repair the rows (chapter 3, section 3.5.1).

    Args:
        scores: `(T, T)`, row `i` those of query `i`; a row spreads over at most 20.

    Returns:
        `(T, T)`; softmax, then zeros above the diagonal, then each row divided by its sum.
    """
    raise NotImplementedError("renormalized_weights: not written yet (stage 3, causal)")


def masked_weights(scores: torch.Tensor) -> torch.Tensor:
    """Mask before softmax (chapter 3, section 3.5.1).

    Args:
        scores: `(T, T)`, row `i` those of query `i`, up to 1,000 in absolute value.

    Returns:
        `(T, T)`; minus infinity put above the diagonal, then softmax. Equal to
        `renormalized_weights`, in one step less.
    """
    raise NotImplementedError("masked_weights: not written yet (stage 3, causal)")


class CausalAttention(nn.Module):
    """Causal attention over a batch of sequences (chapter 3, sections 3.5.2 and 3.5.3).

    Linear layers `W_query`, `W_key` and `W_value`, made in this order. A mask that is kept is a
    buffer, so that it moves with the module; making it in `forward` is as right.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        qkv_bias: bool = False,
    ) -> None:
        """Make the layers, the dropout and the mask.

        Args:
            d_in: size of a token's embedding.
            d_out: size of queries, keys and values, and so of the output.
            context_length: the largest number of tokens of a sequence.
            dropout: the probability, 0 <= dropout < 1, that a weight is dropped in training.
            qkv_bias: whether the three layers have a bias.
        """
        raise NotImplementedError("CausalAttention.__init__: not written yet (stage 3, causal)")

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Compute the context vectors of a batch of sequences.

        Args:
            tokens: `(b, T, d_in)` with `T` of at most `context_length`.

        Returns:
            `(b, T, d_out)`; no row depends on tokens after it. Dropout acts on the attention
            weights, and only in training mode.
        """
        raise NotImplementedError("CausalAttention.forward: not written yet (stage 3, causal)")
