import math
import torch
import torch.nn as nn
import torch.nn.functional as F


# ---- simplified ----

def softmax(scores):
    top = scores.max(dim=-1, keepdim=True).values
    e = torch.exp(scores - top)
    return e / torch.sum(e, dim=-1, keepdim=True)


def _scores(queries, inputs):
    return queries @ inputs.mT


def attention_scores(query, inputs):
    return _scores(query[None, :], inputs).squeeze(0)


def context_vector(query, inputs):
    weights = F.softmax(_scores(query.unsqueeze(0), inputs), dim=-1)
    return (weights @ inputs)[0]


def attention_weights(inputs):
    return F.softmax(_scores(inputs, inputs), dim=1)


def context_vectors(inputs):
    return attention_weights(inputs) @ inputs


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
    allowed = torch.ones(num_tokens, num_tokens, dtype=torch.bool).tril()
    return ~allowed


def renormalized_weights(scores):
    weights = torch.softmax(scores, dim=-1)
    weights = weights.masked_fill(causal_mask(len(scores)), 0.0)
    return torch.nn.functional.normalize(weights, p=1, dim=-1)


def masked_weights(scores):
    allowed = causal_mask(len(scores)).logical_not()
    exp = torch.exp(scores - scores.masked_fill(~allowed, -float("inf")).amax(-1, keepdim=True))
    exp = exp.masked_fill(~allowed, 0.0)
    return exp / exp.sum(-1, keepdim=True)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.context_length = context_length
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        batch, num_tokens, _ = x.shape
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        scores = torch.bmm(q, k.transpose(1, 2)) / (k.shape[-1] ** 0.5)
        future = torch.ones(num_tokens, num_tokens, dtype=torch.bool, device=x.device).triu(diagonal=1)
        scores = scores.masked_fill(future, float("-inf"))
        return torch.bmm(self.dropout(torch.softmax(scores, dim=-1)), v)


# ---- multi_head ----

class MultiHeadAttentionWrapper(nn.Module):
    """Runs the heads one after the other, side by side in the last dimension"""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.d_in = d_in
        self.d_out = d_out
        self.context_length = context_length
        self.dropout_rate = dropout
        self.num_heads = num_heads
        self.qkv_bias = qkv_bias
        make = lambda: CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
        self.heads = nn.ModuleList(make() for _ in range(num_heads))

    def forward(self, x):
        b, t, _ = x.shape
        stacked = torch.stack([h(x) for h in self.heads], dim=2)  # (b, T, H, d_out)
        return stacked.reshape(b, t, self.num_heads * self.d_out)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1).bool(), persistent=False)

    def _fold(self, x):
        b, t, _ = x.shape
        x = x.view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        return x.reshape(b * self.num_heads, t, self.head_dim)

    def _unfold(self, x, b):
        _, t, _ = x.shape
        x = x.view(b, self.num_heads, t, self.head_dim).transpose(1, 2)
        return x.reshape(b, t, self.num_heads * self.head_dim)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self._fold(self.W_query(x)), self._fold(self.W_key(x)), self._fold(self.W_value(x))
        scores = torch.bmm(q, k.transpose(1, 2)) / self.head_dim ** 0.5
        scores = scores.masked_fill(self.mask[:t, :t], float("-inf"))
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj(self._unfold(torch.bmm(weights, v), b))


def merge_heads(wrapper):
    w = wrapper
    mha = MultiHeadAttention(
        d_in=w.d_in,
        d_out=w.d_out * w.num_heads,
        context_length=w.context_length,
        dropout=w.dropout_rate,
        num_heads=w.num_heads,
        qkv_bias=w.qkv_bias,
    )
    for i, head in enumerate(w.heads):
        rows = slice(i * w.d_out, (i + 1) * w.d_out)
        mha.W_query.weight.data[rows] = head.W_query.weight.data
        mha.W_key.weight.data[rows] = head.W_key.weight.data
        mha.W_value.weight.data[rows] = head.W_value.weight.data
        if w.qkv_bias:
            mha.W_query.bias.data[rows] = head.W_query.bias.data
            mha.W_key.bias.data[rows] = head.W_key.bias.data
            mha.W_value.bias.data[rows] = head.W_value.bias.data
    # the joined heads go out as they are
    nn.init.eye_(mha.out_proj.weight)
    nn.init.zeros_(mha.out_proj.bias)
    return mha


def gpt2_attention():
    return MultiHeadAttention(768, 768, 1024, 0.1, 12, qkv_bias=True)


if __name__ != "__main__":
    pass
else:
    text = open("the-verdict.txt").read()
    print(len(text))
