"""Try every attack at both upper levels, as root and as an ordinary user; print what each got.

At the level `process` those are tried that it promises to stop: lies to the checks, hostile
frames and texts, containers. It stops no others, so that each of them would really be done to the
machine that tries it: read, written, filled up, signalled. They are told, not tried.

`python -m tests.attacks.table [--level LEVEL]... [--user USER]... [NAME]...`

Each level and user has a process of its own. For the level `landlock` a container is simulated:
that process may make no user name spaces, as under Docker's default profile, and the kit finds
out by itself that bubblewrap does not work there.
"""

from __future__ import annotations

import argparse
import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.attacks.arena import ROOT, Arena, Attack, Found, course, left_behind, manifest

UPPER, WEAK = ("bubblewrap", "landlock"), "process"
LEVELS = (*UPPER, WEAK)
PROMISED = ("lying", "forging", "container")  # at the level process
# Of these kinds, what writes where it can.
NOT_PROMISED = ("writes-results", "changes-files", "writes-to-descriptors")
NOBODY = 65534
CLONE_NEWUSER = 0x10000000
GAINED, BY_WORD = "GAINED", "by its own word"
LET = ("it left ", "it changed the course's files")  # what nothing stops at the level process


def at_level(attacks: Sequence[Attack], level: str) -> list[Attack]:
    """Those that are tried at a level."""
    if level != WEAK:
        return list(attacks)
    return [
        attack for attack in attacks if attack.kind in PROMISED and attack.name not in NOT_PROMISED
    ]


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
    got = f"{GAINED} {'; '.join(found.breaches)}"
    if not found.gained and found.score is not None:
        got = f"{found.score:g} of its honest {found.honest:g} points ({found.status[:90]})"
        if found.score > found.honest:
            got += f", {BY_WORD}, as docs/security.md tells"
    attack = found.attack
    return (
        f"{attack.kind:9}  {attack.name:27}  {found.level:10}  {user:6}  {attack.tries:88.88}  "
        f"{got}  [{seconds:.1f} s]"
    )


def block_name_spaces() -> bool:
    """Take user name spaces away from this process, for good; False where that cannot be done."""
    try:
        import pyseccomp as seccomp
    except ImportError:
        return False
    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    new_user = seccomp.Arg(0, seccomp.MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER)
    rules.add_rule(seccomp.ERRNO(errno.EPERM), "clone", new_user)
    rules.add_rule(seccomp.ERRNO(errno.EPERM), "unshare", new_user)
    rules.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")
    rules.load()
    return True


def run_here(attacks: Sequence[Attack], level: str, user: str) -> None:
    """Print the rows of one level."""
    simulated = level == "landlock" and block_name_spaces()
    for found, seconds in tried(at_level(attacks, level), None if simulated else level):
        let = [each for each in found.breaches if level == WEAK and each.startswith(LET)]
        found.breaches = [each for each in found.breaches if each not in let]
        found.status += "".join(f"; {each}, as it can here" for each in let)
        for path in left_behind() if let else ():
            Path(path).unlink(missing_ok=True)
        if found.level != level:
            found.breaches.append(f"at the level {found.level}, not {level}")
        print(line(found, user, seconds), flush=True)


def as_nobody() -> list[str] | None:
    """What to put before a command so that it runs as nobody; None where that cannot be done.

    Python may lie where only root gets in; then a mount name space opens the way to it alone.
    """
    if shutil.which("setpriv") is None or shutil.which("unshare") is None:
        return None
    change = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve().parents[1]
    closed = [folder for folder in python.parents if not folder.stat().st_mode & 0o001]
    if not closed:
        return change
    script = (
        'set -e; mount --bind "$1" /mnt; mount -t tmpfs -o mode=755 none "$2"; '
        'mkdir -p "$1"; mount --move /mnt "$1"; shift 2; exec "$@"'
    )
    opened = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]
    return [*opened, str(python), str(closed[-1]), *change]


def rows(level: str, user: str, names: Sequence[str]) -> Iterator[str]:
    """The rows of one level and user, out of a process of their own."""
    before = as_nobody() if user == "nobody" else []
    if before is None:
        yield f"not tried as {user}: setpriv and unshare are needed"
        return
    command = [
        sys.executable,
        "-m",
        "tests.attacks.table",
        "--here",
        "--level",
        level,
        "--user",
        user,
        *names,
    ]
    settings = {"PYTHONDONTWRITEBYTECODE": "1"} | ({"HOME": "/"} if before else {})
    with subprocess.Popen(
        [*before, *command], stdout=subprocess.PIPE, text=True, env=os.environ | settings, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        yield from (row.rstrip("\n") for row in process.stdout)
    if process.returncode:
        yield f"not tried to its end at {level} as {user}: exit status {process.returncode}"


def main() -> int:
    """Print the table; its last line counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--level", action="append", choices=LEVELS)
    parser.add_argument("--user", action="append")
    parser.add_argument("--here", action="store_true", help="in this process")
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args()
    attacks = [each for each in manifest() if not chosen.names or each.name in chosen.names]
    levels = chosen.level or LEVELS
    users = chosen.user or (["root", "nobody"] if os.geteuid() == 0 else ["user"])
    if chosen.here:
        run_here(attacks, levels[0], users[0])
        return 0
    count = gains = weak = by_word = untried = 0
    for user in users:
        for level in levels:
            for row in rows(level, user, chosen.names):
                print(row, flush=True)
                untried += row.startswith("not tried")
                count += not row.startswith("not tried") and level != WEAK
                gained = f"  {GAINED} " in row
                gains += gained and level != WEAK
                weak += gained and level == WEAK
                by_word += BY_WORD in row
    if WEAK in levels:
        promised = at_level(attacks, WEAK)
        print(
            f"at {WEAK}, which has no wall: {len(promised)} attacks tried, {weak} gains; the other "
            f"{len(attacks) - len(promised)} are not tried there, since nothing would stop them"
        )
    upper = [level for level in levels if level != WEAK]
    print(
        f"{len(attacks)} attacks at {' and '.join(upper) or 'no upper level'} as "
        f"{' and '.join(users)}: "
        f"{count} tries, {gains} gains, {by_word} by the guest's own word, {untried} not ended"
    )
    return 1 if gains or weak or untried else 0


if __name__ == "__main__":
    sys.exit(main())
