"""Leaves by SystemExit, at import and in calls."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import sys


def softmax(scores):
    sys.exit(0)


def attention_weights(inputs):
    raise SystemExit("100")


raise SystemExit(0)
