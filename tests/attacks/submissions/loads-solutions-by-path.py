"""Loads the solutions as modules by their files."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import re
import glob
import importlib.util
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


ROOTS = (BASE + "/course-*", "/srv/grading", "/opt/*", "/usr/lib/python3*/site-packages/autograder")


def search():
    for root in ROOTS:
        for path in glob.glob(root + "/solutions/attention/*.py") + [root + "/autograder/chain.py"]:
            if not os.access(path, os.R_OK):
                continue
            spec = importlib.util.spec_from_file_location("stolen", path)
            module = importlib.util.module_from_spec(spec)
            try:
                spec.loader.exec_module(module)
            except OSError:
                continue
            FOUND.append(path)
