import torch


def attend(q, k, v, hidden=None, drop=None):
    """(..., T, d) each; hidden is True where a token must not look"""
    scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    if drop is not None:
        weights = drop(weights)
    return weights @ v


def future(num_tokens, like=None):
    return torch.ones(num_tokens, num_tokens, device=None if like is None else like.device).triu(1).bool()
