"""Opens connections: TCP, UDP, DNS, unix, abstract, raw and vsock."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import re
import ctypes
import socket

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


def connect(family, kind, address):
    made = socket.socket(family, kind)
    made.settimeout(0.05)
    made.connect(address)
    FOUND.append(str(address))


def search():
    for family, kind, address in (
        (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 22)),
        (socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 80)),
        (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 53)),
        (socket.AF_INET6, socket.SOCK_STREAM, ("::1", 80)),
        (socket.AF_UNIX, socket.SOCK_STREAM, "\0/tmp/.X11-unix/X0"),
        (socket.AF_UNIX, socket.SOCK_STREAM, "/run/dbus/system_bus_socket"),
        (socket.AF_INET, socket.SOCK_RAW, ("127.0.0.1", 0)),
        (40, socket.SOCK_STREAM, (2, 1)),
    ):
        try:
            connect(family, kind, address)
        except OSError:
            pass
    for how in (lambda: socket.gethostbyname("example.org"), lambda: socket.create_server(("", 0))):
        try:
            FOUND.append(str(how()))
        except OSError:
            pass
    if ctypes.CDLL(None).socket(2, 1, 0) >= 0:
        FOUND.append("socket")
