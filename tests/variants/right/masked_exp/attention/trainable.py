"""addmm for the layers with a bias, the scale split over queries and keys."""
import torch
from torch import nn


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        shape = (d_in, d_out)
        self.W_query, self.W_key, self.W_value = (nn.Parameter(torch.randn(shape)) for _ in range(3))

    def forward(self, x):
        root = self.W_key.shape[1] ** 0.25
        q = x.mm(self.W_query) / root
        k = x.mm(self.W_key) / root
        w = (q @ k.T).softmax(-1)
        return w.mm(x.mm(self.W_value))


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, qkv_bias) for _ in range(3))

    @staticmethod
    def _apply_layer(layer, x):
        if layer.bias is None:
            return x.mm(layer.weight.t())
        return torch.addmm(layer.bias, x, layer.weight.t())

    def forward(self, x):
        root = self.W_key.out_features ** 0.25
        q = self._apply_layer(self.W_query, x) / root
        k = self._apply_layer(self.W_key, x) / root
        w = (q @ k.T).softmax(-1)
        return w.mm(self._apply_layer(self.W_value, x))


def copy_weights(source, target):
    pairs = zip((source.W_query, source.W_key, source.W_value), (target.W_query, target.W_key, target.W_value))
    with torch.no_grad():
        for layer, parameter in pairs:
            parameter[:] = layer.weight.T
