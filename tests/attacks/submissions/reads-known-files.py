"""Reads solutions, secret, gradebook and classmates' work by their paths."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import re
import glob

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
    for path in (
        "results/gradebook.sqlite",
        "class/ada/attention.py",
        "class/ada.ipynb",
        "course-*/assignments/attention/secret",
        "course-*/solutions/attention/simplified.py",
    ):
        attempt(lambda: open(f"{BASE}/{path}").read())
        for match in glob.glob(f"{BASE}/{path}"):
            look(match)
            attempt(lambda: open(match).read())
