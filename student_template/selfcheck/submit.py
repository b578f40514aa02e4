"""Makes the zip to hand in, and says what of it will be graded.

Work is read by the grader's own rules. What is handed in: the package, notebooks with work in
them, and every other file that these import or that alone has one of the names.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .course import ROOT, course
from .reading.definitions import Definition, Definitions, Raises
from .reading.files import Broken, File, Files, read
from .reading.search import Wanted, search
from .reading.sources import is_ignored
from .reading.spelling import folded

EPOCH = (1980, 1, 1, 0, 0, 0)  # the same work gives the same zip
MEGABYTE = 1_000_000
LARGEST = {".py": 20 * MEGABYTE, ".ipynb": 100 * MEGABYTE}  # what is larger is not graded
MOST = 2_000  # files that are looked at; more are no work, and would take long


@dataclass(frozen=True, slots=True)
class Lost:
    """A name that is written and will not count, with where and why."""

    name: str
    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Submission:
    """The zip, what is in it, and how it stands with each name."""

    zip: Path
    files: tuple[str, ...]
    written: dict[str, Definition]  # by the name that it will be graded as
    stubs: dict[str, Definition]
    missing: tuple[str, ...]
    lost: tuple[Lost, ...]
    unreadable: tuple[str, ...]
    broken: tuple[Broken, ...]

    @property
    def loses(self) -> bool:
        """Whether anything that was written, or was there as a stub, will not count."""
        return bool(self.lost or self.unreadable or self.broken or self.missing)


def submit() -> Submission:
    """Look through the work, make the zip, and tell what will be graded."""
    unreadable: list[str] = []
    contents = dict(_contents(unreadable))
    everything = list(_read(contents, unreadable))
    chosen = _handed_in(everything)
    files = Files(chosen)
    definitions = Definitions(files)
    wanted = _wanted()
    found = search(wanted, definitions.found)
    written = {name: each for name, each in found.items() if not each.stub}
    stubs = {name: each for name, each in found.items() if each.stub}
    missing = tuple(each.name for each in wanted if each.name not in found)
    broken = tuple(each for file in chosen for each in file.broken)
    raises = tuple(definitions.raises)
    lost = tuple(_lost([*stubs, *missing], broken, raises))
    target = ROOT / f"{course().package}.zip"
    paths = tuple(file.path for file in chosen)
    _pack(target, {path: contents[path] for path in paths})
    told = {each.name for each in lost}
    left = {name: each for name, each in stubs.items() if name not in told}
    gone = tuple(name for name in missing if name not in told)
    return Submission(target, paths, written, left, gone, lost, tuple(unreadable), broken)


def _wanted() -> list[Wanted]:
    return [
        Wanted(name.name, name.kind, stage.module)
        for stage in course().stages
        for name in stage.names
    ]


def _contents(unreadable: list[str]) -> Iterator[tuple[str, bytes]]:
    """Every module and notebook in the folder that could be work, by its path."""
    seen = 0
    for folder, folders, names in os.walk(ROOT):
        inner = Path(folder).relative_to(ROOT)
        folders[:] = sorted(
            each for each in folders if not is_ignored((inner / each / "x.py").as_posix())
        )
        for name in sorted(names):
            path = (inner / name).as_posix()
            largest = LARGEST.get(Path(name).suffix.lower())
            if largest is None or is_ignored(path):
                continue
            seen += 1
            if seen > MOST:
                unreadable.append(f"more than {MOST} files: only the first were looked at")
                return
            try:
                data = (ROOT / path).read_bytes()
            except OSError as error:
                unreadable.append(f"{path} cannot be read ({error.strerror})")
                continue
            if len(data) > largest:
                size = f"{len(data) / MEGABYTE:.1f} MB, at most {largest / MEGABYTE:.0f} MB"
                unreadable.append(f"{path} is too large to be read ({size})")
            else:
                yield path, data


def _read(contents: dict[str, bytes], unreadable: list[str]) -> Iterator[File]:
    for path, data in contents.items():
        try:
            yield read(path, data)
        except (ValueError, RecursionError):
            unreadable.append(f"{path} is not a notebook, or was cut off")


def _handed_in(everything: Sequence[File]) -> list[File]:
    """The files that go into the zip, of all that are there."""
    wanted = _wanted()
    names = {folded(each.name) for each in wanted}
    package = [file for file in everything if file.path.startswith(f"{course().package}/")]
    others = [file for file in everything if file not in package]
    files = Files(everything)
    definitions = Definitions(files)
    inner = {file.path for file in package}
    done = search(wanted, [each for each in definitions.found if each.path in inner])
    left = [each for each in wanted if each.name not in done or done[each.name].stub]
    here = search(left, [each for each in definitions.found if each.path not in inner])
    graded = {each.path for each in here.values() if not each.stub}
    for file in others:
        has = any(folded(name) in names for each in file.broken for name in each.names)
        work = any(
            each.path == file.path and not each.stub and folded(each.name) in names
            for each in definitions.found
        )
        wrote = any(each.path in graded for each in file.writes)
        if file.path in graded or wrote or (file.is_notebook and (has or work)):
            package.append(file)
    there = {file.path for file in everything}  # what a cell writes is no file of its own
    return [file for file in files.needed_by(package) if file.path in there]


def _lost(
    names: Sequence[str], broken: Sequence[Broken], raises: Sequence[Raises]
) -> Iterator[Lost]:
    """The names that stand in lines which do not count."""
    for name in names:
        for each in broken:
            if name in each.names:
                yield Lost(name, each.where, f"is not Python yet: {each.message}")
                break
        else:
            for other in raises:
                if other.name == name:
                    why = f"raises: `{other.unknown}` is not defined there"
                    yield Lost(name, other.where, why)
                    break


def _pack(target: Path, contents: dict[str, bytes]) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in contents.items():
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
