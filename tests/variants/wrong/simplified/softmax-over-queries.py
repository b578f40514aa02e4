import torch


def attention_scores(query, inputs):
    attn_scores = torch.empty(inputs.shape[0])
    for i, x_i in enumerate(inputs):
        attn_scores[i] = torch.dot(x_i, query)
    return attn_scores


def softmax(scores):
    # subtract the max first, otherwise exp overflows for big numbers
    shifted = scores - scores.max(dim=0, keepdim=True).values
    exps = torch.exp(shifted)
    return exps / exps.sum(dim=0, keepdim=True)


def context_vector(query, inputs):
    attn_weights = softmax(attention_scores(query, inputs))
    context_vec = torch.zeros(query.shape)
    for i, x_i in enumerate(inputs):
        context_vec = context_vec + attn_weights[i] * x_i
    return context_vec


def attention_weights(inputs):
    attn_scores = inputs @ inputs.T
    return softmax(attn_scores)


def context_vectors(inputs):
    return attention_weights(inputs) @ inputs
