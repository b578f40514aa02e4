"""A student's device is answered by the CPU; packages that an assignment asks for are there."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from autograder.assignment.assignment import load_assignment
from autograder.cli.doctor import findings
from autograder.grading.worker import Worker
from autograder.results.grading_key import grading_key
from autograder.results.result import Result
from autograder.sandbox.guest import devices
from autograder.submissions.submission import SourceFile, read_submission

HERE = Path(__file__).parent / "surroundings"
ASSIGNMENT = load_assignment(HERE.parents[1])


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(ASSIGNMENT.folder, "process") as held:
        yield held


def graded(worker: Worker, path: Path) -> Result:
    return worker.grade(read_submission(path, ASSIGNMENT.limits)).result


@pytest.mark.parametrize(
    ("name", "device"),
    [("cuda_buffer.py", "cuda"), ("cuda_in_init.py", "cuda"), ("mps_forward.py", "mps")],
)
def test_a_device_that_is_not_here_costs_nothing_and_is_told(
    worker: Worker, name: str, device: str
) -> None:
    result = graded(worker, HERE / "device" / name)
    assert result.score == 100
    assert result.notes == (
        f"{name} asks for the device {device}: there is only the CPU here, which was taken"
        " instead; it costs nothing",
    )


RIGHT = (HERE / "name_test_prefix" / "test_hw3.py").read_text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch\n", 'import torch\ntorch.set_default_device("cuda")\n'),
        ("super().__init__()", 'super().__init__(); self.device = torch.device("cuda:0")'),
        (
            "return softmax(inputs @ inputs.T)",
            "return softmax(inputs.cuda() @ inputs.T.to(torch.device('cuda'))).cpu()",
        ),
    ],
)
def test_other_ways_to_ask_cost_nothing_either(
    worker: Worker, tmp_path: Path, before: str, after: str
) -> None:
    assert before in RIGHT
    (tmp_path / "hw.py").write_text(RIGHT.replace(before, after))
    assert graded(worker, tmp_path / "hw.py").score == 100


def test_a_mistake_beside_it_costs_what_it_costs(worker: Worker, tmp_path: Path) -> None:
    plain = RIGHT.replace("inputs @ inputs.T", "inputs @ inputs.T / 2")
    assert plain != RIGHT
    moved = plain.replace("import torch\n", 'import torch\ndevice = torch.device("cuda")\n', 1)
    (tmp_path / "a.py").write_text(plain)
    (tmp_path / "b.py").write_text(moved)
    without, with_device = (graded(worker, tmp_path / name) for name in ("a.py", "b.py"))
    assert without.score == with_device.score
    assert without.score is not None
    assert without.score < 100


@pytest.mark.parametrize(
    "ask",
    [
        lambda: torch.ones(2, device="cuda"),
        lambda: torch.ones(2, device=0),
        lambda: torch.ones(2, device=torch.device("mps")),
        lambda: torch.ones(2).to("cuda:1"),
        lambda: torch.ones(2).to(device="xpu"),
        lambda: torch.ones(2).to("cuda", torch.float64),
        lambda: torch.ones(2).cuda(),
        lambda: torch.ones(2).cuda(0),
        lambda: torch.ones(2).pin_memory(),
        lambda: torch.ones(2, pin_memory=True),
        lambda: torch.ones(2).new_zeros(2, device="cuda"),
        lambda: torch.zeros_like(torch.ones(2), device="cuda"),
        lambda: torch.tensor([1.0], device="cuda"),
        lambda: torch.nn.Linear(2, 2, device="cuda").weight,
        lambda: torch.nn.Linear(2, 2).to("cuda").weight,
        lambda: torch.nn.Linear(2, 2).cuda().weight,
        lambda: torch.ones(2).type("torch.cuda.FloatTensor"),
    ],
)
def test_every_way_ends_on_the_cpu(ask) -> None:  # type: ignore[no-untyped-def]
    with devices.OnTheCPU():
        found = ask()
    assert found.device.type == "cpu"


def test_meta_and_the_cpu_stay_what_they_are() -> None:
    with devices.OnTheCPU():
        assert torch.ones(2, device="meta").device.type == "meta"
        assert torch.ones(2).to("meta").device.type == "meta"
        assert torch.ones(2).to(torch.float64).dtype == torch.float64


@pytest.mark.parametrize(
    ("text", "is_mentioned", "is_told"),
    [
        ("import torch\nx = torch.ones(2)\n", False, False),
        ('device = "cuda" if torch.cuda.is_available() else "cpu"\n', True, False),
        ('x = torch.ones(2).to("cuda")\n', True, True),
        ("x = torch.ones(2).cuda()\n", True, True),
        ('# x = x.to("cuda")\n', True, False),
    ],
)
def test_only_who_asks_whatever_is_there_is_told(
    text: str, is_mentioned: bool, is_told: bool
) -> None:
    files = [SourceFile("hw.py", "module", text.encode())]
    assert devices.mentioned(files) is is_mentioned
    assert bool(devices.notes_on(files)) is is_told


@pytest.fixture(scope="module")
def with_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The assignment, with packages asked for of which one is nowhere."""
    folder = tmp_path_factory.mktemp("assignment")
    text = (ASSIGNMENT.folder / "assignment.toml").read_text()
    root = HERE.parents[1]
    text = text.replace('"../../', f'"{root}/')
    for stage in ASSIGNMENT.stages:
        (folder / stage.handout.name).write_bytes(stage.handout.read_bytes())
    text += '\n[runtime]\npackages = ["tqdm", "nowhere_at_all"]\n'
    (folder / "assignment.toml").write_text(text)
    return folder


def test_packages_that_the_assignment_asks_for_are_there(with_packages: Path) -> None:
    pytest.importorskip("tqdm")
    with Worker(with_packages) as worker:  # at the best level that there is
        result = graded(worker, HERE / "packages" / "tqdm_use.py")
    assert not [note for note in result.notes if "not installed" in note]


def test_what_is_not_there_is_told_as_that(worker: Worker, with_packages: Path) -> None:
    told = dict(findings(load_assignment(with_packages)))
    assert told["package nowhere_at_all"] == "this package is not here"
    notes = graded(worker, HERE / "packages" / "plots_in_fn.py").notes
    assert any("matplotlib is not installed here" in note for note in notes)


def test_a_packages_version_is_part_of_the_key(with_packages: Path) -> None:
    key, plain = grading_key(load_assignment(with_packages)), grading_key(ASSIGNMENT)
    assert key.python.startswith(plain.python)
    assert "nowhere_at_all not installed" in key.python
