"""A guest computes as torch does outside: at every level with the same kernels, to the bit."""

from collections.abc import Iterator

import pytest
import torch

from autograder.assignment.assignment import Limits
from autograder.sandbox.host import ladder, launch
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.submissions.submission import SourceFile

LIMITS = Limits(load_seconds=2.0, call_seconds=2.0, check_seconds=4.0)
NAMES = (NameSpec("softmax", "simplified", "function", ("scores",)),)
SOURCE = b"""
import torch

def softmax(scores):
    half = torch.nn.Linear(4, 4).half()(torch.ones(2, 4).half())
    capability = torch.backends.cpu.get_cpu_capability()
    return [capability, str(half.dtype), torch.softmax(scores @ scores.T, dim=-1).exp().log1p()]
"""


@pytest.fixture(scope="module", params=[level.name for level in launch.LEVELS])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    level = next(level for level in launch.LEVELS if level.name == request.param)
    lacking = ladder.lack(level)
    if lacking:
        pytest.skip(lacking)
    with Sandbox(LIMITS, NAMES, level.name) as made:
        yield made


def test_a_guest_uses_the_same_kernels_as_the_judge(sandbox: Sandbox) -> None:
    session = sandbox.open([SourceFile("work.py", "module", SOURCE, ())])
    scores = torch.linspace(-3, 3, 37 * 53).reshape(37, 53)
    try:
        capability, half, found = session.student("check").softmax(scores)
    finally:
        session.close()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as in a guest
    try:
        expected = torch.softmax(scores @ scores.T, dim=-1).exp().log1p()
    finally:
        torch.set_num_threads(threads)
    assert capability == torch.backends.cpu.get_cpu_capability()
    assert half == "torch.float16"
    assert torch.equal(found, expected)
