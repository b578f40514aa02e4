"""Raises errors of megabytes with names of kilobytes, thousands of times."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

LONG = "x" * 5_000_000
Error = type("E" * 100_000, (Exception,), {})

for number in range(300):
    print(LONG)


def softmax(scores):
    raise Error(LONG)


def attention_weights(inputs):
    return LONG


def context_vectors(inputs):
    return {LONG[:number]: inputs for number in range(3000)}


for line in range(50):
    try:
        exec("\n" * 100_000 + "raise Error(LONG)")
    except Error:
        pass
raise Error(LONG)
