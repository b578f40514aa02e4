"""Handles the one-dimensional case apart."""
import torch


def softmax(scores):
    """exp(x_i - max) / sum_j exp(x_j - max) over the last dimension"""
    if scores.dim() == 1:
        exps = torch.exp(scores - torch.max(scores))
        return exps / torch.sum(exps)
    rows = scores.reshape(-1, scores.shape[-1])
    exps = torch.exp(rows - rows.max(dim=1, keepdim=True).values)
    rows = exps / exps.sum(dim=1, keepdim=True)
    return rows.reshape(scores.shape)


def attention_scores(query, inputs):
    return query @ inputs.T


def attention_weights(inputs):
    return softmax(inputs @ inputs.T)


def context_vector(query, inputs):
    return inputs.T @ softmax(attention_scores(query, inputs))


def context_vectors(inputs):
    return (inputs.T @ attention_weights(inputs).T).T
