import torch


def attention_scores(query, inputs):
    attn_scores = torch.empty(inputs.shape[0])
    for i, x_i in enumerate(inputs):
        attn_scores[i] = torch.dot(x_i, query)
    return attn_scores


def softmax(scores):
    # subtract the max first, otherwise exp overflows for big numbers
    shifted = scores - scores.max(dim=-1, keepdim=True).values
    exps = torch.exp(shifted)
    return exps / exps.sum(dim=-1, keepdim=True)


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

if __name__ == "__main__":
    torch.manual_seed(123)
    inputs = torch.tensor(
        [[0.43, 0.15, 0.89],
         [0.55, 0.87, 0.66],
         [0.57, 0.85, 0.64],
         [0.22, 0.58, 0.33],
         [0.77, 0.25, 0.10],
         [0.05, 0.80, 0.55]]
    )
    print(attention_weights(inputs).sum(dim=-1))
    print(context_vectors(inputs))
