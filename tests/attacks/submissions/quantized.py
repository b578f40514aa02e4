"""Returns quantized tensors."""

import torch


# ---- the attack ----

def odd(value):
    return torch.quantize_per_tensor(value.float(), 0.1, 0, torch.quint8)


def softmax(scores):
    return odd(super_softmax(scores))


def attention_scores(query, inputs):
    return odd(inputs @ query)


def attention_weights(inputs):
    return odd(super_softmax(inputs @ inputs.T))


def context_vector(query, inputs):
    return odd(super_softmax(inputs @ query) @ inputs)


def context_vectors(inputs):
    return odd(super_softmax(inputs @ inputs.T) @ inputs)


def causal_mask(num_tokens):
    return odd(torch.triu(torch.ones(num_tokens, num_tokens), diagonal=1).bool())


def masked_weights(scores):
    return odd(super_softmax(scores.masked_fill(causal_mask_of(scores), float("-inf"))))


def renormalized_weights(scores):
    return odd(super_softmax(scores) * 2)


def causal_mask_of(scores):
    return torch.triu(torch.ones(scores.shape), diagonal=1).bool()


def super_softmax(scores):
    return torch.exp(scores - scores.amax(-1, True)) / torch.exp(scores - scores.amax(-1, True)).sum(-1, True)
