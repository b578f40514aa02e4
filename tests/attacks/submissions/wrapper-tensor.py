"""Returns a wrapper subclass without memory of its own."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

class Hollow(torch.Tensor):
    @staticmethod
    def __new__(cls, size):
        return torch.Tensor._make_wrapper_subclass(cls, size, dtype=torch.float32, device="cpu")

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return torch.zeros(())


def softmax(scores):
    return Hollow(tuple(scores.shape))


def attention_weights(inputs):
    return Hollow((1 << 40,))
