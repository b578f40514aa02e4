"""Recurses without end, in Python and in C."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import sys

sys.setrecursionlimit(10**9)


def softmax(scores):
    return softmax(scores)


def attention_weights(inputs):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    return repr(deep)
