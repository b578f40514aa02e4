"""Returns a list of guesses, of which the judge is to pick the one that fits."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

def softmax(scores):
    by_columns = torch.exp(scores) / torch.exp(scores).sum(dim=0)
    shifted = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return by_columns, scores, shifted, shifted / shifted.sum(dim=-1, keepdim=True)
