"""Softmax in log space, by hand."""
import torch


def softmax(scores):
    top = scores.amax(dim=-1, keepdim=True)
    log_sum = top + torch.log(torch.sum(torch.exp(scores - top), dim=-1, keepdim=True))
    log_weights = scores - log_sum
    return log_weights.exp()


def attention_scores(query, inputs):
    return torch.matmul(inputs, query.unsqueeze(-1)).squeeze(-1)


def context_vector(query, inputs):
    weights = softmax(attention_scores(query, inputs))
    return torch.einsum("t,td->d", weights, inputs)


def attention_weights(inputs):
    return softmax(torch.einsum("qd,kd->qk", inputs, inputs))


def context_vectors(inputs):
    return torch.einsum("qk,kd->qd", attention_weights(inputs), inputs)
