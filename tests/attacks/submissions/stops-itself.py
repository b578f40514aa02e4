"""Stops itself with SIGSTOP."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import os
import signal


def softmax(scores):
    os.kill(os.getpid(), signal.SIGSTOP)
    return scores
