"""The zip that Gradescope builds its image from: the kit, the course, two scripts.

Everything that is fetched is pinned to the version that this kit runs with where the bundle is
built. The same sources give the same bytes.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from autograder.assignment.assignment import FILE_NAME, PACKAGE, Assignment
from autograder.assignment.secret import secret_file
from autograder.assignment.subject import subject_files
from autograder.errors import InternalError
from autograder.platforms.gradescope import KIT, Settings
from autograder.release.built import Files
from autograder.sandbox.host.ladder import wished

DISTRIBUTION = "attention-autograder"
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
COURSE = "course"
# Not needed for grading, or compiled by other versions of Python.
LEFT_OUT = ("__pycache__", "_assignments", "solutions", "student_template")
EXECUTABLE = ("run_autograder", "setup.sh")
SECRET = "secret"

_SETUP = """\
#!/bin/sh
# Runs once, when the image is built. The platform's own Python is left alone.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")

python=
for each in python3.13 python3.12 python3.11 python3; do
    if "$each" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))'; then
        python=$each
        break
    fi
done 2>/dev/null
if [ -z "$python" ]; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q
    apt-get install -y -q --no-install-recommends python3.11 python3.11-venv
    python=python3.11
fi

"$python" -m venv "$root/python"
pip() {{ "$root/python/bin/python" -m pip install --quiet --no-cache-dir --no-deps "$@"; }}
pip --index-url {index} torch=={torch}
pip -r "$here/requirements.txt"
"""

_RUN = """\
#!/bin/sh
# Runs for every submission, as root; what a student wrote runs as nobody else, behind the wall.
root=$(cd "$(dirname "$0")" && pwd)
chmod -R go= "$root/source" "$root/results"
export PYTHONPATH="$root/source/kit" PYTHONDONTWRITEBYTECODE=1
unset AUTOGRADER_SECRET_FILE
cd "$root/source" || cd /
"$root/python/bin/python" -P -m autograder.platforms.gradescope "$root"
if [ ! -s "$root/results/results.json" ]; then
    cat > "$root/results/results.json" <<'END'
{
  "score": 0,
  "output": "Your work has not been graded. The autograder could not start, which is no fault of\
 yours, and the 0 shown here does not count. Please tell your teacher.",
  "visibility": "visible",
  "stdout_visibility": "hidden",
  "extra_data": {"kit_failed": true}
}
END
fi
exit 0  # a result was written, whatever it says
"""


def bundle_files(
    assignment: Assignment, isolation: str | None = None, leaderboard: bool = False
) -> Files:
    """Everything in the zip.

    Args:
        assignment: The assignment; its secret goes in, if there is one.
        isolation: The level that the bundle asks for; None for the best.
        leaderboard: Whether Gradescope shows a leaderboard.

    Returns:
        Contents by path, sorted.

    Raises:
        UsageError: There is no such level of isolation.
        InternalError: A requirement is not installed, so its version cannot be pinned.
    """
    if isolation is not None:
        wished(isolation)  # UsageError for an unknown level
    pins = dict(pinned(DISTRIBUTION))
    torch = pins.pop("torch")
    top = Path(os.path.commonpath([assignment.folder, assignment.solutions]))
    folder = f"{KIT}/{COURSE}/{assignment.folder.relative_to(top).as_posix()}".removesuffix("/.")
    solutions = f"{KIT}/{COURSE}/{assignment.solutions.relative_to(top).as_posix()}"
    settings = {"assignment": folder, "isolation": isolation, "leaderboard": leaderboard}
    files = {
        "setup.sh": _SETUP.format(index=TORCH_INDEX, torch=torch).encode(),
        "run_autograder": _RUN.encode(),
        "requirements.txt": "".join(f"{name}=={pin}\n" for name, pin in pins.items()).encode(),
        "settings.json": msgspec.json.encode(msgspec.convert(settings, Settings)),
        f"{folder}/{FILE_NAME}": (assignment.folder / FILE_NAME).read_bytes(),
    }
    for stage in assignment.stages:
        inner = stage.handout.relative_to(assignment.folder).as_posix()
        files[f"{folder}/{inner}"] = stage.handout.read_bytes()
    for path, file in subject_files(assignment).items():
        if not file.is_relative_to(PACKAGE):  # what lies in the assignment's folder, or elsewhere
            files[f"{folder}/{path}"] = file.read_bytes()
    files |= _tree(assignment.solutions, solutions)
    files |= _tree(PACKAGE, f"{KIT}/{PACKAGE.name}")
    secret = secret_file(assignment)
    if secret is not None:
        files[f"{folder}/{SECRET}"] = secret.read_bytes()
    return dict(sorted(files.items()))


def bundle(files: Files) -> bytes:
    """Pack the files; the two scripts are executable, the secret is readable to its owner only."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            mode = 0o755 if name in EXECUTABLE else 0o600 if name.endswith(f"/{SECRET}") else 0o644
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return data.getvalue()


def pinned(distribution: str) -> Iterator[tuple[str, str]]:
    """All requirements of a distribution on Linux, direct and indirect.

    Yields:
        Names and the versions that are installed, sorted.

    Raises:
        InternalError: One is not installed.
    """
    found: dict[str, str] = {}
    waiting = [Requirement(each) for each in requires(distribution) or ()]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
            continue
        if name in found:
            continue
        try:
            found[name] = version(name).partition("+")[0]  # without a build's own mark
        except PackageNotFoundError:
            raise InternalError(
                f"{name} is not installed here, so its version cannot be pinned"
            ) from None
        waiting += [Requirement(each) for each in requires(name) or ()]
        for extra in wanted.extras:
            waiting += [
                Requirement(each)
                for each in requires(name) or ()
                if (marker := Requirement(each).marker) and marker.evaluate({"extra": extra})
            ]
    yield from sorted(found.items())


def _tree(folder: Path, name: str) -> dict[str, bytes]:
    """The files of a folder, without caches and other things that do not belong to it."""
    return {
        f"{name}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not any(
            part.startswith(".") or (part in LEFT_OUT and folder == PACKAGE)
            for part in path.relative_to(folder).parts
        )
        and path.suffix != ".pyc"
    }
