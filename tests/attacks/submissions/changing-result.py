"""Returns one tensor again and again and changes it afterwards."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import threading
import time

KEPT = {}


def soon(tensor):
    while True:
        tensor.add_(1.0)
        time.sleep(0.001)


def softmax(scores):
    if scores.shape not in KEPT:
        KEPT[scores.shape] = torch.ones_like(scores)
        threading.Thread(target=soon, args=(KEPT[scores.shape],), daemon=True).start()
    return KEPT[scores.shape]


def attention_weights(inputs):
    KEPT[0] = getattr(KEPT, 0, None) or inputs
    return KEPT[0]
