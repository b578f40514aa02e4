from __future__ import annotations
from dataclasses import dataclass
import torch
import torch.nn as nn
from torch import Tensor, nn


# ---- simplified ----

def _normalise(powers):
    return powers / powers.sum(dim=-1, keepdim=True)


def attention_scores(query, inputs):
    return torch.tensordot(inputs, query, dims=1)


def softmax(scores):
    # detach: the shift changes nothing, so no gradient needs to go through it
    return _normalise(torch.exp(scores - scores.detach().max(dim=-1, keepdim=True).values))


def context_vector(query, inputs):
    return torch.tensordot(softmax(attention_scores(query, inputs)), inputs, dims=1)


def attention_weights(inputs):
    scores = torch.tensordot(inputs, inputs, dims=([1], [1]))
    # scores are symmetric here, the transpose is only to remember which side is the query
    return softmax(scores.transpose(0, 1))


def context_vectors(inputs):
    return torch.tensordot(attention_weights(inputs), inputs, dims=1)


# ---- trainable ----

@dataclass(frozen=True)
class Config:
    d_in: int
    d_out: int
    qkv_bias: bool = False

    @property
    def temperature(self) -> float:
        return float(self.d_out) ** 0.5


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.config = Config(d_in, d_out)
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))
        self.last_attention: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = (x @ self.W_query) @ (x @ self.W_key).T
        weights: Tensor = torch.softmax(scores / self.config.temperature, dim=-1)
        self.last_attention = weights.detach()  # for plotting
        return weights @ (x @ self.W_value)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.config = Config(d_in, d_out, qkv_bias)
        self.W_query: nn.Linear = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key: nn.Linear = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value: nn.Linear = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.last_attention: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.W_query(x) @ self.W_key(x).T
        weights: Tensor = torch.softmax(scores / self.config.temperature, dim=-1)
        self.last_attention = weights.detach()
        return weights @ self.W_value(x)


def copy_weights(source: SelfAttention_v2, target: SelfAttention_v1) -> None:
    with torch.no_grad():
        target.W_query.set_(source.W_query.weight.T.contiguous())
        target.W_key.set_(source.W_key.weight.T.contiguous())
        target.W_value.set_(source.W_value.weight.T.contiguous())


# ---- causal ----

def causal_mask(num_tokens):
    return torch.triu(torch.ones(num_tokens, num_tokens), diagonal=1).bool()


def renormalized_weights(scores):
    attn_weights = torch.softmax(scores, dim=-1)
    masked = attn_weights * torch.tril(torch.ones(scores.shape[0], scores.shape[0]))
    return masked / masked.sum(dim=-1, keepdim=True)


def masked_weights(scores):
    return torch.softmax(scores.masked_fill(causal_mask(scores.shape[0]), -torch.inf), dim=-1)


class CausalAttention(nn.Module):
    """The mask is a buffer of small integers."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False, **kwargs):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length, dtype=torch.uint8)))

    def forward(self, x, mask=None):
        n = x.shape[1]
        if mask is None:
            mask = self.mask[:n, :n]
        k = self.W_key(x)
        scores = self.W_query(x) @ k.transpose(1, 2)
        scores = scores.div_(k.shape[-1] ** 0.5).masked_fill_(mask == 0, -torch.inf)
        return self.dropout(scores.softmax(dim=-1)) @ self.W_value(x)


# ---- multi_head ----

class MultiHeadAttentionWrapper(nn.Module):

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.sizes = (d_in, d_out, context_length, dropout, num_heads, qkv_bias)
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False, verbose=False):
        super().__init__()
        self.head_dim, rest = divmod(d_out, num_heads)
        if rest != 0:
            raise ValueError(f"{d_out} is not a multiple of {num_heads}")
        self.verbose = verbose
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.to_weights = nn.Sequential(nn.Softmax(dim=-1), nn.Dropout(dropout))
        self.register_buffer("positions", torch.arange(context_length))

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (
            y.reshape(b, n, self.num_heads, self.head_dim).transpose(1, 2)
            for y in (self.W_query(x), self.W_key(x), self.W_value(x))
        )
        if self.verbose:
            print("queries", q.shape)
        here = self.positions[:n]
        scores = q.matmul(k.mT) / self.head_dim ** 0.5
        scores = torch.where(here <= here[:, None], scores, float("-inf"))
        context = self.to_weights(scores).matmul(v)
        return self.out_proj(context.transpose(1, 2).reshape(b, n, self.num_heads * self.head_dim))


def merge_heads(wrapper):
    d_in, d_out, context_length, dropout, num_heads, qkv_bias = wrapper.sizes
    merged = MultiHeadAttention(
        d_in, num_heads * d_out, context_length, dropout, num_heads, qkv_bias
    )
    with torch.no_grad():
        for name in ("W_query", "W_key", "W_value"):
            layers = [getattr(head, name) for head in wrapper.heads]
            getattr(merged, name).weight.copy_(torch.cat([layer.weight for layer in layers]))
            if qkv_bias:
                getattr(merged, name).bias.copy_(torch.cat([layer.bias for layer in layers]))
        merged.out_proj.weight.copy_(torch.eye(num_heads * d_out))
        merged.out_proj.bias.zero_()
    return merged


GPT_CONFIG_124M = {
    "vocab_size": 50257,
    "context_length": 1024,
    "emb_dim": 768,
    "n_heads": 12,
    "n_layers": 12,
    "drop_rate": 0.1,
    "qkv_bias": False,
}


def gpt2_attention():
    cfg = GPT_CONFIG_124M
    return MultiHeadAttention(
        d_in=cfg["emb_dim"],
        d_out=cfg["emb_dim"],
        context_length=cfg["context_length"],
        num_heads=cfg["n_heads"],
        dropout=cfg["drop_rate"],
        qkv_bias=cfg["qkv_bias"],
    )


inputs = torch.tensor([[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64]])
print(attention_weights(inputs))
mha = MultiHeadAttention(3, 4, 3, 0.5, 2)
optimizer = torch.optim.SGD(mha.parameters(), lr=0.1)
for step in range(3):
    loss = mha(inputs.unsqueeze(0)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
