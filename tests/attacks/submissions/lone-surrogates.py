"""Puts half characters and private ones into every text."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

BAD = "\ud800\udfff\ufffe\U0010ffff\ue000"


class Half(Exception):
    pass


Half.__name__ = "Half\ufffe"


def softmax(scores):
    print(BAD)
    raise Half(BAD)


def attention_weights(inputs):
    return BAD


def attention_scores(query, inputs):
    return {BAD: inputs, "\ud800": inputs @ query}


raise Half(BAD)
