"""For a teacher who debugs one submission: `pytest autograder/attention/checks --submission PATH`.

The worker does without this file; it runs the same checks in a session of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.assignment.assignment import load_assignment
from autograder.assignment.secret import load_secret
from autograder.checks.plugin import Checks, equivalents_of
from autograder.checks.trial import Trial
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.submissions.submission import read_submission


def pytest_addoption(parser: pytest.Parser) -> None:
    """The submission to check, and where its code may run."""
    parser.addoption("--submission", type=Path, help="folder, file, notebook or zip to check")
    parser.addoption("--isolation", default=None, help="bubblewrap, landlock or process")


def pytest_configure(config: pytest.Config) -> None:
    """Every Python file here holds checks; nothing else is collected as one."""
    config.addinivalue_line("python_files", "autograder/attention/checks/*.py")


class Desk(Checks):
    """The checks of one submission, run by pytest itself so that its own output can be read."""

    def __init__(self, path: Path, isolation: str | None) -> None:
        assignment = load_assignment()
        super().__init__(assignment, load_secret(assignment))
        names = tuple(
            NameSpec(spec.name, spec.module, spec.kind, spec.parameters)
            for spec in assignment.name_specs
        )
        self._sandbox = Sandbox(assignment.limits, names, isolation)
        submission = read_submission(path, assignment.limits)
        self.trial = Trial.of(assignment, self._sandbox, submission, equivalents_of(assignment))

    @pytest.fixture(autouse=True)
    def stage(self, request: pytest.FixtureRequest) -> None:
        """Enter the check's stage, so that earlier stages' mistakes are not met again."""
        self.now.enter(self.place(request.node)[0])

    def close(self) -> None:
        """End the guest and the sandbox."""
        self.now.close()
        self._sandbox.close()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Load the submission once, before the checks are collected."""
    path = session.config.getoption("--submission")
    if path is None:
        raise pytest.UsageError(
            "name what to check: pytest autograder/attention/checks --submission PATH"
        )
    desk = Desk(path, session.config.getoption("--isolation"))
    session.config.pluginmanager.register(desk, "desk")
    session.config.add_cleanup(desk.close)


@pytest.fixture(scope="session", autouse=True)
def _quiet() -> None:
    """One thread, as in the worker: results must not depend on how sums are shared out."""
    import torch

    torch.set_num_threads(1)
