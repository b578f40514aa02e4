"""Work in containers that no honest tool makes. Each builder returns what it built."""

from __future__ import annotations

import io
import json
import os
import socket
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

#: The honest part of each: one function right, one wrong.
MODULE = b"""import torch


def attention_scores(query, inputs):
    return inputs @ query


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)
"""
GRAB = b"open('/tmp/left-by-attack-container', 'w').close()\n"
BAD = "=1+1\x1b[31m<script>alert(1)</script>"
NAME = "attention/simplified.py"


def _archive(
    folder: Path, entries: list[tuple[str | zipfile.ZipInfo, bytes]], packed: bool = True
) -> Path:
    path = folder / "work.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as made:
        for name, data in entries:
            made.writestr(name, data)
    return path


def zip_slip(folder: Path) -> Path:
    """Names that lead out."""
    outside = ["../../left-by-attack", "a/../../left-by-attack", "..\\..\\left-by-attack"]
    return _archive(folder, [(NAME, MODULE), *[(f"{name}.py", GRAB) for name in outside]])


def absolute_names(folder: Path) -> Path:
    """Names that begin at the root."""
    names = ["/tmp/left-by-attack.py", "C:\\left-by-attack.py", "//left/by/left-by-attack.py"]
    return _archive(folder, [(NAME, MODULE), *[(name, GRAB) for name in names]])


def zip_links(folder: Path) -> Path:
    """Symbolic links within the archive."""
    entries: list[tuple[str | zipfile.ZipInfo, bytes]] = [(NAME, MODULE)]
    for number, target in enumerate((b"/etc/passwd", b"../../results/gradebook.sqlite", b"/")):
        link = zipfile.ZipInfo(f"attention/link{number}.py")
        link.create_system = 3
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        entries.append((link, target))
    return _archive(folder, entries)


def zip_bomb(folder: Path) -> Path:
    """A thousand to one."""
    zeros = bytes(1_900_000)
    return _archive(folder, [(NAME, MODULE), *[(f"a/{n}.py", zeros) for n in range(20)]])


def overlapping_zip(folder: Path) -> Path:
    """Many entries in the directory, one stretch of data."""
    path = _archive(folder, [("a.py", bytes(1_000_000)), ("z.py", MODULE)])
    data = path.read_bytes()
    start = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entry = data[start : data.index(b"PK\x01\x02", start + 4)]
    directory = b"".join(entry.replace(b"a.py", b"%04d" % n) for n in range(250))
    tail = bytearray(data[end:])
    struct.pack_into("<HHI", tail, 8, 250, 250, len(directory))
    path.write_bytes(data[:start] + directory + bytes(tail))
    return path


def nested_zips(folder: Path) -> Path:
    """An archive in an archive in an archive."""
    inner = b""
    for _ in range(8):
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as made:
            made.writestr("inner.zip", inner or bytes(1_000_000))
            made.writestr("evil.py", GRAB)
        inner = held.getvalue()
    return _archive(folder, [(NAME, MODULE), ("inner.zip", inner)])


def encrypted_zip(folder: Path) -> Path:
    """The bit that says that a password is needed."""
    path = _archive(folder, [(NAME, MODULE)])
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(data))
    return path


def many_entries(folder: Path) -> Path:
    """A hundred thousand names."""
    path = folder / "work.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(NAME, MODULE)
    data = path.read_bytes()
    start, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    many = 100_000
    tail = bytearray(data[end:])
    struct.pack_into("<HHI", tail, 8, many & 0xFFFF, many & 0xFFFF, many * (end - start))
    path.write_bytes(data[:start] + data[start:end] * many + bytes(tail))
    return path


def false_sizes(folder: Path) -> Path:
    """The directory tells of ten bytes where there are millions."""
    path = _archive(folder, [("a.py", bytes(50_000_000))])
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, 10)
    path.write_bytes(bytes(data))
    return path


def odd_names(folder: Path) -> Path:
    """Codes, formulas, markup, and bytes that are no UTF-8."""
    names = [f"{BAD}.py", "caf\xe9.py", "a\nb.py", "\u202etxt.py", "aux.py", "x" * 220 + ".py"]
    path = _archive(folder, [(NAME, MODULE), *[(name, b"") for name in names], ("QQQQ.py", b"")])
    path.write_bytes(path.read_bytes().replace(b"QQQQ.py", b"\xff\xfe\x80Q.py"))
    return path


def colliding_names(folder: Path) -> Path:
    """The same name twice, and in other cases."""
    entries: list[tuple[str | zipfile.ZipInfo, bytes]] = [(NAME, MODULE)]
    entries += [(name, MODULE) for name in ("Attention/Simplified.py", "ATTENTION/SIMPLIFIED.PY")]
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _archive(folder, [*entries, (NAME, MODULE), (f"./{NAME}", MODULE)])


def mac_leftovers(folder: Path) -> Path:
    """What other systems put beside the work."""
    names = [f"__MACOSX/._{NAME}", "__MACOSX/x.py", ".DS_Store", ".git/hooks.py", ".idea/y.py"]
    return _archive(folder, [(NAME, MODULE), *[(name, GRAB + b"\x00\x05") for name in names]])


def cut_zip(folder: Path) -> Path:
    """Half of an archive."""
    path = _archive(folder, [(NAME, MODULE * 50)])
    path.write_bytes(path.read_bytes()[:200] + b"PK\x05\x06" + bytes(18))
    return path


def folder_of_links(folder: Path) -> Path:
    """Links to files and folders elsewhere."""
    work = _folder(folder)
    for name, target in (
        ("gradebook.py", "/tmp/attack-canary/results/gradebook.sqlite"),
        ("passwd.py", "/etc/passwd"),
        ("round", "."),
        ("everything", "/proc"),
        ("zero.py", "/dev/zero"),
    ):
        (work / "attention" / name).symlink_to(target)
    return work


def pipes_and_devices(folder: Path) -> Path:
    """What blocks or never ends when it is read."""
    work = _folder(folder)
    os.mkfifo(work / "attention" / "pipe.py")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(work / "s.py"))
    return work


def _folder(folder: Path) -> Path:
    work = folder / "work"
    (work / "attention").mkdir(parents=True)
    (work / NAME).write_bytes(MODULE)
    return work


def _file(folder: Path, name: str, data: bytes) -> Path:
    (folder / name).write_bytes(data)
    return folder / name


def _notebook(folder: Path, cells: object) -> Path:
    told = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return _file(folder, "work.ipynb", json.dumps(told).encode())


def no_json(folder: Path) -> Path:
    """A page instead of a notebook."""
    return _file(folder, "work.ipynb", b"<html>You are not logged in</html>\x00\xff")


def deep_json(folder: Path) -> Path:
    """Brackets without end."""
    return _file(folder, "work.ipynb", b'{"cells": ' + b"[" * 1_000_000)


def huge_outputs(folder: Path) -> Path:
    """More outputs than a notebook may have."""
    output = [{"output_type": "stream", "name": "stdout", "text": "x" * 6_000_000}]
    cell = {"cell_type": "code", "source": MODULE.decode(), "outputs": output}
    return _notebook(folder, [cell])


def odd_cells(folder: Path) -> Path:
    """Cells of other kinds than the format has."""
    return _notebook(folder, [7, None, [], {"cell_type": "code", "source": {"a": 1}}, "code"])


def line_ends(folder: Path) -> Path:
    """A module as an old editor leaves it."""
    return _file(folder, "work.py", b"\xef\xbb\xbf\x0c" + MODULE.replace(b"\n", b"\r\n"))


def null_bytes(folder: Path) -> Path:
    """A module that is no text."""
    return _file(folder, "work.py", MODULE + b"\x00" * 100)


def invalid_utf8(folder: Path) -> Path:
    """A module whose encoding is not there."""
    return _file(folder, "work.py", b"# -*- coding: rot13-of-\xff -*-\n" + MODULE + b"\xff\xfe\x80")


def surrogates(folder: Path) -> Path:
    """Half characters in JSON."""
    data = (
        b'{"cells": [{"cell_type": "code", "source": "x = \\"\\ud800\\"\\nraise ValueError(x)"}]}'
    )
    return _file(folder, "work.ipynb", data)


def hostile_name(folder: Path) -> Path:
    """A name to be shown in a table, on a page and in a spreadsheet."""
    return _file(folder, f"{BAD.replace('/', '')}\u202e.py", MODULE)


def hostile_refusal(folder: Path) -> Path:
    """The same of work that cannot be read, so that its name stands in a message."""
    return _file(folder, f"{BAD.replace('/', '')}\n-2+3\u2066.zip", b"no zip")


BUILDERS: dict[str, Callable[[Path], Path]] = {
    made.__name__: made
    for made in (
        zip_slip,
        absolute_names,
        zip_links,
        zip_bomb,
        overlapping_zip,
        nested_zips,
        encrypted_zip,
        many_entries,
        false_sizes,
        odd_names,
        colliding_names,
        mac_leftovers,
        cut_zip,
        folder_of_links,
        pipes_and_devices,
        no_json,
        deep_json,
        huge_outputs,
        odd_cells,
        line_ends,
        null_bytes,
        invalid_utf8,
        surrogates,
        hostile_name,
        hostile_refusal,
    )
}
