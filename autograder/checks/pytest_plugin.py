"""The hidden checks as items of pytest: `pytest --submission PATH autograder/attention/checks`.

For people who write checks or debug a submission. Each check is an item, run behind the wall; all
that are chosen (`-k`, paths) are asked at once as in a class, and an item's report is what the
judge made of it. `-p autograder.checks.pytest_plugin` serves an assignment whose checks lie
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder.assignment.assignment import load_assignment
from autograder.assignment.secret import load_secret
from autograder.checks.check_spec import CheckSpec, equivalents_of
from autograder.checks.evidence import Outcome
from autograder.checks.examination import Checks
from autograder.checks.session import CheckSession, names_asked, other_names
from autograder.sandbox.host.room import Sandbox
from autograder.submissions.submission import read_submission

USAGE = "name what to check: pytest autograder/attention/checks --submission PATH"


def pytest_addoption(parser: pytest.Parser) -> None:
    """What to check, by which assignment, and where its code may run."""
    parser.addoption("--submission", type=Path, help="folder, file, notebook or zip to check")
    parser.addoption("--assignment", type=Path, default=None, help="folder with assignment.toml")
    parser.addoption("--isolation", default=None, help="bubblewrap, landlock or process")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Find the checks before pytest looks into files."""
    if session.config.getoption("--submission") is None:
        raise pytest.UsageError(USAGE)
    session.config.pluginmanager.register(Desk(session.config), "desk")


class CheckFile(pytest.Module):
    """A module of checks; nothing in it is collected but these."""

    def collect(self) -> Iterator[CheckItem]:
        """Its checks, in the order in which the judge asks them."""
        desk = self.config.pluginmanager.get_plugin("desk")
        assert isinstance(desk, Desk)
        for spec in desk.of(self.path):
            yield CheckItem.from_parent(
                self, name=spec.identifier.partition("::")[2], spec=spec, desk=desk
            )


class CheckItem(pytest.Item):
    """One hidden check of the submission."""

    def __init__(self, *, spec: CheckSpec, desk: Desk, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.spec = spec
        self._desk = desk
        self.extra_keyword_matches |= {spec.stage.id, spec.check.name}  # for -k
        desk.items.append(self)

    def runtest(self) -> None:
        """Look up how the check ended; the first of all items asks for all."""
        outcome = self._desk.outcome(self.spec)
        if outcome.status != "passed":
            raise NotPassed(outcome)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What was expected and what was found; no traceback of the kit's own."""
        if not isinstance(excinfo.value, NotPassed):
            return super().repr_failure(excinfo, style)
        outcome = excinfo.value.outcome
        said = [self.spec.check.rationale, outcome.status]
        if outcome.expected:
            said += [f"expected {outcome.expected}", f"found {outcome.found}"]
        if outcome.misconception:
            said.append(f"misconception {outcome.misconception}")
        return "\n".join(filter(None, (*said, outcome.numbers, outcome.text)))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The module, and the check's identifier."""
        return self.path, None, self.spec.identifier


class NotPassed(Exception):
    """A check that did not pass."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.check_id)
        self.outcome = outcome


class Desk:
    """One submission on a teacher's desk: the sandbox, and how its checks ended."""

    def __init__(self, config: pytest.Config) -> None:
        assignment = load_assignment(config.getoption("--assignment"))
        self._checks = Checks(assignment, load_secret(assignment))
        path: Path = config.getoption("--submission")
        submission = read_submission(path, assignment.limits)
        self._sandbox = Sandbox(
            assignment.limits,
            names_asked(assignment),
            config.getoption("--isolation"),
            parameters=other_names(assignment),
        )
        config.add_cleanup(self._sandbox.close)
        self._session = CheckSession.of(
            assignment, self._sandbox, submission, equivalents_of(assignment)
        )
        self.items: list[CheckItem] = []
        self._outcomes: dict[str, Outcome] | None = None

    def of(self, path: Path) -> list[CheckSpec]:
        """The checks of one module."""
        return [
            spec
            for spec in self._checks.specs
            if Path(spec.run.__code__.co_filename).resolve() == path.resolve()
        ]

    def pytest_pycollect_makemodule(
        self, module_path: Path, parent: pytest.Collector
    ) -> CheckFile | None:
        """Take over the modules that hold checks."""
        return CheckFile.from_parent(parent, path=module_path)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """What is left after this was not deselected by an earlier plugin."""
        self.items = [item for item in items if isinstance(item, CheckItem)]

    def outcome(self, spec: CheckSpec) -> Outcome:
        """How a check ended. All are asked when the first is wanted, as the judge does."""
        if self._outcomes is None:
            import torch

            torch.set_num_threads(1)  # as in a class: results must not depend on how sums are split
            evidence = self._checks.run(self._session, thorough=True)
            self._outcomes = {outcome.check_id: outcome for outcome in evidence.outcomes}
            self._session.close()
        return self._outcomes[spec.identifier]
