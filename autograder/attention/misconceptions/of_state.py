"""What goes wrong in state: weights, biases, gradients, buffers. Seen by checks of their own."""

from __future__ import annotations

from autograder.diagnosis.catalogue import Misconception

_CLASSES = ("SelfAttention_v1", "SelfAttention_v2", "CausalAttention", "MultiHeadAttention")

STATE = (
    Misconception(
        id="super-init-missing",
        criterion="state",
        raises=(r"AttributeError: cannot assign \w+ before Module.__init__\(\) call",),
        names=(
            "SelfAttention_v1",
            "SelfAttention_v2",
            "CausalAttention",
            "MultiHeadAttentionWrapper",
            "MultiHeadAttention",
        ),
    ),
    Misconception(
        id="unregistered-parameters",
        criterion="state",
        names=_CLASSES,
    ),
    Misconception(
        id="weights-made-anew",
        criterion="state",
        names=_CLASSES,
    ),
    Misconception(
        id="gradient-cut",
        criterion="state",
        names=_CLASSES,
    ),
    Misconception(
        id="bias-ignored",
        criterion="state",
        names=(*_CLASSES[1:], "MultiHeadAttentionWrapper"),
        aspect="bias",
    ),
    Misconception(
        id="bias-always",
        criterion="state",
        names=(*_CLASSES[1:], "MultiHeadAttentionWrapper"),
        aspect="bias",
    ),
    Misconception(
        id="names-differ",
        criterion="state",
        names=_CLASSES,
    ),
)

MASK = (
    Misconception(
        id="mask-no-buffer",
        criterion="state",
        names=_CLASSES[2:],
    ),
)

COPYING = (
    Misconception(
        id="copy-not-transposed",
        criterion="copying",
        names=("copy_weights",),
        raises=(r"RuntimeError: The size of tensor a .* must match the size of tensor b",),
    ),
    Misconception(
        id="copy-incomplete",
        criterion="copying",
        names=("copy_weights",),
    ),
    Misconception(
        id="copy-wrong-direction",
        criterion="copying",
        names=("copy_weights",),
    ),
)
