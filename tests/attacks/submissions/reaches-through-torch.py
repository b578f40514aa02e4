"""Reads and writes through torch's own doors: extensions, load, jit, hub, distributed."""

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
    for how in (
        lambda: torch.ops.load_library("/tmp/left-by-attack.so"),
        lambda: torch.hub.load("/tmp", "model", source="local"),
        lambda: torch.save({}, "/tmp/left-by-attack.pt"),
        lambda: torch.save({}, f"{BASE}/marks/left-by-attack.pt"),
        lambda: torch.zeros(3).share_memory_(),
        lambda: torch.jit.script(look).save("/dev/shm/left-by-attack.pt"),
        lambda: torch.utils.cpp_extension.load_inline("left", "int f() { return 1; }"),
        lambda: torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:9", world_size=1, rank=0),
    ):
        try:
            how()
        except BaseException:
            pass
