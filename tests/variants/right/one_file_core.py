import math
import torch
import torch.nn as nn


# ---- simplified ----

def softmax(scores):
    top = scores.amax(dim=-1, keepdim=True)
    log_sum = top + torch.log(torch.sum(torch.exp(scores - top), dim=-1, keepdim=True))
    log_weights = scores - log_sum
    return log_weights.exp()


def attention_scores(query, inputs):
    return torch.matmul(inputs, query.unsqueeze(-1)).squeeze(-1)


def context_vector(query, inputs):
    weights = softmax(attention_scores(query, inputs))
    return torch.einsum("t,td->d", weights, inputs)


def attention_weights(inputs):
    return softmax(torch.einsum("qd,kd->qk", inputs, inputs))


def context_vectors(inputs):
    return torch.einsum("qk,kd->qd", attention_weights(inputs), inputs)


# ---- trainable ----

def scaled_dot_product(q, k, v):
    q, k, v = q[None], k[None], v[None]
    w = torch.bmm(q, k.transpose(1, 2)).mul(1 / math.sqrt(q.shape[-1])).softmax(dim=2)
    return torch.bmm(w, v)[0]


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out, seed=None):
        super().__init__()
        if seed is not None:
            torch.manual_seed(seed)
        self.W_query = nn.Parameter(torch.empty(d_in, d_out).uniform_(-1, 1))
        self.W_key = nn.Parameter(torch.empty(d_in, d_out).uniform_(-1, 1))
        self.W_value = nn.Parameter(torch.empty(d_in, d_out).uniform_(-1, 1))

    def forward(self, x, verbose=False):
        if verbose:
            print("x:", x.shape)
        return scaled_dot_product(x @ self.W_query, x @ self.W_key, x @ self.W_value)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False, seed=None):
        super().__init__()
        if seed is not None:
            torch.manual_seed(seed)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x, verbose=False):
        if verbose:
            print("x:", x.shape)
        return scaled_dot_product(self.W_query(x), self.W_key(x), self.W_value(x))


def copy_weights(source, target):
    new = {f"{n}": getattr(source, n).weight.detach().clone().t() for n in ("W_query", "W_key", "W_value")}
    target.load_state_dict(new, strict=True)


# ---- causal ----

def causal_mask(num_tokens):
    return torch.tril(torch.ones(num_tokens, num_tokens)).logical_not()


def renormalized_weights(scores):
    w = torch.softmax(scores, dim=-1).masked_fill(causal_mask(scores.shape[-1]), 0)
    return w / torch.einsum("ij->i", w)[:, None]


def masked_weights(scores):
    return torch.softmax(scores.masked_fill(causal_mask(scores.shape[-1]), float("-inf")), dim=-1)


class MaskedAttention(nn.Module):
    """Everything between the projections and the context; owns the mask."""

    def __init__(self, context_length, dropout):
        super().__init__()
        self.softmax = nn.Softmax(dim=-1)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", causal_mask(context_length).T)   # (key, query)

    def forward(self, q, k, v):
        T = q.shape[-2]
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(self.mask.T[:T, :T], float("-inf"))
        return self.dropout(self.softmax(scores)) @ v


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.core = MaskedAttention(context_length, dropout)

    def forward(self, x):
        return self.core(self.W_query(x), self.W_key(x), self.W_value(x))


# ---- multi_head ----

class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.options = dict(context_length=context_length, dropout=dropout, num_heads=num_heads, qkv_bias=qkv_bias)
        self.d_in, self.d_out = d_in, d_out
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.split = nn.Unflatten(-1, (num_heads, d_out // num_heads))
        self.join = nn.Flatten(start_dim=2)
        self.core = MaskedAttention(context_length, dropout)

    def forward(self, x):
        q, k, v = (self.split(layer(x)).transpose(1, 2) for layer in (self.W_query, self.W_key, self.W_value))
        return self.out_proj(self.join(self.core(q, k, v).transpose(1, 2)))


@torch.no_grad()
def merge_heads(wrapper):
    n = wrapper.options["num_heads"]
    merged = MultiHeadAttention(wrapper.d_in, n * wrapper.d_out, **wrapper.options)
    for h, head in enumerate(wrapper.heads):
        rows = slice(h * wrapper.d_out, (h + 1) * wrapper.d_out)
        for path, parameter in head.named_parameters():
            merged.get_parameter(path)[rows] = parameter
    merged.out_proj.weight.fill_(0.0).fill_diagonal_(1.0)
    merged.out_proj.bias.fill_(0.0)
    return merged


def gpt2_attention():
    return MultiHeadAttention(num_heads=12, d_in=768, d_out=768, dropout=0.1, context_length=1024)
