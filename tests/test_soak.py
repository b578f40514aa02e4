"""What `make soak` does at length, in short: hostile frames get nowhere, and a fault is noticed."""

import subprocess
import sys

import pytest

from autograder.sandbox.host import faults, launch, values
from autograder.sandbox.host.ladder import lack
from tests.conftest import ROOT
from tests.soak import frames, guests, hostile, puppet


@pytest.fixture
def told() -> list[str]:
    return []


class TestFrames:
    def test_hostile_ones_end_in_values_or_in_faults_of_the_student(self, told: list[str]) -> None:
        assert frames.soak(seed=7, first=0, count=1500, tell=told.append) == 0
        assert len(told) == 10
        for outcome in ("were read", "WireBroken", "StudentKilled", "StudentRaised"):
            assert outcome in told[-1]
        assert told[-1].startswith("frames: 1500 of 1500; ")

    def test_the_right_one_of_every_scene_is_read(self) -> None:
        with puppet.PuppetSandbox() as sandbox:
            for scene in puppet.scenes():
                right = puppet.reply(len(scene.before) + 1, scene.outcome, scene.tensors)
                frame = hostile.Frame(hostile.RIGHT, hostile.frame_of(*right))
                if scene.name == "call that raises":
                    with pytest.raises(faults.StudentRaised, match="division by zero"):
                        puppet.play(sandbox, scene, frame)
                else:
                    assert frames.unsound(puppet.play(sandbox, scene, frame)) is None, scene.name

    def test_a_number_makes_the_same_frame_again(self) -> None:
        made = [hostile.Maker(3, 41).frame(b"\x93\x01\x90\x90", b"abc") for _ in range(2)]
        assert made[0] == made[1]

    def test_a_decoder_that_fails_is_noticed(
        self, told: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def careless(*args: object) -> object:
            raise IndexError("a tensor that was not sent")

        monkeypatch.setattr(values, "incoming", careless)
        assert frames.soak(seed=7, first=0, count=60, tell=told.append) > 0
        assert any("IndexError" in line for line in told)
        assert any(line.startswith("  again: --only frames --seed 7 --first ") for line in told)

    def test_codes_that_come_through_are_noticed(self) -> None:
        assert frames.unsound(["fine", {"a": "\x1b[2J"}]) == "control codes came through"
        assert frames.unsound([object()]) == "a object"


LEVELS = {level.name: lack(level) for level in launch.LEVELS if level.inner}


@pytest.mark.parametrize("level", sorted(LEVELS))
def test_guests_that_send_or_get_hostile_frames_take_nobody_along(
    level: str, told: list[str]
) -> None:
    if LEVELS[level]:
        pytest.skip(str(LEVELS[level]))
    assert guests.soak(seed=7, first=0, count=50, isolation=level, tell=told.append) == 0, told
    assert told[0] == f"guests: behind {level}"


def test_the_last_line_sums_up() -> None:
    command = [sys.executable, "-m", "tests.soak", "--only", "frames", "--frames", "5"]
    run = subprocess.run([*command, "--seed", "9"], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1].startswith("soak: 5 frames; 0 failures; seed 9; ")


def test_without_a_wall_no_guest_is_told_anything_hostile(told: list[str]) -> None:
    assert guests.soak(seed=7, first=0, count=5, isolation="process", tell=told.append) == 1
    assert told[-1].startswith("FAILED: no level with a wall")
