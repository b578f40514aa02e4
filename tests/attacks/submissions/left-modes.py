"""Leaves torch's modes, default device and hooks in force."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


class Zero(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


torch.set_default_device("meta")
Zero().__enter__()


def softmax(scores):
    Zero().__enter__()
    Dispatch().__enter__()
    torch.autograd.graph.saved_tensors_hooks(lambda x: 1 / 0, lambda x: x).__enter__()
    torch.inference_mode().__enter__()
    torch.nn.modules.module.register_module_forward_hook(lambda *args: args[2] * 0)
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)
