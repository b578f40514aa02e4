"""Waits for a lock that it holds, in several threads."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import threading

LOCK = threading.Lock()
LOCK.acquire()


def softmax(scores):
    threading.Thread(target=LOCK.acquire).start()
    LOCK.acquire()
