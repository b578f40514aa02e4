"""Looks for other submissions in memory, caches and folders."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import re
import gc
import glob
import os
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
    for pattern in ("/submission/**", "/tmp/**", f"{BASE}/class/**", "/**/__pycache__/*.pyc"):
        for path in glob.glob(pattern, recursive=True)[:2000]:
            if "attention" in path or "ada" in path:
                attempt(lambda: open(path, "rb").read())
    for name in list(sys.modules):
        if "ada" in name.split("."):
            FOUND.append(name)
    for thing in gc.get_objects():
        if type(thing).__name__ in ("SourceFile", "Submission", "Load"):
            for file in getattr(thing, "files", ()):
                look(file.data)
