"""Returns a nested and a masked tensor."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

def softmax(scores):
    return torch.nested.nested_tensor([scores.flatten(), scores.flatten()[:1]])


def attention_weights(inputs):
    from torch.masked import masked_tensor

    square = inputs @ inputs.T
    return masked_tensor(square, square > 0)
