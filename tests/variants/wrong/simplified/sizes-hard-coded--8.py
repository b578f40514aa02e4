import torch


def attention_scores(query, inputs):
    return torch.einsum("td,d->t", inputs, query)


def softmax(scores):
    out = scores.clone()
    out -= out.amax(-1, keepdim=True)
    out.exp_()
    out /= out.sum(-1, keepdim=True)
    return out


def context_vector(query, inputs):
    s = torch.einsum("td,d->t", inputs, query)
    w = torch.exp(s - torch.logsumexp(s, 0))
    w = w.reshape(6)
    return torch.einsum("t,td->d", w, inputs)


def attention_weights(inputs):
    s = torch.einsum("id,jd->ij", inputs, inputs)
    w = torch.exp(s - torch.logsumexp(s, 1, keepdim=True))
    return w


def context_vectors(inputs):
    s = torch.einsum("id,jd->ij", inputs, inputs)
    w = torch.exp(s - torch.logsumexp(s, 1, keepdim=True))
    return torch.einsum("ij,jd->id", w, inputs)
