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
    torch.softmax(s, 0)
    w = s
    return torch.einsum("t,td->d", w, inputs)


def attention_weights(inputs):
    s = torch.einsum("id,jd->ij", inputs, inputs)
    torch.softmax(s, 1)
    w = s
    return w


def context_vectors(inputs):
    s = torch.einsum("id,jd->ij", inputs, inputs)
    torch.softmax(s, 1)
    w = s
    return torch.einsum("ij,jd->id", w, inputs)
