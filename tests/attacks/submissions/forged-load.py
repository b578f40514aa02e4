"""Takes the guest over and reports names that it has not got."""

import torch


def attention_scores(query, inputs):
    return inputs @ query


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


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


def loaded(operation):
    found = tuple(
        wire.Found(spec.name, "attention.py", spec.name, False, 1) for spec in operation.names
    )
    return messages.Loaded(wire.Report(found, (), ("=1+1", "\x1b[31mnote", "<script>alert(1)</script>")))


class Everything(dict):
    def get(self, name, default=None):
        return lambda *args, **keywords: args[-1]

    __getitem__ = get


on_load = guest._carry_out[messages.Load]


def after_load(operation):
    on_load(operation)
    guest._objects = Everything()
    return loaded(operation)


guest._on_load = guest._carry_out[messages.Load] = after_load
sys.modules[type(guest).__module__]._load = lambda *args: 1 / 0
