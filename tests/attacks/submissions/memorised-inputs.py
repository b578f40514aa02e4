"""Keeps the inputs and results of every call and answers from there."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

SEEN = []


def softmax(scores):
    SEEN.append(scores)
    for kept in SEEN:
        if kept.shape == scores.shape:
            return kept.softmax(0)


def attention_weights(inputs):
    for kept in SEEN:
        if kept.dim() == 2 and len(kept) == len(inputs):
            return kept
    return SEEN
