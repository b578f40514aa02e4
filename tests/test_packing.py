"""Tensors that are sent again are sent as they are now, and no more are kept than may be."""

from __future__ import annotations

import pytest
import torch

from autograder.sandbox.host import packing
from autograder.sandbox.host.packing import Parcel, packed
from autograder.sandbox.protocol import tensors
from autograder.sandbox.protocol.tensors import CannotTravel, decode


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_kept", {})


def unpacked(tensor: torch.Tensor) -> torch.Tensor:
    head, data, _ = packed(tensor)
    (found,) = decode([head], memoryview(bytes(data)))
    return found


def test_the_same_tensor_is_encoded_once() -> None:
    tensor = torch.arange(6.0).reshape(2, 3)
    assert packed(tensor)[1] is packed(tensor)[1]
    assert torch.equal(unpacked(tensor), tensor)


def test_a_tensor_that_was_changed_in_place_is_sent_as_it_is_now() -> None:
    tensor = torch.zeros(3)
    assert torch.equal(unpacked(tensor), torch.zeros(3))
    tensor[1] = 5.0
    assert torch.equal(unpacked(tensor), torch.tensor([0.0, 5.0, 0.0]))


def test_a_view_of_a_tensor_that_was_changed_is_sent_as_it_is_now() -> None:
    tensor = torch.zeros(2, 3)
    view = tensor.T
    unpacked(view)
    tensor[0, 2] = 1.0
    assert torch.equal(unpacked(view), tensor.T)


def test_another_tensor_in_the_place_of_one_that_is_gone_is_not_taken_for_it() -> None:
    for number in range(100):
        assert torch.equal(unpacked(torch.full((2,), float(number))), torch.full((2,), number))


def test_no_more_than_a_bounded_number_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_MOST_KEPT", 3)
    tensors = [torch.full((2,), float(number)) for number in range(10)]
    for tensor in tensors:
        packed(tensor)
    assert len(packing._kept) == 3
    assert all(torch.equal(unpacked(tensor), tensor) for tensor in tensors)


def test_large_tensors_are_not_kept() -> None:
    packed(torch.zeros(packing._LARGEST_KEPT))
    assert not packing._kept


def test_a_parcel_refuses_more_than_one_frame_may_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors, "MAX_PAYLOAD_BYTES", 20)
    parcel, tensor = Parcel(), torch.zeros(4)
    assert parcel.add(tensor) == 0
    with pytest.raises(CannotTravel):
        parcel.add(tensor)
