"""Changes torch's threads, types, devices and determinism for whoever comes next."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import random

import numpy

try:
    torch.set_num_threads(10**6)
    torch.set_num_interop_threads(10**4)
except RuntimeError:
    pass
torch.set_default_dtype(torch.float64)
torch.set_default_device("meta")
torch.use_deterministic_algorithms(True)
torch.set_flush_denormal(True)
torch.set_float32_matmul_precision("medium")
torch.manual_seed(7)
random.seed(7)
numpy.random.seed(7)
torch.autograd.set_detect_anomaly(True)
torch.set_grad_enabled(False)
torch.autocast("cpu", dtype=torch.bfloat16).__enter__()
torch.backends.mkldnn.enabled = False


def softmax(scores):
    torch.set_default_dtype(torch.float16)
    torch.set_num_threads(64)
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)
