"""The single-query functions are special cases of the matrix ones; library softmax outside `softmax`."""
import torch
import torch.nn.functional as F


def softmax(scores):
    top = scores.max(dim=-1, keepdim=True).values
    e = torch.exp(scores - top)
    return e / torch.sum(e, dim=-1, keepdim=True)


def _scores(queries, inputs):
    return queries @ inputs.mT


def attention_scores(query, inputs):
    return _scores(query[None, :], inputs).squeeze(0)


def context_vector(query, inputs):
    weights = F.softmax(_scores(query.unsqueeze(0), inputs), dim=-1)
    return (weights @ inputs)[0]


def attention_weights(inputs):
    return F.softmax(_scores(inputs, inputs), dim=1)


def context_vectors(inputs):
    return attention_weights(inputs) @ inputs
