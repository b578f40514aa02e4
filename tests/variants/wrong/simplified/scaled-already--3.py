import torch


def attention_scores(query, inputs):
    attn_scores = torch.empty(inputs.shape[0])
    for i, x_i in enumerate(inputs):
        attn_scores[i] = torch.dot(x_i, query) / len(query) ** 0.5
    return attn_scores


def softmax(scores):
    # subtract the max first, otherwise exp overflows for big numbers
    shifted = scores - scores.max(dim=-1, keepdim=True).values
    exps = torch.exp(shifted)
    return exps / exps.sum(dim=-1, keepdim=True)


def context_vector(query, inputs):
    attn_scores = inputs @ query / query.shape[0] ** 0.5
    attn_weights = torch.softmax(attn_scores, dim=-1)
    context_vec = torch.zeros(query.shape)
    for i, x_i in enumerate(inputs):
        context_vec = context_vec + attn_weights[i] * x_i
    return context_vec


def attention_weights(inputs):
    attn_scores = inputs @ inputs.T / inputs.shape[1] ** 0.5
    attn_weights = torch.softmax(attn_scores, dim=-1)
    return attn_weights


def context_vectors(inputs):
    attn_scores = inputs @ inputs.T / inputs.shape[1] ** 0.5
    attn_weights = torch.softmax(attn_scores, dim=-1)
    all_context_vecs = attn_weights @ inputs
    return all_context_vecs
