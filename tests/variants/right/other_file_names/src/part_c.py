import torch
import torch.nn as nn


def causal_mask(num_tokens):
    return torch.triu(torch.ones(num_tokens, num_tokens), diagonal=1).bool()


def renormalized_weights(scores):
    attn_weights = torch.softmax(scores, dim=-1)
    masked = attn_weights * torch.tril(torch.ones(scores.shape[0], scores.shape[0]))
    return masked / masked.sum(dim=-1, keepdim=True)


def masked_weights(scores):
    return torch.softmax(scores.masked_fill(causal_mask(scores.shape[0]), -torch.inf), dim=-1)


class CausalAttention(nn.Module):
    """Writes minus infinity at the indices above the diagonal."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.context_length = context_length

    def forward(self, x):
        num_tokens = x.shape[1]
        rows, columns = torch.triu_indices(num_tokens, num_tokens, offset=1, device=x.device)
        keys = self.W_key(x)
        scores = self.W_query(x) @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        scores[:, rows, columns] = -torch.inf
        return self.dropout(torch.softmax(scores, dim=-1)) @ self.W_value(x)
