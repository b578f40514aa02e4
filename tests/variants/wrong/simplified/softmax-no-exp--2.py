import torch


def attention_scores(query, inputs):
    # (T, d) * (d,) -> multiply every row by the query and add up the features
    return (inputs * query).sum(dim=1)


def softmax(scores):
    biggest, _ = torch.max(scores, dim=-1, keepdim=True)
    e = torch.exp(scores - biggest)
    total = torch.sum(e, dim=-1).unsqueeze(-1)
    return torch.div(e, total)


def context_vector(query, inputs):
    w = softmax(attention_scores(query, inputs))
    return (w.unsqueeze(1) * inputs).sum(0)


def attention_weights(inputs):
    scores = torch.mm(inputs, inputs.t())
    totals = scores.sum(dim=1).unsqueeze(1)
    return torch.div(scores, totals)


def context_vectors(inputs):
    w = attention_weights(inputs)
    return torch.mm(w, inputs)
