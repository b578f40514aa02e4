"""Scores and context with tensordot; softmax on the transposed scores."""
import torch


def _normalise(powers):
    return powers / powers.sum(dim=-1, keepdim=True)


def attention_scores(query, inputs):
    return torch.tensordot(inputs, query, dims=1)


def softmax(scores):
    # detach: the shift changes nothing, so no gradient needs to go through it
    return _normalise(torch.exp(scores - scores.detach().max(dim=-1, keepdim=True).values))


def context_vector(query, inputs):
    return torch.tensordot(softmax(attention_scores(query, inputs)), inputs, dims=1)


def attention_weights(inputs):
    scores = torch.tensordot(inputs, inputs, dims=([1], [1]))
    # scores are symmetric here, the transpose is only to remember which side is the query
    return softmax(scores.transpose(0, 1))


def context_vectors(inputs):
    return torch.tensordot(attention_weights(inputs), inputs, dims=1)
