"""Puts terminal codes into outputs, errors, names and types."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

BAD = "\x1b[2J\x1b]0;title\x07\x9b31m\r\u202e\u2066\x00\x08"


class Escaping(Exception):
    __module__ = BAD


Escaping.__name__ = Escaping.__qualname__ = BAD + "Error"


def softmax(scores):
    print(BAD * 20)
    raise Escaping(BAD + "the score is 100" + BAD)


def attention_weights(inputs):
    return type(BAD, (), {})()


def context_vectors(inputs):
    return {BAD: inputs, "shape" + BAD: 1}


class SelfAttention_v1(torch.nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self._parameters[BAD] = torch.nn.Parameter(torch.rand(d_in, d_out))


SelfAttention_v1.__name__ = BAD
raise Escaping(BAD)
