# Stage 2 of 4: Self-attention with trainable weights.
# handouts/2_trainable.md says what to write and how it is judged.
# Put your code where an error is raised now. Names and arguments stay as they are.

"""Stage 2: scaled dot-product attention with trainable weights.

A token now plays three parts, and a matrix of its own makes each of them from the embedding: the
query that looks, the key that is compared, the value that is handed over.

Shapes: `T` is the number of tokens, `d_in` the size of an embedding, `d_out` the size of queries,
keys and values.
Background: chapter 3, section 3.4; Vaswani et al. 2017, section 3.2.1.
"""

import torch
from torch import nn


class SelfAttention_v1(nn.Module):
    """Self-attention whose weights are plain parameters (chapter 3, section 3.4.2).

    Parameters `W_query`, `W_key` and `W_value`, each `(d_in, d_out)`, made in this order. The
    numbers of the worked example need `torch.rand` for all three.
    """

    def __init__(self, d_in: int, d_out: int) -> None:
        """Make the three weight matrices.

        Args:
            d_in: size of a token's embedding.
            d_out: size of queries, keys and values, and so of the output.
        """
        raise NotImplementedError("SelfAttention_v1.__init__: not written yet (stage 2, trainable)")

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Compute the context vectors of one sequence (chapter 3, sections 3.4.1 and 3.4.2).

        Args:
            tokens: `(T, d_in)`.

        Returns:
            `(T, d_out)`; scores are divided by the square root of the key size before softmax.
        """
        raise NotImplementedError("SelfAttention_v1.forward: not written yet (stage 2, trainable)")


class SelfAttention_v2(nn.Module):
    """The same attention with linear layers (chapter 3, section 3.4.2).

    Layers `W_query`, `W_key` and `W_value`, `d_in` to `d_out`, made in this order. A linear layer
    keeps its weight the other way round, as `(d_out, d_in)`, and starts it with better numbers.
    """

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        """Make the three linear layers.

        Args:
            d_in: size of a token's embedding.
            d_out: size of queries, keys and values, and so of the output.
            qkv_bias: whether the three layers have a bias.
        """
        raise NotImplementedError("SelfAttention_v2.__init__: not written yet (stage 2, trainable)")

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Compute the context vectors of one sequence (chapter 3, sections 3.4.1 and 3.4.2).

        Args:
            tokens: `(T, d_in)`.

        Returns:
            `(T, d_out)`; scores are divided by the square root of the key size before softmax.
        """
        raise NotImplementedError("SelfAttention_v2.forward: not written yet (stage 2, trainable)")


def copy_weights(source: SelfAttention_v2, target: SelfAttention_v1) -> None:
    """Make `target` compute what `source` computes (the exercise of chapter 3, section 3.4.2).

    Changes the numbers of `target`'s parameters in place and leaves `source` as it was.

    Args:
        source: built without bias.
        target: of the same sizes.
    """
    raise NotImplementedError("copy_weights: not written yet (stage 2, trainable)")
