"""Runs programs: cat, sh, python, by os, subprocess, exec and posix_spawn."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import re
import os
import subprocess
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


PATH = f"{BASE}/results/gradebook.sqlite"


def search():
    for how in (
        lambda: subprocess.run(["/bin/cat", PATH], capture_output=True).stdout,
        lambda: subprocess.check_output(f"cat {PATH} /etc/passwd; echo {BASE}", shell=True),
        lambda: os.popen(f"cat {PATH}").read(),
        lambda: subprocess.check_output([sys.executable, "-c", "print(1)"]),
        lambda: os.posix_spawn("/bin/cat", ["cat", PATH], {}),
        lambda: __import__("multiprocessing").Process(target=print).start(),
        lambda: __import__("pty").spawn("/bin/sh"),
    ):
        attempt(lambda: FOUND.append(str(how())))
