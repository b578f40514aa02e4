"""Goes through every object of the interpreter."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import re
import gc
import sys

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
    for thing in gc.get_objects():
        if type(thing) is dict:
            for key, value in list(thing.items())[:200]:
                if type(value) in (str, bytes):
                    look(value)
        elif type(thing) in (list, tuple):
            for value in thing[:50]:
                if type(value) in (str, bytes):
                    look(value)
    for name, module in list(sys.modules.items()):
        if name.startswith(("autograder", "solutions", "_pytest", "pytest")):
            FOUND.append(name)
