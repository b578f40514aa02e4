"""Reads where there is no memory."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import ctypes


def softmax(scores):
    ctypes.string_at(1)


def attention_weights(inputs):
    ctypes.CDLL(None).raise_ = None
    ctypes.memset(ctypes.addressof(ctypes.c_int(0)), 65, 1 << 24)
