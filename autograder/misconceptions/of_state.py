"""What goes wrong in state: weights, biases, gradients, buffers. Seen by checks of their own."""

from __future__ import annotations

from autograder.catalogue import Misconception

_CLASSES = ("SelfAttention_v1", "SelfAttention_v2", "CausalAttention", "MultiHeadAttention")

STATE = (
    Misconception(
        id="super-init-missing",
        criterion="state",
        title="super().__init__() not called",
        message=(
            "The constructor does not call `super().__init__()` before it makes layers or "
            "parameters, so PyTorch has nowhere to keep them. Call it first in `__init__`."
        ),
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
        title="weights that are no parameters",
        message=(
            "The module holds weights that PyTorch does not know as parameters: plain tensors. "
            "An optimizer never sees them and they are not saved. Wrap them in `nn.Parameter`, or "
            "use layers that are attributes of the module."
        ),
    ),
    Misconception(
        id="weights-made-anew",
        criterion="state",
        names=_CLASSES,
        title="weights made anew at each call",
        message=(
            "Two calls with the same input give different outputs in eval mode: weights are made "
            "in `forward`. Make them once, in `__init__`, and keep them on `self`."
        ),
    ),
    Misconception(
        id="gradient-cut",
        criterion="state",
        names=_CLASSES,
        title="gradient cut",
        message=(
            "A parameter gets no gradient: the way from it to the output is cut by `.detach()`, "
            "`.data`, `torch.no_grad()` or a new tensor made from numbers, or the parameter takes "
            "no part. Without a gradient it can never learn."
        ),
    ),
    Misconception(
        id="bias-ignored",
        criterion="state",
        names=_CLASSES[1:],
        aspect="bias",
        title="qkv_bias ignored",
        message=(
            "With `qkv_bias=True` the layers still have no bias. Hand the argument on to the "
            "three linear layers (`bias=qkv_bias`)."
        ),
    ),
    Misconception(
        id="bias-always",
        criterion="state",
        names=_CLASSES[1:],
        aspect="bias",
        title="bias always on",
        message=(
            "With `qkv_bias=False` the layers have a bias all the same: `nn.Linear` makes one "
            "unless it is told not to. Hand the argument on (`bias=qkv_bias`)."
        ),
    ),
    Misconception(
        id="names-differ",
        criterion="state",
        names=_CLASSES,
        title="weights under other names",
        message=(
            "The weights were found under other names than `W_query`, `W_key` and `W_value`. The "
            "names are part of the task: other code looks for them."
        ),
    ),
)

MASK = (
    Misconception(
        id="mask-no-buffer",
        criterion="state",
        names=_CLASSES[2:],
        title="the mask is a plain attribute",
        message=(
            "The mask is a plain tensor on `self`: it stays behind when the module moves to "
            "another device. Register it as a buffer, or build it in `forward`."
        ),
    ),
)

COPYING = (
    Misconception(
        id="copy-not-transposed",
        criterion="copying",
        title="copied without transposing",
        message=(
            "The weights arrive untransposed. A linear layer keeps its weight as (out, in); the "
            "parameters of `SelfAttention_v1` are (in, out). Transpose each of them."
        ),
        names=("copy_weights",),
        raises=(r"RuntimeError: The size of tensor a .* must match the size of tensor b",),
    ),
    Misconception(
        id="copy-incomplete",
        criterion="copying",
        title="not all three copied",
        message="Some of the three matrices were copied and some not. Copy query, key and value.",
        names=("copy_weights",),
    ),
    Misconception(
        id="copy-wrong-direction",
        criterion="copying",
        title="copied the wrong way",
        message=(
            "The source changed and the target did not, or both changed. `copy_weights(source, "
            "target)` changes `target` in place and leaves `source` as it was."
        ),
        names=("copy_weights",),
    ),
)
