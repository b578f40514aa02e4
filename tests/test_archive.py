"""Zip archives: hostile, damaged and odd ones."""

import io
import stat
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.assignment.assignment import Limits
from autograder.submissions.archive import read_archive
from autograder.submissions.intake import Intake, Unreadable

LIMITS = Limits()


def packed(
    *members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return file.getvalue()


def unpacked(data: bytes, folder: Path, limits: Limits = LIMITS) -> dict[str, bytes]:
    (folder / "work.zip").write_bytes(data)
    intake = Intake("work.zip", limits)
    read_archive(folder / "work.zip", intake)
    return {member.path: member.data for member in intake.members()}


def with_mode(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def test_members_are_read_with_their_bytes(tmp_path: Path) -> None:
    data = packed(("attention/causal.py", b"x = 1\r\n"), ("attention/empty.py", b""))
    assert unpacked(data, tmp_path) == {
        "attention/causal.py": b"x = 1\r\n",
        "attention/empty.py": b"",
    }


def test_what_is_ignored_is_never_unpacked(tmp_path: Path) -> None:
    link = with_mode("venv/bin/python", stat.S_IFLNK | 0o777)
    data = packed(("a.py", b"1"), (link, b"/usr/bin/python"), ("__MACOSX/._a.py", b"0"))
    assert unpacked(data, tmp_path) == {"a.py": b"1"}


@pytest.mark.parametrize(
    ("member", "message"),
    [
        ("../a.py", r"leads out of the hand-in \(\.\.\): \.\./a\.py"),
        ("attention/../../a.py", "leads out"),
        ("..\\a.py", "leads out"),
        ("/etc/a.py", "an absolute name: /etc/a.py"),
        ("\\\\server\\a.py", "an absolute name"),
        ("C:\\a.py", "an absolute name"),
        (with_mode("a.py", stat.S_IFLNK | 0o777), "a.py is a link"),
        (with_mode("a.py", stat.S_IFIFO | 0o666), "a.py is no ordinary file"),
        (with_mode("a.py", stat.S_IFCHR | 0o666), "a.py is no ordinary file"),
        ("x" * 2000 + ".py", "a name of 2003 characters"),
    ],
)
def test_a_member_that_reaches_out_of_the_archive_is_refused(
    tmp_path: Path, member: str | zipfile.ZipInfo, message: str
) -> None:
    with pytest.raises(Unreadable, match=f"^work.zip: .*{message}"):
        unpacked(packed((member, b"/etc/passwd")), tmp_path)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="a.py would unpack to 10.. times its size"):
        unpacked(packed(("a.py", bytes(19_000_000))), tmp_path)


def test_many_members_that_are_small_alone_are_refused_together(tmp_path: Path) -> None:
    data = packed(*[(f"{number}.py", b"x = 1\n" * 50_000) for number in range(10)], method=0)
    with pytest.raises(Unreadable, match="more than 2 MB in all"):
        unpacked(data, tmp_path, Limits(max_total_mb=2))


def test_a_hundred_thousand_members_are_refused_before_they_are_listed(tmp_path: Path) -> None:
    data = packed(*[(str(number), b"") for number in range(100_000)], method=zipfile.ZIP_STORED)
    with pytest.raises(Unreadable, match="too many members"):
        unpacked(data, tmp_path)


def test_an_encrypted_archive_says_what_to_do(tmp_path: Path) -> None:
    data = bytearray(packed(("a.py", b"x = 1")))
    directory = data.index(b"PK\x01\x02")
    data[6] |= 1
    data[directory + 8] |= 1
    with pytest.raises(Unreadable, match="encrypted; zip it again without a password"):
        unpacked(bytes(data), tmp_path)


def test_a_method_that_asks_for_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="packed in an unusual way"):
        unpacked(packed(("a.py", b"x = 1"), method=zipfile.ZIP_LZMA), tmp_path)


def test_a_member_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    data = bytearray(packed(("a.py", b"x = 1\n" * 100)))
    directory = data.index(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = struct.pack("<I", 10)
    with pytest.raises(Unreadable, match="damaged"):
        unpacked(bytes(data), tmp_path)


def test_a_damaged_member_is_refused(tmp_path: Path) -> None:
    data = bytearray(packed(("a.py", b"x = 1"), method=zipfile.ZIP_STORED))
    data[data.index(b"x = 1")] ^= 0xFF
    with pytest.raises(Unreadable, match="a damaged one"):
        unpacked(bytes(data), tmp_path)


def test_a_name_in_utf_8_is_read_though_the_archive_does_not_say_so(tmp_path: Path) -> None:
    data = packed(("zoë.py", b"1"))
    marked = data.replace(b"\x00\x08\x08\x00", b"\x00\x00\x08\x00")  # the flag of UTF-8 names
    assert list(unpacked(marked, tmp_path)) == ["zoë.py"]


def test_backslashes_part_folders(tmp_path: Path) -> None:
    assert list(unpacked(packed(("attention\\causal.py", b"1")), tmp_path)) == [
        "attention/causal.py"
    ]


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="work.zip: not a zip archive"):
        unpacked(b"hello", tmp_path)


@given(data=st.binary(max_size=200))
def test_random_bytes_give_one_line(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(Unreadable, match=r"^work.zip: [^\n]+$"):
        unpacked(data, tmp_path_factory.mktemp("random"))


VALID = packed(("attention/causal.py", b"x = 1\n" * 50), ("b.ipynb", b'{"cells": []}'))


@given(
    changes=st.lists(
        st.tuples(st.integers(0, len(VALID) - 1), st.integers(0, 255)), min_size=1, max_size=8
    ),
    cut=st.integers(0, 40),
)
def test_a_mutated_archive_is_read_or_refused_with_one_line(
    changes: list[tuple[int, int]], cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = bytearray(VALID)
    for position, value in changes:
        data[position] = value
    try:
        members = unpacked(bytes(data[: len(data) - cut]), tmp_path_factory.mktemp("mutated"))
    except Unreadable as error:
        assert "\n" not in str(error)
    else:
        assert all(isinstance(content, bytes) for content in members.values())
