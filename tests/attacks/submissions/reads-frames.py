"""Reads locals and globals of every frame up to the first, of every thread."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import re
import sys
import inspect

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
    for frame in [*sys._current_frames().values(), sys._getframe()]:
        while frame:
            look({**frame.f_globals, **frame.f_locals} if len(frame.f_globals) < 500 else frame.f_locals)
            frame = frame.f_back
    attempt(inspect.getsource, sys._getframe(1))
    attempt(lambda: inspect.stack(context=50))
