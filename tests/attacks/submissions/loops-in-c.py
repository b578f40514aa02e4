"""Loops without end in C: a search and huge products."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import re


def softmax(scores):
    re.match("(a+)+$", "a" * 60 + "b")


def attention_weights(inputs):
    big = torch.rand(1500, 1500)
    for _ in range(10**9):
        big = big @ big
