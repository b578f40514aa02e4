"""Frames and tensors: what goes through exactly, and what is refused."""

import socket
import struct

import msgspec
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.sandbox.guest.describe import Describer
from autograder.sandbox.host.values import Opaque, incoming
from autograder.sandbox.protocol import messages, wire
from autograder.sandbox.protocol.frames import Broken, Channel, Ended
from autograder.sandbox.protocol.tensors import DTYPES, CannotTravel, Cargo, decode, encode

PREFIX = struct.Struct("<IQ")
encode_message = msgspec.msgpack.Encoder().encode
decode_reply = msgspec.msgpack.Decoder(messages.Reply).decode


def payload_of(cargo: Cargo) -> memoryview:
    return memoryview(b"".join(bytes(part) for part in cargo.payload))


def there_and_back(tensor: torch.Tensor) -> torch.Tensor:
    cargo = Cargo()
    cargo.add(tensor)
    return decode(cargo.heads, payload_of(cargo))[0]


def described(value: object) -> object:
    """What the judge makes of a value that a guest returns."""
    cargo = Cargo()
    describer = Describer(cargo, lambda module: wire.ModuleValue(7, type(module).__name__))
    message = encode_message(describer.value(value))
    received = msgspec.msgpack.Decoder(wire.Value).decode(message)
    return incoming(received, decode(cargo.heads, payload_of(cargo)), lambda module: module)


class TestTensors:
    @pytest.mark.parametrize("name", sorted(DTYPES))
    def test_every_dtype_arrives_to_the_bit(self, name: str) -> None:
        tensor = (torch.arange(-6, 6).reshape(3, 4) * 37).to(DTYPES[name][0])
        back = there_and_back(tensor)
        assert back.dtype == tensor.dtype
        assert torch.equal(back, tensor)

    @given(shape=st.lists(st.integers(0, 4), max_size=5), seed=st.integers(0, 99))
    def test_every_shape_arrives(self, shape: list[int], seed: int) -> None:
        tensor = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
        back = there_and_back(tensor)
        assert back.shape == tensor.shape
        assert torch.equal(back, tensor)

    @pytest.mark.parametrize(
        "tensor",
        [
            torch.arange(12.0).reshape(3, 4).t(),
            torch.arange(12.0)[1::2],
            torch.ones(1, 3).expand(5, 3),
            torch.ones(3, dtype=torch.complex64).mul(1j).conj(),
            torch.ones(3, dtype=torch.complex64).mul(1j).conj().imag,
            torch.ones(2, 2, requires_grad=True) * 2,
            torch.nn.Parameter(torch.ones(2)),
            torch.arange(300_000),
            torch.tensor([float("nan"), float("inf"), -0.0]),
        ],
        ids=lambda tensor: "x".join(map(str, tensor.shape)) + str(tensor.dtype)[5:],
    )
    def test_a_view_arrives_as_the_numbers_it_shows(self, tensor: torch.Tensor) -> None:
        back = there_and_back(tensor)
        assert torch.equal(back.nan_to_num(7), tensor.detach().nan_to_num(7))
        assert not back.requires_grad

    def test_a_subclass_that_lies_is_seen_through(self) -> None:
        class Liar(torch.Tensor):
            @classmethod
            def __torch_function__(cls, *args: object, **kwargs: object) -> object:
                return True

            @property
            def shape(self) -> object:  # type: ignore[override]
                return (99,)

        liar = torch.arange(3.0).as_subclass(Liar)
        assert torch.equal(there_and_back(liar), torch.arange(3.0))

    @pytest.mark.parametrize(
        "tensor",
        [
            torch.ones(3, device="meta"),
            torch.eye(3).to_sparse(),
            torch.zeros(1).expand(1 << 23, 1 << 10),
            torch.zeros(1).expand(1 << 25),
            torch.zeros([1] * 9),
            torch.ones(2).to(torch.float8_e4m3fn),
        ],
        ids=["meta", "sparse", "claims a lot", "one long side", "nine dimensions", "odd type"],
    )
    def test_what_holds_no_plain_numbers_is_refused(self, tensor: torch.Tensor) -> None:
        with pytest.raises(CannotTravel):
            encode(tensor)

    def test_a_bool_is_true_once_whatever_its_byte(self) -> None:
        head = wire.TensorHead("bool", (3,))
        back = decode([head], memoryview(bytes([0, 1, 2])))[0]
        assert back.tolist() == [False, True, True]
        assert int(back.sum()) == 2

    @pytest.mark.parametrize(
        ("head", "size"),
        [
            (wire.TensorHead("float32", (3,)), 11),
            (wire.TensorHead("float32", (3,)), 13),
            (wire.TensorHead("float32", (3,)), 0),
            (wire.TensorHead("float999", (3,)), 12),
            (wire.TensorHead("float32", (1 << 24, 1 << 24, 1 << 24)), 0),
            (wire.TensorHead("float32", (1 << 24,) * 8), 4),
            (wire.TensorHead("float32", (0,) + (1 << 24,) * 7), 4),
        ],
    )
    def test_bytes_that_do_not_fit_exactly_are_refused(
        self, head: wire.TensorHead, size: int
    ) -> None:
        with pytest.raises(Broken):
            decode([head], memoryview(bytes(size)))

    def test_an_empty_tensor_of_huge_other_sides_is_empty_or_refused(self) -> None:
        head = wire.TensorHead("float32", (0,) + (1 << 24,) * 7)
        try:
            back = decode([head], memoryview(b""))[0]
        except Broken:
            return
        assert back.numel() == 0


class TestValues:
    @pytest.mark.parametrize("value", [None, True, False, 3, -(2**40), 2.5, "text", [1, [2.0]]])
    def test_a_plain_value_arrives_as_it_is(self, value: object) -> None:
        assert described(value) == value
        assert type(described(value)) is type(value)

    def test_a_number_that_is_equal_to_all_arrives_as_its_number(self) -> None:
        class Yes(float):
            def __eq__(self, other: object) -> bool:
                return True

            def __hash__(self) -> int:
                return 0

            def __float__(self) -> float:
                return 1.0

        back = described(Yes(2.5))
        assert type(back) is float
        assert back == 2.5
        assert back != 1.0

    def test_a_list_that_lies_of_its_items_arrives_with_them(self) -> None:
        class Liar(list):  # type: ignore[type-arg]
            def __iter__(self) -> object:  # type: ignore[override]
                return iter(["lie"])

            def __len__(self) -> int:
                return 1

        assert described(Liar([1, 2])) == [1, 2]

    def test_a_tuple_arrives_as_a_list(self) -> None:
        back = described((torch.ones(2), "weights"))
        assert isinstance(back, list)
        assert torch.equal(back[0], torch.ones(2))
        assert back[1] == "weights"

    def test_an_object_is_described_with_its_tensors(self) -> None:
        class Output:
            def __init__(self) -> None:
                self.context = torch.ones(2)
                self.note = "x"

            def __getattr__(self, name: str) -> object:
                raise RuntimeError("nobody should ask")

        back = described(Output())
        assert isinstance(back, Opaque)
        assert back.type_name == "Output"
        assert list(back.parts) == ["context"]

    def test_an_object_that_claims_to_be_a_tensor_is_none(self) -> None:
        class Pretender:
            __class__ = torch.Tensor  # type: ignore[assignment]

        back = described(Pretender())
        assert isinstance(back, Opaque)
        assert back.type_name == "Pretender"

    def test_a_class_that_claims_every_ancestor_has_its_own(self) -> None:
        class Claims(type):
            def __eq__(cls, other: object) -> bool:
                return True

            def __hash__(cls) -> int:
                return 0

            def mro(cls) -> list[type]:
                return [cls, *object.mro()]

            def __subclasscheck__(cls, other: type) -> bool:
                return True

        class Impostor(metaclass=Claims):
            pass

        back = described(Impostor())
        assert isinstance(back, Opaque)
        assert back.type_name == "Impostor"

    def test_a_meta_tensor_is_told_by_shape_and_device(self) -> None:
        back = described(torch.ones(2, 3, device="meta"))
        assert isinstance(back, Opaque)
        assert (back.shape, back.dtype, back.device) == ((2, 3), "float32", "meta")

    def test_a_list_within_itself_ends_somewhere(self) -> None:
        endless: list[object] = []
        endless.append(endless)
        assert "nested too deeply" in repr(described(endless))

    def test_control_codes_are_stripped(self) -> None:
        assert described("\x1b[31mred\x00\u202e") == "[31mred"

    def test_lone_surrogates_are_sent_as_question_marks(self) -> None:
        assert described("a\ud800b") == "a?b"

    def test_a_number_too_large_for_the_wire_is_described(self) -> None:
        assert isinstance(described(10**30), Opaque)


def pair(max_message: int = 1000, max_payload: int = 1000) -> tuple[socket.socket, Channel]:
    """A raw end to write nonsense to, and a channel that has to read it."""
    raw, other = socket.socketpair()
    other.settimeout(5)
    return raw, Channel(other, max_message, max_payload)


class TestFrames:
    def test_a_frame_arrives_whole(self) -> None:
        raw, channel = pair()
        Channel(raw, 1000, 1000).send(b"message", [b"ab", memoryview(b"cd")])
        message, payload = channel.receive()
        assert (bytes(message), bytes(payload)) == (b"message", b"abcd")

    def test_a_frame_in_pieces_arrives_whole(self) -> None:
        raw, channel = pair()
        data = PREFIX.pack(3, 2) + b"abcde"
        for place in range(len(data)):
            raw.sendall(data[place : place + 1])
        message, payload = channel.receive()
        assert (bytes(message), bytes(payload)) == (b"abc", b"de")

    def test_a_large_frame_arrives_whole(self) -> None:
        sender, receiver = socket.socketpair()
        sender.setblocking(False)
        parts = [bytes([number % 256]) * 1000 for number in range(600)]
        inbox: list[bytes] = []

        def wait(writing: bool) -> None:
            inbox.append(receiver.recv(1 << 20))

        Channel(sender, 1 << 20, 1 << 20, wait).send(b"m", parts)
        sender.close()
        while piece := receiver.recv(1 << 20):
            inbox.append(piece)
        assert b"".join(inbox) == PREFIX.pack(1, 600_000) + b"m" + b"".join(parts)

    def test_lengths_are_refused_before_anything_is_read(self) -> None:
        raw, channel = pair()
        raw.sendall(PREFIX.pack(1 << 31, 0))
        with pytest.raises(Broken, match="a message of"):
            channel.receive()

    def test_a_payload_of_exabytes_is_refused(self) -> None:
        raw, channel = pair()
        raw.sendall(PREFIX.pack(1, 1 << 62))
        with pytest.raises(Broken, match="bytes of tensors"):
            channel.receive()

    def test_bytes_after_the_frame_are_refused(self) -> None:
        raw, channel = pair()
        raw.sendall(PREFIX.pack(1, 0) + b"mx")
        with pytest.raises(Broken, match="after the frame"):
            channel.receive()

    @pytest.mark.parametrize("data", [b"", b"\x01", PREFIX.pack(5, 0), PREFIX.pack(5, 0) + b"abc"])
    def test_a_half_frame_is_an_end(self, data: bytes) -> None:
        raw, channel = pair()
        raw.sendall(data)
        raw.close()
        with pytest.raises(Ended):
            channel.receive()

    def test_a_deadline_is_asked_for_before_each_read(self) -> None:
        raw, other = socket.socketpair()
        other.setblocking(False)

        def wait(writing: bool) -> None:
            raise TimeoutError

        with pytest.raises(TimeoutError):
            Channel(other, 10, 10, wait).receive()
        raw.close()


class TestReplies:
    @pytest.mark.parametrize(
        "reply",
        [
            [1, [[99]], []],
            [1, [[3]], []],
            [-1, [[1]], []],
            ["1", [[1]], []],
            [1, [[1, "more"]], []],
            [1, [[1]], [], "more"],
            [1, [[1]], [["float32", [-1]]]],
            [1, [[1]], [["float32", [1] * 9]]],
            [1, [[1]], [["float32", [1 << 40]]]],
            [1, [[0, "k", "t" * 5000, False]], []],
            [1, [[3, {"a": 1}]], []],
            {"id": 1},
            None,
        ],
    )
    def test_only_a_well_formed_reply_is_decoded(self, reply: object) -> None:
        with pytest.raises(msgspec.DecodeError):
            decode_reply(encode_message(reply))

    def test_a_tensor_that_was_not_sent_is_refused(self) -> None:
        with pytest.raises(Broken, match="not sent"):
            incoming(wire.TensorValue(0), [], lambda module: None)

    def test_a_value_nested_deeper_than_any_guest_nests_is_refused(self) -> None:
        value: wire.Value = 1
        for _ in range(100):
            value = wire.Many([value])
        with pytest.raises(Broken, match="too deeply"):
            incoming(value, [], lambda module: None)

    def test_bottomless_nesting_is_refused(self) -> None:
        data = b"\x93\x01\x91\x92\x03" + b"\x92\x01\x91" * 100_000 + b"\xc0" + b"\x90"
        with pytest.raises((msgspec.DecodeError, RecursionError)):
            decode_reply(data)

    @given(st.binary(max_size=200))
    def test_noise_raises_nothing_unexpected(self, data: bytes) -> None:
        try:
            reply = decode_reply(data)
            decode(reply.tensors, memoryview(data))
        except (msgspec.DecodeError, RecursionError, Broken):
            return
        assert isinstance(reply, messages.Reply)

    @given(st.integers(0, 60), st.integers(0, 255))
    def test_a_changed_byte_is_refused_or_read_as_another_value(
        self, place: int, byte: int
    ) -> None:
        good = encode_message(
            messages.Reply(
                4,
                ((messages.Answer(wire.Many([wire.TensorValue(0), wire.Text("weights")])),),),
                (wire.TensorHead("float32", (2, 3)),),
            )
        )
        data = bytearray(good)
        data[place % len(data)] = byte
        try:
            reply = decode_reply(bytes(data))
            tensors = decode(reply.tensors, memoryview(bytes(24)))
            for outcome in (each for part in reply.parts for each in part):
                if isinstance(outcome, messages.Answer):
                    incoming(outcome.value, tensors, lambda module: None)
        except (msgspec.DecodeError, RecursionError, Broken):
            return
        assert len(reply.tensors) == len(tensors)
