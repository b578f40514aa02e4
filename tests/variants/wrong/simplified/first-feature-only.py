import torch


def attention_scores(query, inputs):
    attn_scores = torch.empty(inputs.shape[0])
    for i, x_i in enumerate(inputs):
        attn_scores[i] = x_i[0] * query[0]
    return attn_scores


def softmax(scores):
    # subtract the max first, otherwise exp overflows for big numbers
    shifted = scores - scores.max(dim=-1, keepdim=True).values
    exps = torch.exp(shifted)
    return exps / exps.sum(dim=-1, keepdim=True)


def context_vector(query, inputs):
    attn_scores = inputs[:, 0] * query[0]
    attn_weights = torch.softmax(attn_scores, dim=-1)
    context_vec = torch.zeros(query.shape)
    for i, x_i in enumerate(inputs):
        context_vec = context_vec + attn_weights[i] * x_i
    return context_vec


def attention_weights(inputs):
    attn_scores = inputs[:, :1] @ inputs[:, :1].T
    attn_weights = torch.softmax(attn_scores, dim=-1)
    return attn_weights


def context_vectors(inputs):
    attn_scores = inputs[:, :1] @ inputs[:, :1].T
    attn_weights = torch.softmax(attn_scores, dim=-1)
    all_context_vecs = attn_weights @ inputs
    return all_context_vecs
