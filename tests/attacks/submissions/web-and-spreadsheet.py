"""Puts HTML, formulas and line ends into outputs and errors."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

BAD = "=HYPERLINK(\"http://x\")\n\r\n<script>alert(1)</script><img src=x onerror=alert(1)>{{ 7*7 }}{% raw %}"


class Injecting(Exception):
    pass


Injecting.__name__ = BAD


def softmax(scores):
    raise Injecting(BAD)


def attention_weights(inputs):
    print(BAD)
    return BAD


def causal_mask(num_tokens):
    raise ValueError("@SUM(1+1)*cmd|' /C calc'!A0")


raise Injecting(BAD)
