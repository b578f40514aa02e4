import math
import torch
import torch.nn as nn
import torch.nn.functional as F


# ---- simplified ----

def attention_scores(query, inputs):
	# (T, d) * (d,) -> multiply every row by the query and add up the features
	return (inputs * query).sum(dim=1)


def softmax(scores):
	biggest, _ = torch.max(scores, dim=-1, keepdim=True)
	e = torch.exp(scores - biggest)
	total = torch.sum(e, dim=-1).unsqueeze(-1)
	return torch.div(e, total)


def context_vector(query, inputs):
	w = softmax(attention_scores(query, inputs))
	return (w.unsqueeze(1) * inputs).sum(0)


def attention_weights(inputs):
	return softmax(torch.mm(inputs, inputs.t()))


def context_vectors(inputs):
	w = attention_weights(inputs)
	return torch.mm(w, inputs)


# ---- trainable ----

class _Attention(nn.Module):
	def qkv(self, x):
		raise RuntimeError("the subclasses do this")

	def forward(self, x):
		q, k, v = self.qkv(x)
		scale = 1 / math.sqrt(q.shape[-1])
		w = torch.baddbmm(
			q.new_zeros(1, 1, 1), q.unsqueeze(0), k.T.unsqueeze(0), beta=0, alpha=scale
		).softmax(-1)
		return torch.bmm(w, v.unsqueeze(0)).squeeze(0)


class SelfAttention_v1(_Attention):
	def __init__(self, d_in, d_out):
		super().__init__()
		for name in ["W_query", "W_key", "W_value"]:
			self.register_parameter(name, nn.Parameter(torch.normal(0, 0.2, (d_in, d_out))))

	def qkv(self, x):
		return x @ self.W_query, x @ self.W_key, x @ self.W_value


class SelfAttention_v2(_Attention):
	def __init__(self, d_in, d_out, qkv_bias=False):
		super().__init__()
		for name in ["W_query", "W_key", "W_value"]:
			self.add_module(name, nn.Linear(d_in, d_out, bias=qkv_bias))

	def qkv(self, x):
		return self.W_query(x), self.W_key(x), self.W_value(x)


def copy_weights(source, target):
	for name, parameter in target.named_parameters():
		parameter.data.copy_(source.get_submodule(name).weight.data.T)
	return target


# ---- causal ----

def causal_mask(num_tokens):
	i = torch.arange(num_tokens)
	return i[None, :] > i[:, None]


def renormalized_weights(scores):
	weights = scores.softmax(-1)
	weights = torch.where(causal_mask(scores.size(-1)), torch.zeros_like(weights), weights)
	return weights / weights.sum(-1, keepdim=True)


def masked_weights(scores):
	hidden = causal_mask(scores.size(-1))
	return torch.where(hidden, torch.full_like(scores, float("-inf")), scores).softmax(-1)


class CausalAttention(nn.Module):
	def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
		super().__init__()
		self.W_query = nn.Linear(d_in, d_out, qkv_bias)
		self.W_key = nn.Linear(d_in, d_out, qkv_bias)
		self.W_value = nn.Linear(d_in, d_out, qkv_bias)
		self.p = dropout
		allowed = torch.tril(torch.ones(context_length, context_length, dtype=torch.bool))
		self.register_buffer("allowed", allowed)

	def forward(self, x):
		_, t, _ = x.size()
		q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
		s = torch.matmul(q, k.transpose(-1, -2)) * k.size(-1) ** -0.5
		s = torch.where(self.allowed[:t, :t], s, -float("inf"))
		a = F.dropout(F.softmax(s, dim=-1), p=self.p, training=self.training)
		return torch.matmul(a, v)


# ---- multi_head ----

class MultiHeadAttentionWrapper(nn.Module):
	def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
		super().__init__()
		self.context_length = context_length
		self.p = dropout
		self.heads = nn.ModuleList()
		for _ in range(num_heads):
			self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=qkv_bias))

	def forward(self, x):
		outputs = []
		for head in self.heads:
			outputs.append(head(x))
		return torch.cat(outputs, dim=2)


class MultiHeadAttention(nn.Module):
	def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
		super().__init__()
		if d_out % num_heads:
			raise ValueError(f"d_out = {d_out} cannot be split into {num_heads} heads")
		self.H, self.d_k = num_heads, d_out // num_heads
		self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
		self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
		self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
		self.out_proj = nn.Linear(d_out, d_out)
		self.drop = nn.Dropout(dropout)
		self.register_buffer("hidden", torch.ones(context_length, context_length).triu(1).bool())

	def forward(self, x):
		T = x.size(1)
		q = self.W_query(x).unflatten(-1, (self.H, self.d_k))
		k = self.W_key(x).unflatten(-1, (self.H, self.d_k))
		v = self.W_value(x).unflatten(-1, (self.H, self.d_k))
		scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(self.d_k)
		scores = scores.masked_fill(self.hidden[:T, :T], float("-inf"))
		weights = self.drop(scores.softmax(-1))
		context = torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2)
		return self.out_proj(context)


def merge_heads(wrapper):
	first = wrapper.heads[0]
	d_out, d_in = first.W_query.weight.shape
	H = len(wrapper.heads)
	has_bias = first.W_query.bias is not None
	merged = MultiHeadAttention(d_in, d_out * H, wrapper.context_length, wrapper.p, H, qkv_bias=has_bias)
	merged.to(first.W_query.weight.dtype)
	new_state = merged.state_dict()
	for name in ["W_query", "W_key", "W_value"]:
		new_state[name + ".weight"] = torch.cat([getattr(h, name).weight.detach() for h in wrapper.heads], dim=0)
		if has_bias:
			new_state[name + ".bias"] = torch.cat([getattr(h, name).bias.detach() for h in wrapper.heads], dim=0)
	new_state["out_proj.weight"] = torch.eye(d_out * H)
	new_state["out_proj.bias"] = torch.zeros(d_out * H)
	merged.load_state_dict(new_state)
	merged.eval()
	return merged


def gpt2_attention():
	return MultiHeadAttention(768, 768, 1024, 0.1, 12, qkv_bias=True)
