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
        ### BEGIN SOLUTION
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
            for _ in range(num_heads)
        )
        ### END SOLUTION

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Run every head and join the outputs along the last dimension.

        Args:
            tokens: `(b, T, d_in)` with `T` of at most `context_length`.

        Returns:
            `(b, T, H * d_out)`; the first `d_out` columns are those of the first head.
        """
        ### BEGIN SOLUTION
        return torch.cat([head(tokens) for head in self.heads], dim=-1)
        ### END SOLUTION


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
        ### BEGIN SOLUTION
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share {d_out} columns evenly")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        positions = torch.arange(context_length)
        self.register_buffer("later", positions.unsqueeze(0) > positions.unsqueeze(1))
        ### END SOLUTION

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Compute the context vectors of a batch of sequences, all heads at once.

        Args:
            tokens: `(b, T, d_in)` with `T` of at most `context_length`.

        Returns:
            `(b, T, d_out)`; no row depends on tokens after it. No loop over heads; scores are
            divided by the square root of `d_k`; dropout acts on the attention weights, and only
            in training mode.
        """
        ### BEGIN SOLUTION
        num_tokens = tokens.shape[-2]
        later = self.later[:num_tokens, :num_tokens]
        # (b, T, d_out) is read as (b, T, H, d_k); the head then steps before the token, so that
        # the products below see one (T, d_k) matrix for each head: (b, H, T, d_k).
        queries, keys, values = (
            layer(tokens).unflatten(-1, (self.num_heads, -1)).transpose(-3, -2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        weights = torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1)
        context = self.dropout(weights) @ values
        # Back the same way: the token before the head, then head and column become one again.
        return self.out_proj(context.transpose(-3, -2).flatten(-2))
        ### END SOLUTION


def merge_heads(wrapper: MultiHeadAttentionWrapper) -> MultiHeadAttention:
    """Build the one module that computes what stacked heads compute (chapter 3, section 3.6.2).

    Args:
        wrapper: left as it was; its sizes are read from its heads.

    Returns:
        A `MultiHeadAttention` with copies of the wrapper's weights and biases, its number of
        heads, context length and dropout probability. In eval mode both give the same output.
    """
    ### BEGIN SOLUTION
    first = wrapper.heads[0]
    head_size, d_in = first.W_query.weight.shape
    d_out = head_size * len(wrapper.heads)
    has_bias = first.W_query.bias is not None
    merged = MultiHeadAttention(
        d_in, d_out, len(first.later), first.dropout.p, len(wrapper.heads), has_bias
    ).to(first.W_query.weight)
    with torch.no_grad():
        for name in ("W_query", "W_key", "W_value"):
            layer = merged.get_submodule(name)
            parts = [head.get_submodule(name) for head in wrapper.heads]
            layer.weight.copy_(torch.cat([part.weight for part in parts]))
            if has_bias:
                layer.bias.copy_(torch.cat([part.bias for part in parts]))
        # The wrapper has no output projection: here it must hand its input on unchanged.
        merged.out_proj.weight.copy_(torch.eye(d_out))
        merged.out_proj.bias.zero_()
    return merged.train(wrapper.training)
    ### END SOLUTION


def gpt2_attention() -> MultiHeadAttention:
    """The attention of the smallest GPT-2 by its sizes (the exercise of chapter 3, section 3.6.2).

    Returns:
        A `MultiHeadAttention` with embeddings and output of 768 dimensions, 12 heads and a
        context of 1024 tokens. Dropout and `qkv_bias` are free.
    """
    ### BEGIN SOLUTION
    return MultiHeadAttention(d_in=768, d_out=768, context_length=1024, dropout=0.0, num_heads=12)
    ### END SOLUTION
