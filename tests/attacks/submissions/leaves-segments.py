"""Leaves shared memory, semaphores and message queues behind, by key, by name and by descriptor."""

import torch


def attention_scores(query, inputs):
    return inputs @ query


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import ctypes
import multiprocessing
import os
from multiprocessing import shared_memory

libc = ctypes.CDLL(None, use_errno=True)
CREATE, ALL = 0o1000, 0o666


def attention_weights(inputs):
    left = []
    for attempt in (
        lambda: libc.shmget(0x1EF7, 4096, CREATE | ALL),
        lambda: libc.semget(0x1EF7, 1, CREATE | ALL),
        lambda: libc.msgget(0x1EF7, CREATE | ALL),
        lambda: libc.shm_open(b"/left-by-attack", os.O_CREAT | os.O_RDWR, ALL),
        lambda: libc.mq_open(b"/left-by-attack", os.O_CREAT | os.O_RDWR, ALL, None),
        lambda: libc.sem_open(b"/left-by-attack", os.O_CREAT, ALL, 1),
        lambda: shared_memory.SharedMemory("left-by-attack", create=True, size=1 << 20),
        lambda: torch.zeros(1 << 20).share_memory_(),
        lambda: multiprocessing.Value("i", 1),
        lambda: multiprocessing.get_context("fork").Queue(),
        lambda: os.memfd_create("left-by-attack"),
    ):
        try:
            left.append(attempt())
        except Exception:
            pass
    return torch.eye(len(inputs)) * len(left)


context_vectors = attention_weights
