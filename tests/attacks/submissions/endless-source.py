"""Is a source that takes Python long to parse and to compile."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

big = 'x' * 10
exec("-" * 5000 + "1" if False else "0")
for depth in range(3):
    try:
        compile("(" * 90 + ")" * 90, "x", "eval")
        compile("a" + "+a" * 20_000, "x", "eval")
    except (MemoryError, RecursionError, SyntaxError):
        pass
exec("x = " + "[" * 80 + "1" + "]" * 80)
exec("y = " + "9" * 4000 + " ** 2")
z = ("9" * 4000).isdigit() and 10 ** 10 ** 6
