"""Reads and maps every descriptor that it inherited."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import re
import mmap
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
    for number in range(3, 256):
        try:
            kind = os.fstat(number)
        except OSError:
            continue
        look(kind)
        attempt(lambda: mmap.mmap(number, 4096).read(4096))
        attempt(lambda: os.pread(number, 4096, 0))
        attempt(lambda: os.listdir(number))
        attempt(lambda: os.readlink(f"/dev/fd/{number}"))
