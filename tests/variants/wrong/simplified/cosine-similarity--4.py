import torch


def attention_scores(query, inputs):
    inputs = inputs / inputs.norm(dim=1, keepdim=True)
    query = query / query.norm()
    return torch.einsum("td,d->t", inputs, query)


def softmax(scores):
    out = scores.clone()
    out -= out.amax(-1, keepdim=True)
    out.exp_()
    out /= out.sum(-1, keepdim=True)
    return out


def context_vector(query, inputs):
    s = torch.einsum("td,d->t", inputs, query) / inputs.norm(dim=1) / query.norm()
    w = torch.exp(s - torch.logsumexp(s, 0))
    return torch.einsum("t,td->d", w, inputs)


def attention_weights(inputs):
    n = torch.nn.functional.normalize(inputs, dim=1)
    s = torch.einsum("id,jd->ij", n, n)
    w = torch.exp(s - torch.logsumexp(s, 1, keepdim=True))
    return w


def context_vectors(inputs):
    n = torch.nn.functional.normalize(inputs, dim=1)
    s = torch.einsum("id,jd->ij", n, n)
    w = torch.exp(s - torch.logsumexp(s, 1, keepdim=True))
    return torch.einsum("ij,jd->id", w, inputs)
