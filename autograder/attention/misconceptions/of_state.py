"""What goes wrong in state: weights, biases, gradients, buffers. Seen by checks of their own."""

from __future__ import annotations

from autograder.diagnosis.catalogue import Misconception

_CLASSES = ("SelfAttention_v1", "SelfAttention_v2", "CausalAttention", "MultiHeadAttention")

STATE = (
    Misconception(
        id="super-init-missing",
        criterion="state",
        title="the constructor of nn.Module not called",
        found=(
            "The constructor of `nn.Module` is not called before layers or parameters are set, so"
            " they cannot be registered."
        ),
        expected="It should be called first.",
        look="Look at the first line of your `__init__`: brackets count, too.",
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
        found=(
            "Weights of the module are plain tensors, or layers that PyTorch does not find, so no"
            " parameters."
        ),
        expected=(
            "Each weight should be a parameter, or in a layer, that is an attribute of the module."
        ),
        look="Look at how the constructor keeps them: a list, a dictionary or `.data` hides them.",
    ),
    Misconception(
        id="weights-made-anew",
        criterion="state",
        names=_CLASSES,
        title="weights made anew at each call",
        found="Two calls with the same input give two results: weights are made in `forward`.",
        expected="The weights should be parameters, made once, in the constructor.",
        look="Look for layers or new numbers in `forward`.",
    ),
    Misconception(
        id="gradient-cut",
        criterion="state",
        names=_CLASSES,
        title="gradient cut",
        found="A parameter gets no gradient, so it never learns.",
        expected="Gradients should reach all parameters.",
        look=(
            "Look for what cuts the way from it to the output: something detached, `.data`, a "
            "tensor made anew, or a weight that is not used."
        ),
    ),
    Misconception(
        id="bias-ignored",
        criterion="state",
        names=(*_CLASSES[1:], "MultiHeadAttentionWrapper"),
        aspect="bias",
        title="qkv_bias ignored",
        found="With `qkv_bias=True` the layers have no bias.",
        expected="The three layers should have a bias exactly where `qkv_bias` is true.",
        look="Look at where the constructor uses `qkv_bias`.",
    ),
    Misconception(
        id="bias-always",
        criterion="state",
        names=(*_CLASSES[1:], "MultiHeadAttentionWrapper"),
        aspect="bias",
        title="bias always on",
        found=(
            "With `qkv_bias=False` the layers have a bias all the same; `nn.Linear` makes one "
            "unless it is told not to."
        ),
        expected="The three layers should have a bias exactly where `qkv_bias` is true.",
        look="Look at where the constructor uses `qkv_bias`.",
    ),
    Misconception(
        id="names-differ",
        criterion="state",
        names=_CLASSES,
        title="weights under other names",
        found="The parameters have other names than `W_query`, `W_key` and `W_value`.",
        expected="These names belong to the task and should be kept: other code looks for them.",
        look="Look at the attributes that your constructor sets.",
    ),
)

MASK = (
    Misconception(
        id="mask-no-buffer",
        criterion="state",
        names=_CLASSES[2:],
        title="the mask is a plain attribute",
        found=(
            "The mask is an ordinary attribute, no buffer: it stays behind when the module moves."
        ),
        expected="A mask that is kept in the module should be a buffer.",
        look="Look at how the constructor keeps the mask, or build it in `forward`.",
    ),
)

COPYING = (
    Misconception(
        id="copy-not-transposed",
        criterion="copying",
        title="copied without transposing",
        found="The weights are copied without being turned over.",
        expected=(
            "A layer keeps its weight as (d_out, d_in), `SelfAttention_v1` as (d_in, d_out), so "
            "each should be turned over."
        ),
        look="Look at the shapes of both for sizes that differ.",
        names=("copy_weights",),
        raises=(r"RuntimeError: The size of tensor a .* must match the size of tensor b",),
    ),
    Misconception(
        id="copy-incomplete",
        criterion="copying",
        title="not all three copied",
        found="Not all three weights are copied.",
        expected=(
            "After copying, the query, key and value weights of `target` should be those of "
            "`source`."
        ),
        look="Look at the names on both sides of each line.",
        names=("copy_weights",),
    ),
    Misconception(
        id="copy-wrong-direction",
        criterion="copying",
        title="copied the wrong way",
        found="Copying has changed `source`, or has left `target` as it was.",
        expected=(
            "The numbers should go into the parameters of `target`, and `source` should stay as "
            "it was."
        ),
        look="Look at which of the two each line changes.",
        names=("copy_weights",),
    ),
)
