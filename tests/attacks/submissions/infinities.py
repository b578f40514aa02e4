"""Returns infinities and the largest numbers."""

import torch


# ---- the attack ----

def softmax(scores):
    return scores * float("inf")


def attention_weights(inputs):
    return torch.full((len(inputs), len(inputs)), torch.finfo(torch.float32).max)


def context_vectors(inputs):
    return torch.full_like(inputs, float("-inf"))


def masked_weights(scores):
    return torch.where(scores > 0, float("inf"), 3e38)
