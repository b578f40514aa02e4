"""Returns overlapping, negative and conjugate views."""

import torch


def attention_scores(query, inputs):
    return inputs @ query


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

def softmax(scores):
    return torch.zeros(1 << 16).as_strided(scores.shape, [0] * scores.dim(), 77)


def attention_scores(query, inputs):
    return torch._neg_view(-(inputs @ query))


def attention_weights(inputs):
    zeros = torch.zeros(len(inputs), len(inputs))
    return torch.complex(zeros, zeros).conj().imag


def causal_mask(num_tokens):
    return torch.ones(num_tokens).bool().expand(num_tokens, num_tokens).T
