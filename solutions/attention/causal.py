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
    ### BEGIN SOLUTION
    positions = torch.arange(num_tokens)
    return positions.unsqueeze(0) > positions.unsqueeze(1)
    ### END SOLUTION


def renormalized_weights(scores: torch.Tensor) -> torch.Tensor:
    """Mask after softmax, then repair the rows (chapter 3, section 3.5.1).

    Args:
        scores: `(T, T)`, row `i` those of query `i`; a row spreads over at most 20.

    Returns:
        `(T, T)`; softmax, then zeros above the diagonal, then each row divided by its sum.
    """
    ### BEGIN SOLUTION
    later = causal_mask(scores.shape[-1])
    kept = torch.softmax(scores, dim=-1).masked_fill(later, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)
    ### END SOLUTION


def masked_weights(scores: torch.Tensor) -> torch.Tensor:
    """Mask before softmax (chapter 3, section 3.5.1).

    Args:
        scores: `(T, T)`, row `i` those of query `i`, up to 1,000 in absolute value.

    Returns:
        `(T, T)`; minus infinity put above the diagonal, then softmax. Equal to
        `renormalized_weights`, in one step less.
    """
    ### BEGIN SOLUTION
    later = causal_mask(scores.shape[-1])
    return torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1)
    ### END SOLUTION


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
        ### BEGIN SOLUTION
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("later", causal_mask(context_length))
        ### END SOLUTION

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Compute the context vectors of a batch of sequences.

        Args:
            tokens: `(b, T, d_in)` with `T` of at most `context_length`.

        Returns:
            `(b, T, d_out)`; no row depends on tokens after it. Dropout acts on the attention
            weights, and only in training mode.
        """
        ### BEGIN SOLUTION
        num_tokens = tokens.shape[-2]
        later = self.later[:num_tokens, :num_tokens]
        keys = self.W_key(tokens)
        # Only the last two dimensions change places: the batch stays in front.
        scores = self.W_query(tokens) @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        weights = torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1)
        return self.dropout(weights) @ self.W_value(tokens)
        ### END SOLUTION
