"""Sleeps for hours."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import time


def softmax(scores):
    time.sleep(10**6)
