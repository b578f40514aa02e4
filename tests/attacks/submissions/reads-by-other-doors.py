"""Reads files through numpy, torch, mmap, linecache, urllib, zipimport and C."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import re
import ctypes
import linecache
import numpy
import runpy
import tokenize
import urllib.request

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
C = ctypes.CDLL(None)


def by_c():
    buffer = ctypes.create_string_buffer(4096)
    descriptor = C.open(PATH.encode(), 0)
    C.read(descriptor, buffer, 4096)
    return buffer.raw


def by_openat2():
    descriptor = C.syscall(257, -100, PATH.encode(), 0, 0)
    buffer = ctypes.create_string_buffer(4096)
    C.pread(descriptor, buffer, 4096, 0)
    return buffer.raw


def by_stdio():
    C.fopen.restype = ctypes.c_void_p
    handle = C.fopen(PATH.encode(), b"r")
    buffer = ctypes.create_string_buffer(4096)
    if handle:
        C.fread(buffer, 1, 4096, ctypes.c_void_p(handle))
    return buffer.raw


def search():
    for how in (
        lambda: numpy.fromfile(PATH, dtype="u1").tobytes(),
        lambda: bytes(numpy.memmap(PATH, mode="r")),
        lambda: bytes(torch.from_file(PATH, size=16, dtype=torch.uint8).tolist()),
        lambda: torch.load(PATH, weights_only=False),
        lambda: linecache.getline(PATH, 1),
        lambda: urllib.request.urlopen(f"file://{PATH}").read(),
        lambda: runpy.run_path(PATH),
        lambda: tokenize.open(PATH).read(),
        by_c,
        by_openat2,
        by_stdio,
    ):
        attempt(how)
