import torch
from torch import Tensor


def attention_scores(query: Tensor, inputs: Tensor) -> Tensor:
    return torch.einsum("d,td->t", query, inputs)


def softmax(scores: Tensor) -> Tensor:
    exp = (scores - scores.amax(-1, keepdim=True)).exp()
    return torch.einsum("...t,...->...t", exp, 1 / exp.sum(-1))


def context_vector(query: Tensor, inputs: Tensor) -> Tensor:
    return torch.einsum("t,td->d", softmax(attention_scores(query, inputs)), inputs)


def attention_weights(inputs: Tensor) -> Tensor:
    return softmax(torch.einsum("id,jd->ij", inputs, inputs))


def context_vectors(inputs: Tensor) -> Tensor:
    return torch.einsum("ji,jd->id", attention_weights(inputs), inputs)
