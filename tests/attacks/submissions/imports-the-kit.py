"""Imports the kit, its checks, the solutions and pytest by every name."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import re
import importlib
import importlib.util
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


NAMES = (
    "autograder", "autograder.attention.checks.simplified", "autograder.diagnosis.chain",
    "autograder.grading.judge", "autograder.sandbox.host.session",
    "solutions", "solutions.attention", "attention.simplified", "room.guest", "room", "_pytest",
    "selfcheck", "tests", "conftest",
)


def search():
    for name in NAMES:
        for how in (importlib.import_module, __import__, importlib.util.find_spec):
            try:
                found = how(name)
            except BaseException:
                continue
            origin = str(getattr(found, "__file__", getattr(found, "origin", "")))
            if "solutions" in origin or "autograder" in origin or "pytest" in origin:
                FOUND.append(name)
    sys.path[:0] = [BASE, f"{BASE}/class", "/srv/grading", "/srv/grading/solutions", "/root"]
    for name in ("autograder.diagnosis.chain", "solutions.attention.simplified", "ada.attention"):
        try:
            FOUND.append(str(importlib.import_module(name)))
        except BaseException:
            pass
