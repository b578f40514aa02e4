"""Tries rare system calls: handles, keyrings, io_uring, bpf, userfaultfd, mount, namespaces."""

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
CALLS = {
    "open_by_handle_at": (304, -100, 0, 0),
    "add_key": (248, b"user", b"x", b"y", 1, -3),
    "request_key": (249, b"user", b"x", None, -3),
    "io_uring_setup": (425, 8, ctypes.create_string_buffer(256)),
    "bpf": (321, 0, ctypes.create_string_buffer(128), 128),
    "userfaultfd": (323, 0),
    "perf_event_open": (298, ctypes.create_string_buffer(128), 0, -1, -1, 0),
    "mount": (165, b"none", b"/tmp", b"tmpfs", 0, None),
    "unshare": (272, 0x10000000),
    "memfd_create": (319, b"x", 0),
    "shmget": (29, 1, 4096, 0o1666),
    "mq_open": (240, b"x", 0o102, 0o666, None),
    "inotify_init": (294, 0),
    "fanotify_init": (300, 0, 0),
    "kexec_load": (246, 0, 0, 0, 0),
    "pidfd_open": (434, os.getppid(), 0),
    "chroot": (161, b"/tmp"),
    "personality": (135, 0x0040000),
}


def search():
    for name, (number, *args) in CALLS.items():
        if C.syscall(number, *args) >= 0:
            FOUND.append(name)
