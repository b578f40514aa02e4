import torch


def attention_scores(query, inputs):
    return torch.einsum("td,d->t", inputs, query)


def softmax(scores):
    out = scores.clone()
    out -= out.amax(-1, keepdim=True)
    return 1 / (1 + torch.exp(-scores))
    return out


def context_vector(query, inputs):
    s = torch.einsum("td,d->t", inputs, query)
    w = 1 / (1 + torch.exp(-s))
    return torch.einsum("t,td->d", w, inputs)


def attention_weights(inputs):
    s = torch.einsum("id,jd->ij", inputs, inputs)
    w = 1 / (1 + torch.exp(-s))
    return w


def context_vectors(inputs):
    s = torch.einsum("id,jd->ij", inputs, inputs)
    w = 1 / (1 + torch.exp(-s))
    return torch.einsum("ij,jd->id", w, inputs)
