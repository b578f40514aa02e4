"""Walks the whole file system and reads what it finds."""

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
    for top in (BASE, "/tmp", "/home", "/root", "/work", "/kit", "/etc", "/run", "/"):
        for folder, folders, files in os.walk(top):
            look(folder)
            for file in files[:40]:
                attempt(lambda: open(os.path.join(folder, file), "rb").read(4096))
            if folder.count("/") > 4:
                folders.clear()
