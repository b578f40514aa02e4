"""Every attack of the suite at the best level that stands here, honest work between them.

One of each kind is tried by `make test`, all of them by `make proof`.

What each tries is told in attacks/manifest.toml; what is looked at afterwards in attacks/arena.py.
`make attacks` tries them at both upper levels and as an ordinary user as well.
"""

from collections.abc import Iterator

import pytest

from autograder.submissions.submission import read_submission
from tests.attacks.arena import SUBMISSIONS, Arena, Attack, course, manifest

pytestmark = pytest.mark.alone
ATTACKS = manifest()
SAMPLE = tuple({attack.kind: attack for attack in reversed(ATTACKS)}.values())
KINDS = ("lying", "stealing", "forging", "breaking", "hijacking", "container")


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    with course() as made:
        arena = Arena(made, None)
        if arena.level == "process":
            arena.close()
            pytest.skip("no level with a wall stands here")
        yield arena
        assert arena.close() == [], "something of the suite is left"


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(attack, id=attack.name, marks=() if attack in SAMPLE else pytest.mark.proof)
        for attack in ATTACKS
    ],
)
def test_an_attack_gains_nothing(attack: Attack, arena: Arena) -> None:
    found = arena.attempt(attack)
    assert found.breaches == [], found


def test_after_all_of_them_right_work_still_earns_everything(arena: Arena) -> None:
    solutions = read_submission(arena.assignment.solutions, arena.limits)
    assert arena.worker.grade(solutions).result.score == 100.0


def test_there_are_attacks_of_every_kind() -> None:
    assert len(ATTACKS) >= 90
    assert {attack.kind for attack in ATTACKS} == set(KINDS)


def test_every_submission_is_in_the_manifest_once() -> None:
    names = [attack.name for attack in ATTACKS]
    assert len(set(names)) == len(names)
    assert {path.stem for path in SUBMISSIONS.iterdir()} == {
        attack.name for attack in ATTACKS if not attack.container
    }
