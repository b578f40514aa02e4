"""For people who debug one submission: `pytest autograder/attention/checks --submission PATH`."""

from __future__ import annotations

import pytest

from autograder.checks.pytest_plugin import pytest_addoption as pytest_addoption
from autograder.checks.pytest_plugin import pytest_sessionstart as pytest_sessionstart


def pytest_configure(config: pytest.Config) -> None:
    """Every Python file here may hold checks."""
    config.addinivalue_line("python_files", "autograder/attention/checks/*.py")
