# Stage 1 of 4: Self-attention without trainable weights.
# handouts/1_simplified.md says what to write and how it is judged.
# Put your code where an error is raised now. Names and arguments stay as they are.

"""Stage 1: self-attention without trainable weights.

Every token of a sequence looks at every token, itself included, and gathers what it finds into a
context vector. Nothing is learned yet: tokens are compared as they are.

Shapes: `T` is the number of tokens, `d` the number of dimensions of a token's embedding.
Background: chapter 3, section 3.3; Vaswani et al. 2017, section 3.2.
"""

import torch


def attention_scores(query: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """Compare one query with every token (chapter 3, section 3.3.1).

    Args:
        query: `(d,)`, the embedding of the token that looks.
        inputs: `(T, d)`, the embeddings of the tokens that are looked at.

    Returns:
        `(T,)`, the dot product of the query with each token. Scores have no unit and no bounds;
        a larger one means that the two vectors point more alike.
    """
    raise NotImplementedError("attention_scores: not written yet (stage 1, simplified)")


def softmax(scores: torch.Tensor) -> torch.Tensor:
    """Turn scores into weights, along the last dimension (chapter 3, section 3.3.1).

    Written out from `exp` and `sum`; no library softmax in here.

    Args:
        scores: `(..., T)`, any number of dimensions before the last.

    Returns:
        `(..., T)`, positive weights that sum to 1 along the last dimension. They are right and
        finite for scores of up to 1,000 in absolute value, in float32 too.
    """
    raise NotImplementedError("softmax: not written yet (stage 1, simplified)")


def context_vector(query: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """Gather the tokens by one query's attention weights (chapter 3, section 3.3.1).

    Args:
        query: `(d,)`, the embedding of the token that looks.
        inputs: `(T, d)`, the embeddings of the tokens.

    Returns:
        `(d,)`, the sum of the tokens, each multiplied by its weight.
    """
    raise NotImplementedError("context_vector: not written yet (stage 1, simplified)")


def attention_weights(inputs: torch.Tensor) -> torch.Tensor:
    """All attention weights of a sequence at once (chapter 3, section 3.3.2).

    Uses matrix products, no Python loop over the tokens.

    Args:
        inputs: `(T, d)`, the embeddings of the tokens.

    Returns:
        `(T, T)`; row `i` holds the weights of token `i` as the query, and sums to 1.
    """
    raise NotImplementedError("attention_weights: not written yet (stage 1, simplified)")


def context_vectors(inputs: torch.Tensor) -> torch.Tensor:
    """The context vectors of all tokens (chapter 3, section 3.3.2).

    Args:
        inputs: `(T, d)`, the embeddings of the tokens.

    Returns:
        `(T, d)`; row `i` is the context vector of token `i`.
    """
    raise NotImplementedError("context_vectors: not written yet (stage 1, simplified)")
