"""Ends its process with os._exit and os.abort in calls."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import os


def softmax(scores):
    os._exit(0)


def attention_weights(inputs):
    os.abort()
