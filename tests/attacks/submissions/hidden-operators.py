"""Takes the kit's counting modes away while it calls library attention."""

import torch
from torch import nn


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        scores = self.W_query(x) @ self.W_key(x).T
        return torch.softmax(scores, dim=-1) @ self.W_value(x)


# ---- the attack ----

from torch.nn import functional
from torch.utils._python_dispatch import _disable_current_modes


class SelfAttention_v2(SelfAttention_v2):
    def forward(self, x):
        with torch._C.DisableTorchFunction(), _disable_current_modes():
            q, k, v = (layer(x).unsqueeze(0) for layer in (self.W_query, self.W_key, self.W_value))
            return functional.scaled_dot_product_attention(q, k, v).squeeze(0)
