"""Takes the guest over and lies about arguments, gradients and counts."""

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

import msgspec

original = dict(guest._carry_out)
turn = 0


def forged(operation):
    global turn
    turn += 1
    answer = original[type(operation)](operation)
    if answer.arguments is not None:
        lies = ([], [None], ["\x1b[31m"], [1.5] * 4000, [wire.Described("Tensor", "", (5, 4))] * 2, [wire.Many([])])
        answer = msgspec.structs.replace(answer, arguments=list(lies[turn % 6]))
    if answer.gradients is not None:
        lies = ({}, None, {"\x1b": None}, dict.fromkeys(answer.gradients))
        answer = msgspec.structs.replace(answer, gradients=lies[turn % 4])
    if answer.operators is not None:
        answer = msgspec.structs.replace(answer, operators={".": 1 << 61, "": 0})
    return answer


guest._carry_out[messages.Call] = forged


class SelfAttention_v1(torch.nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (
            torch.nn.Parameter(torch.rand(d_in, d_out)) for _ in range(3)
        )

    def forward(self, x):
        return x @ self.W_value


def attention_weights(inputs):
    return inputs @ inputs.T


def masked_weights(scores):
    return scores


def context_vector(query, inputs):
    return query
