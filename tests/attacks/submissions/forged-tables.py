"""Takes the guest over and reports plain tensors as parameters."""

import torch


class SelfAttention_v1(torch.nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = torch.rand(d_in, d_out, requires_grad=True)
        self.W_key = torch.rand(d_in, d_out, requires_grad=True)
        self.W_value = torch.rand(d_in, d_out, requires_grad=True)

    def forward(self, x):
        q, k, v = (x @ weight for weight in (self.W_query, self.W_key, self.W_value))
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v


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


def plain(thing):
    return {name: held for name, held in vars(thing).items() if name.startswith("W_")}


def told(handle, thing):
    slots = tuple(
        wire.Slot(name, tuple(held.shape), "float32", "cpu", True)
        for name, held in plain(thing).items()
    )
    names = tuple(slot.path for slot in slots)
    return wire.ModuleValue(handle, type(thing).__name__, slots, (), names)


module.modules.module_value = told
module.modules.parameters = plain
