import torch


def attention_scores(query, inputs):
    lengths = inputs.norm(dim=1) * query.norm()
    return (inputs @ query) / lengths


def softmax(scores):
    log_total = torch.logsumexp(scores, dim=-1, keepdim=True)
    return torch.exp(scores - log_total)


def attention_weights(inputs):
    unit = inputs / inputs.norm(dim=1, keepdim=True)
    return softmax(unit.matmul(unit.transpose(0, 1)))


def context_vector(query, inputs):
    w = softmax(attention_scores(query, inputs))
    return w @ inputs


def context_vectors(inputs):
    return attention_weights(inputs).matmul(inputs)
