# Stage 4 of 4: Multi-head attention.
# handouts/4_multi_head.md says what to write and how it is judged.
# Put your code where an error is raised now. Names and arguments stay as they are.

"""Stage 4: multi-head attention.

Several heads look at the same tokens, each with weights of its own, so that each can look for
something else. First as a stack of single heads, then as one module that makes the queries, keys
and values of all heads in one product and splits them.

Shapes: `b` is the batch size, `T` the number of tokens, `d_in` the size of an embedding, `H` the
number of heads, `d_out` the size of the output (of one head in the wrapper, of all heads together
in `MultiHeadAttention`), `d_k` the key size of one head, `d_out / H`.
Background: chapter 3, section 3.6; Vaswani et al. 2017, section 3.2.2.
"""

import torch
from torch import nn

from .causal import CausalAttention


class MultiHeadAttentionWrapper(nn.Module):
    """Causal heads side by side (chapter 3, section 3.6.1).

    `heads` is an `nn.ModuleList` of `CausalAttention`.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        """Make the heads.

        Args:
            d_in: size of a token's embedding.
            d_out: size of the output of one head.
            context_length: the largest number of tokens of a sequence.
            dropout: the probability, 0 <= dropout < 1, that a weight is dropped in training.
            num_heads: the number of heads `H`, 1 or more.
            qkv_bias: whether the heads' query, key and value layers have a bias.
        """
        raise NotImplementedError(
            "MultiHeadAttentionWrapper.__init__: not written yet (stage 4, multi_head)"
        )

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Run every head and join the outputs along the last dimension.

        Args:
            tokens: `(b, T, d_in)` with `T` of at most `context_length`.

        Returns:
            `(b, T, H * d_out)`; the first `d_out` columns are those of the first head.
        """
        raise NotImplementedError(
            "MultiHeadAttentionWrapper.forward: not written yet (stage 4, multi_head)"
        )


class MultiHeadAttention(nn.Module):
    """Causal multi-head attention with weight splits (chapter 3, section 3.6.2).

    Linear layers `W_query`, `W_key` and `W_value`, `d_in` to `d_out`, then `out_proj`, `d_out` to
    `d_out` with bias, made in this order. Head `h` owns the columns `h * d_k` to `(h + 1) * d_k`
    of each projection and of the joined output.
    """

    def __init__(
        self,
        d_in: int,
        d_out: int,
        context_length: int,
        dropout: float,
        num_heads: int,
        qkv_bias: bool = False,
    ) -> None:
        """Make the layers, the dropout and the mask.

        Args:
            d_in: size of a token's embedding.
            d_out: size of the output, all heads together; a multiple of `num_heads`.
            context_length: the largest number of tokens of a sequence.
            dropout: the probability, 0 <= dropout < 1, that a weight is dropped in training.
            num_heads: the number of heads `H`, 1 or more.
            qkv_bias: whether the query, key and value layers have a bias.

        Raises:
            ValueError: `d_out` is no multiple of `num_heads` (an AssertionError is as right).
        """
        raise NotImplementedError(
            "MultiHeadAttention.__init__: not written yet (stage 4, multi_head)"
        )

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Compute the context vectors of a batch of sequences, all heads at once.

        Args:
            tokens: `(b, T, d_in)` with `T` of at most `context_length`.

        Returns:
            `(b, T, d_out)`; no row depends on tokens after it. No loop over heads; scores are
            divided by the square root of `d_k`; dropout acts on the attention weights, and only
            in training mode.
        """
        raise NotImplementedError(
            "MultiHeadAttention.forward: not written yet (stage 4, multi_head)"
        )


def merge_heads(wrapper: MultiHeadAttentionWrapper) -> MultiHeadAttention:
    """Build the one module that computes what stacked heads compute (chapter 3, section 3.6.2).

    Args:
        wrapper: left as it was; its sizes are read from its heads.

    Returns:
        A `MultiHeadAttention` with copies of the wrapper's weights and biases, its number of
        heads, context length and dropout probability. In eval mode both give the same output.
    """
    raise NotImplementedError("merge_heads: not written yet (stage 4, multi_head)")


def gpt2_attention() -> MultiHeadAttention:
    """The attention of the smallest GPT-2 by its sizes (the exercise of chapter 3, section 3.6.2).

    Returns:
        A `MultiHeadAttention` with embeddings and output of 768 dimensions, 12 heads and a
        context of 1024 tokens. Dropout and `qkv_bias` are free.
    """
    raise NotImplementedError("gpt2_attention: not written yet (stage 4, multi_head)")
