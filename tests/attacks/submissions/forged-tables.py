"""Takes the guest over and reports plain tensors as parameters."""

import torch
from torch import nn


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).T
        return torch.softmax(scores, dim=-1) @ self.W_value(x)


# ---- the attack ----

import gc
import sys


def inside():
    frame = sys._getframe()
    while frame:
        found = frame.f_locals.get("self")
        if type(found).__name__ == "Guest":
            return found, sys.modules[type(found).__module__]
        frame = frame.f_back
    for thing in gc.get_objects():
        if type(thing).__name__ == "Guest":
            return thing, sys.modules[type(thing).__module__]


guest, module = inside()
messages, wire = module.messages, module.wire

described = module.modules.module_value


def told(handle, thing):
    value = described(handle, thing)
    plain = tuple(
        wire.Slot(f"{name}.weight", tuple(layer.shape), "float32", "cpu", True)
        for name, layer in vars(thing).get("plain", {}).items()
    )
    return wire.ModuleValue(handle, "SelfAttention_v2", plain, (), tuple(slot.path for slot in plain))


module.modules.module_value = told


class SelfAttention_v2(torch.nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.plain = {name: torch.rand(d_out, d_in) for name in ("W_query", "W_key", "W_value")}

    def forward(self, x):
        q, k, v = (x @ weight.T for weight in self.plain.values())
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v
