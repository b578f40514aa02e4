"""Raises exceptions that exit, hang and lie when they are looked at."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import os


class Silent(Exception):
    def __str__(self):
        os._exit(0)


class Endless(Exception):
    def __str__(self):
        return "x" * (1 << 28)


class Both(StopIteration, GeneratorExit.__mro__[1]):
    args = property(lambda self: 1 / 0)
    __traceback__ = property(lambda self: self)

    def __str__(self):
        raise self


class Group(BaseExceptionGroup):
    pass


def softmax(scores):
    raise Silent if scores.dim() == 1 else Endless


def attention_scores(query, inputs):
    raise Both("\x1b[2J")


def attention_weights(inputs):
    raise Group("all", [KeyboardInterrupt(), SystemExit(0)])


def causal_mask(num_tokens):
    raise SystemExit("score: 100")
