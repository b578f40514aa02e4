"""A public check of stage 5."""

import torch

from attention import grouped


def test_output_is_as_wide_as_asked():
    module = grouped.GroupedQueryAttention(3, 8, 6, 0.0, 4, 2)
    assert module(torch.ones(1, 6, 3)).shape == (1, 6, 8)
