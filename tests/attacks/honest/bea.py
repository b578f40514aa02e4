"""Some right, some wrong, the rest not there."""

import torch


def attention_scores(query, inputs):
    return inputs @ query


def softmax(scores):
    weights = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return weights / weights.sum(dim=-1, keepdim=True)


def attention_weights(inputs):
    return softmax(inputs @ inputs.T).T


def causal_mask(num_tokens):
    return torch.triu(torch.ones(num_tokens, num_tokens), diagonal=1).bool()


print("done", torch.rand(1).item() >= 0)
