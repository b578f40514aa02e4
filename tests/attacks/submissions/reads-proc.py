"""Reads environment, arguments, memory and descriptors of other processes in /proc."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import re
import os

BASE = "/tmp/attack-canary"
CANARY = re.compile(r"canary[0-9a-f]{16}")
FOUND = []


def look(text):
    text = text.decode("latin-1") if isinstance(text, bytes) else str(text)
    FOUND.extend(CANARY.findall(text))


def attempt(how, *args):
    try:
        look(how(*args))
    except Exception:
        pass


def softmax(scores):
    search()
    print("STO" + "LEN", FOUND) if FOUND else None
    assert not FOUND, "STO" + "LEN " + str(FOUND[:3])
    return scores


def search():
    for pid in [*range(1, 60), os.getppid(), "self", "thread-self"]:
        for name in ("environ", "cmdline", "maps", "cwd/secret", "root/etc/passwd", "mountinfo"):
            attempt(lambda: open(f"/proc/{pid}/{name}", "rb").read())
        attempt(lambda: os.readlink(f"/proc/{pid}/cwd"))
        for number in range(16):
            attempt(lambda: os.readlink(f"/proc/{pid}/fd/{number}"))
            attempt(lambda: open(f"/proc/{pid}/fd/{number}", "rb").read(4096))
