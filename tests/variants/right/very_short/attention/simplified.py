import torch as t

attention_scores = lambda query, inputs: inputs @ query


def softmax(scores):
    e = t.exp(scores - scores.max(-1, keepdim=True)[0])
    return e / e.sum(-1, keepdim=True)


def context_vector(query, inputs): return softmax(attention_scores(query, inputs)) @ inputs


def attention_weights(inputs): return softmax(inputs @ inputs.T)


def context_vectors(inputs): return attention_weights(inputs) @ inputs
