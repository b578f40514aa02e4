"""Hands in classes that are no modules but act like ones."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

class Acting:
    training = True

    def __init__(self, *args, **keywords):
        self._parameters = {"W_query": torch.rand(7, 5)}
        self._buffers, self._modules = {}, {"heads": [self, self]}
        self.W_query = self.W_key = self.W_value = torch.rand(7, 5)

    def parameters(self):
        return iter(self._parameters.values())

    def train(self, mode=True):
        return self

    eval = double = float = to = train
    named_parameters = state_dict = lambda self: self._parameters

    def __call__(self, x):
        return x


SelfAttention_v1 = Acting


class SelfAttention_v2(Acting):
    pass


class CausalAttention(Acting):
    pass


class MultiHeadAttentionWrapper(Acting):
    pass


def gpt2_attention():
    return Acting()


def merge_heads(wrapper):
    return wrapper
