"""Changes, shrinks and replaces its arguments in place."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

def softmax(scores):
    if scores.dim() == 1:
        scores.resize_(0)
    elif scores.dim() == 2:
        scores.data = scores.to_sparse() if len(scores) == 4 else scores.double()
    else:
        scores.zero_()
    return torch.ones(4, 6)


def attention_scores(query, inputs):
    answer = inputs @ query
    inputs.data, query.data = query.data, inputs.data
    return answer


def attention_weights(inputs):
    inputs.__class__ = type("Other", (torch.Tensor,), {"shape": property(lambda self: 1 / 0)})
    return torch.eye(6)


def context_vector(query, inputs):
    inputs.set_(torch.zeros(1).expand(1 << 30))
    return query


def context_vectors(inputs):
    copy = inputs.clone()
    inputs.data = torch.zeros(inputs.shape, device="meta")
    return copy


def masked_weights(scores):
    scores.data = torch.quantize_per_tensor(scores.float(), 0.1, 0, torch.quint8)
    return torch.eye(5)


def renormalized_weights(scores):
    scores.data = scores.to(torch.complex64)
    return torch.eye(5)
