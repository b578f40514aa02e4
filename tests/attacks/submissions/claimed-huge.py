"""Returns tensors that claim a billion elements and more."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

def softmax(scores):
    return torch.zeros(1).expand(1 << 30)


def attention_scores(query, inputs):
    return torch.zeros(1).expand(1 << 20, 1 << 20)


def attention_weights(inputs):
    return [torch.zeros(1).expand(1 << 25)] * 5000


def causal_mask(num_tokens):
    return torch.zeros(1 << 22)
