import torch


def attention_scores(query, inputs):
    attn_scores = torch.empty(inputs.shape[0])
    for i, x_i in enumerate(inputs):
        attn_scores[i] = torch.dot(x_i, query)
    return attn_scores


def softmax(scores):
    # subtract the max first, otherwise exp overflows for big numbers
    shifted = scores - scores.max(dim=-1, keepdim=True).values
    return torch.exp(scores)


def context_vector(query, inputs):
    attn_scores = inputs @ query
    attn_weights = torch.exp(attn_scores)
    context_vec = torch.zeros(query.shape)
    for i, x_i in enumerate(inputs):
        context_vec = context_vec + attn_weights[i] * x_i
    return context_vec


def attention_weights(inputs):
    attn_scores = inputs @ inputs.T
    attn_weights = torch.exp(attn_scores)
    return attn_weights


def context_vectors(inputs):
    attn_scores = inputs @ inputs.T
    attn_weights = torch.exp(attn_scores)
    all_context_vecs = attn_weights @ inputs
    return all_context_vecs
