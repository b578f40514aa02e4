import torch


def attention_scores(query, inputs):
    scores = torch.empty(len(inputs))
    for i in range(len(inputs)):
        scores[i] = sum(q * x for q, x in zip(query, inputs[i]))
    return scores


def softmax(scores):
    scores = scores - torch.max(scores, dim=-1, keepdim=True)[0]
    return torch.exp(scores) / torch.exp(scores).sum(dim=-1, keepdim=True)


def context_vector(query, inputs):
    return softmax(attention_scores(query, inputs)) @ inputs


def attention_weights(inputs):
    return softmax(inputs @ inputs.T)


def context_vectors(inputs):
    out = torch.zeros(inputs.shape)
    for i, row in enumerate(attention_weights(inputs)):
        for weight, x in zip(row, inputs):
            out[i] += weight * x
    return out
