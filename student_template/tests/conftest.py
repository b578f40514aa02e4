"""What the public checks share: the worked example, and words for what went wrong."""

from collections.abc import Callable, Generator
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

ROUNDED = 1e-4  # the handouts print four decimal places


@pytest.fixture
def inputs() -> torch.Tensor:
    """The worked example, `(6, 3)`: "Your journey starts with one step"."""
    return torch.tensor(
        [
            [0.43, 0.15, 0.89],
            [0.55, 0.87, 0.66],
            [0.57, 0.85, 0.64],
            [0.22, 0.58, 0.33],
            [0.77, 0.25, 0.10],
            [0.05, 0.80, 0.55],
        ]
    )


@pytest.fixture
def batch(inputs: torch.Tensor) -> torch.Tensor:
    """Two sequences that differ, `(2, 6, 3)`: the worked example, and it backwards."""
    return torch.stack([inputs, inputs.flip(0)])


@pytest.fixture
def agree() -> Callable[..., None]:
    """A function that compares a result with what it should be, and says how they differ."""

    def compare(found: object, expected: object, what: str, look: str) -> None:
        wanted = torch.as_tensor(expected)
        where = f"\n  where to look: handouts/{look}"
        if found is None:
            pytest.fail(
                f"{what}: a tensor was expected, nothing was returned"
                f"\n  what to do: end with `return` and the result{where}",
                False,
            )
        if not isinstance(found, torch.Tensor):
            pytest.fail(
                f"{what}: a tensor was expected, found {type(found).__name__}{where}", False
            )
        if found.shape != wanted.shape:
            pytest.fail(
                f"{what}: shape {tuple(wanted.shape)} was expected,"
                f" found {tuple(found.shape)}{where}",
                False,
            )
        numbers = found.detach().to(wanted.dtype)
        differ = ~torch.isclose(numbers, wanted, rtol=0, atol=ROUNDED)
        if differ.any():
            *row, _ = differ.nonzero()[0].tolist()  # the first row with a difference is enough
            place = f" in row {row}, counted from 0" if row else ""
            pytest.fail(
                f"{what}: the numbers differ{place}\n  expected {_shown(wanted[tuple(row)])}"
                f"\n  found    {_shown(numbers[tuple(row)])}{where}",
                False,
            )

    return compare


@pytest.fixture
def holds() -> Callable[..., None]:
    """A function that fails unless something holds, and says what was expected and found."""

    def require(condition: bool, what: str, expected: object, found: object, look: str) -> None:
        if not condition:
            where = f"\n  where to look: handouts/{look}"
            pytest.fail(f"{what}\n  expected {expected}\n  found    {found}{where}", False)

    return require


@pytest.fixture
def calls_of() -> Callable[..., list[str]]:
    """A function that calls another, and gives the names of the functions of PyTorch it used."""

    def watch(function: Callable[..., object], *arguments: object) -> list[str]:
        names: list[str] = []

        class Watched(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore
                names.append(getattr(func, "__name__", str(func)))
                return func(*args, **(kwargs or {}))

        with Watched():
            function(*arguments)
        return names

    return watch


def _shown(row: torch.Tensor) -> str:
    return str([round(x, 4) if isinstance(x, float) else x for x in row.tolist()])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell in one line, without a traceback, that something is not written yet."""
    report = yield
    if call.excinfo is not None and call.excinfo.errisinstance(NotImplementedError):
        report.longrepr = str(call.excinfo.value)
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what passing means and what it does not."""
    terminalreporter.write_line(
        "These are the public checks. Your score comes from hidden ones, which try more sizes,"
        " larger numbers and batches of different sequences."
    )
