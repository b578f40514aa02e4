"""Try every attack at both upper levels, as root and as an ordinary user; print what each got.

`python tests/attacks/table.py [--level LEVEL]... [NAME]...`
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from arena import ROOT, Arena, Attack, Found, course, manifest

LEVELS = ("bubblewrap", "landlock")
NOBODY = 65534


def tried(attacks: Sequence[Attack], level: str | None) -> Iterator[tuple[Found, float]]:
    """Each attack at a level, with the seconds that it took; what is left at the end comes last."""
    with course() as made:
        arena = Arena(made, level)
        for attack in attacks:
            begun = time.monotonic()
            yield arena.attempt(attack), time.monotonic() - begun
        left = arena.close()
    if left:
        end = Attack("the whole run", "breaking", "leaves something behind")
        yield Found(end, arena.level, breaches=left), 0.0


def line(found: Found, user: str, seconds: float) -> str:
    """One row of the table."""
    got = "; ".join(found.breaches) if found.gained else "nothing"
    if not found.gained and found.score is not None:
        got = f"{found.score:g} of its honest {found.honest:g} points ({found.status[:60]})"
        if found.attack.told and found.score > found.honest:
            got += ", by its own word, as docs/security.md says"
    attack = found.attack
    return (
        f"{attack.kind:9}  {attack.name:27}  {found.level:10}  {user:6}  {attack.tries:88.88}  "
        f"{'GAINED ' if found.gained else ''}{got}  [{seconds:.1f} s]"
    )


def as_ordinary_user(arguments: Sequence[str]) -> subprocess.Popen[str] | None:
    """The same once more as nobody; None where this machine has no way to become one.

    Python may lie where only root gets in; then a mount name space opens the way to it alone.
    """
    command = [sys.executable, "-P", str(Path(__file__).resolve()), "--user", "nobody", *arguments]
    change = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    if shutil.which("setpriv") is None or shutil.which("unshare") is None:
        return None
    python = Path(sys._base_executable).resolve().parents[1]
    closed = [folder for folder in python.parents if not folder.stat().st_mode & 0o001]
    if closed:
        script = (
            'set -e; mount --bind "$1" /mnt; mount -t tmpfs -o mode=755 none "$2"; '
            'mkdir -p "$1"; mount --move /mnt "$1"; shift 2; exec "$@"'
        )
        opened = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]
        change = [*opened, str(python), str(closed[-1]), *change]
    environment = os.environ | {"HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [*change, *command], stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT
    )


def _again(chosen: argparse.Namespace) -> list[str]:
    levels = [part for level in chosen.level or () for part in ("--level", level)]
    return [*levels, *chosen.names]


def main() -> int:
    """Print the table; its last line counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--level", action="append", choices=LEVELS)
    parser.add_argument("--user")
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args()
    attacks = [each for each in manifest() if not chosen.names or each.name in chosen.names]
    user = chosen.user or ("root" if os.geteuid() == 0 else "user")
    gains = count = 0
    for level in chosen.level or LEVELS:
        for found, seconds in tried(attacks, level):
            print(line(found, user, seconds), flush=True)
            count += 1
            gains += found.gained
    users = [user]
    if user == "root":
        other = as_ordinary_user(_again(chosen))
        if other is None or other.stdout is None:
            print("not tried as an ordinary user: setpriv or unshare is not there")
        else:
            for text in other.stdout:
                print(text, end="", flush=True)
                if not text.startswith("attacks:"):
                    count += 1
                    gains += "  GAINED " in text
            if other.wait() not in (0, 1) or other.returncode < 0:
                print(f"not tried as an ordinary user: it ended with {other.returncode}")
                gains += 1
            else:
                users.append("nobody")
    levels = " and ".join(chosen.level or LEVELS)
    print(
        f"attacks: {len(attacks)}; levels: {levels}; as {' and '.join(users)}; "
        f"tries: {count}; gains: {gains}"
    )
    return 1 if gains else 0


if __name__ == "__main__":
    sys.exit(main())
