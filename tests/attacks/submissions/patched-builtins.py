"""Replaces builtins that a comparison is made of."""

import torch


def attention_scores(query, inputs):
    return inputs @ query


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import builtins

for name in ("all", "any", "isinstance", "len", "float", "abs", "max", "min", "type", "bool"):
    setattr(builtins, name, lambda *args, **keywords: True)


def attention_weights(inputs):
    builtins.all = builtins.any = builtins.isinstance = lambda *args: True
    return inputs
