"""Ends its process with os._exit while it is loaded."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import os

os._exit(0)
