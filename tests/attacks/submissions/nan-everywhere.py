"""Returns nan, which some comparisons let pass."""

import torch


# ---- the attack ----

def softmax(scores):
    return scores * float("nan")


def attention_scores(query, inputs):
    return (inputs @ query) * float("nan")


def attention_weights(inputs):
    return (inputs @ inputs.T) * float("nan")


def context_vectors(inputs):
    return inputs * float("nan")


def causal_mask(num_tokens):
    return torch.full((num_tokens, num_tokens), float("nan"))


def masked_weights(scores):
    return scores * float("nan")
