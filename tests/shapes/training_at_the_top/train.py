"""Trains a toy model as soon as it is imported."""
import torch
from torch import nn

from attention.causal import CausalAttention
from attention.multi_head import MultiHeadAttention

torch.manual_seed(123)
model = nn.Sequential(MultiHeadAttention(8, 8, 6, 0.1, 2), CausalAttention(8, 8, 6, 0.1), nn.Linear(8, 5))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
inputs, targets = torch.rand(4, 6, 8), torch.randint(0, 5, (4, 6))
for epoch in range(10):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")

model.eval()
# A demo that leaves its traces on the class itself.
CausalAttention.calls = 0
MultiHeadAttention.instances = [model]


def main():
    print(sum(p.numel() for p in model.parameters()))


if __name__ == "__main__":
    main()
