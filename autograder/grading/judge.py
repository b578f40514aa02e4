"""The judge: one pytest session that grades one submission after another.

It runs in a process of its own (see `worker`), owns the sandbox from its main thread, and believes
nothing but values that it compares itself.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterable

import msgspec
import pytest
import torch

from autograder.assignment.assignment import PACKAGE, Assignment
from autograder.attention.checks.seeing import attention_seen
from autograder.attention.checks.tie_breaks import TieBreaks
from autograder.checks.plugin import Checks, check_files, equivalents_of
from autograder.checks.trial import Trial
from autograder.errors import AutograderError, InternalError
from autograder.grading.exchange import Answer, Fault, Graded, Ready, Request
from autograder.sandbox.host.room import Sandbox
from autograder.scoring.retold import comparisons, titles_of
from autograder.scoring.scoring import score

INI = PACKAGE / "checks" / "checks.ini"


class Judge:
    """Grades submissions within one pytest session."""

    def __init__(self, assignment: Assignment, sandbox: Sandbox, secret: bytes) -> None:
        self.assignment = assignment
        self.sandbox = sandbox
        self.checks = Checks(assignment, secret)
        self._equivalents = equivalents_of(assignment)
        self._requests: Iterable[Request] = ()
        self._answer: Callable[[Answer], None] = lambda answer: None

    def serve(self, requests: Iterable[Request], answer: Callable[[Answer], None]) -> None:
        """Grade until `requests` end. Raises `InternalError` where pytest does not get going."""
        torch.set_num_threads(1)
        self._requests, self._answer = requests, answer
        for name in [name for name in os.environ if name.startswith("PYTEST_")]:
            del os.environ[name]
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        code = pytest.main(
            [
                *(str(path) for path in check_files(self.assignment)),
                f"--config-file={INI}",
                f"--rootdir={INI.parent}",
                "--noconftest",
                "--import-mode=importlib",
                "--assert=plain",
                "--capture=no",
                *(f"-pno:{name}" for name in UNUSED_PLUGINS),
            ],
            plugins=[self, self.checks],
        )
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            raise InternalError(
                f"the hidden checks could not be collected (pytest ended with {code})"
            )

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Take the place of pytest's own loop."""
        if session.testsfailed or not session.items:
            raise InternalError("the hidden checks could not be collected")
        gc.collect()
        gc.freeze()  # what is here stays: the collector need not look at it for every submission
        gc.set_threshold(SELDOM)
        self._answer(Ready(self.sandbox.level))
        for request in self._requests:
            try:
                with self.sandbox.on_one_core():
                    answer: Answer = self.grade(session.items, request)
            except AutograderError as error:
                answer = Fault(error.exit_code, str(error))
            self._answer(answer)
        return True

    def grade(self, items: list[pytest.Item], request: Request) -> Graded:
        """One submission."""
        wall, cpu = time.perf_counter(), time.process_time()
        stages = None if request.stages is None else frozenset(request.stages)
        trial = Trial.of(self.assignment, self.sandbox, request.submission, self._equivalents)
        try:
            evidence = self.checks.run(items, trial, stages)
            further = TieBreaks(self.assignment, trial, self.checks.sample)
            result, details = score(
                self.assignment, request.submission, trial, evidence, stages, further
            )
            details |= {
                "titles": titles_of(self.assignment, result),
                "comparisons": comparisons(self.assignment, evidence, self.checks.references),
                "attention": attention_seen(
                    trial, self.checks.sample, self.assignment, details["standings"]
                ),
            }
        finally:
            trial.close()
        return Graded(
            result,
            time.process_time() - cpu + trial.session.cpu_seconds,
            time.perf_counter() - wall,
            self.sandbox.level,
            msgspec.json.encode(details | {"output": trial.session.output}),
        )


#: Objects made between two looks for cycles: a submission's checks make few cycles.
SELDOM = 20_000

#: pytest's own plugins that a session without output, files and capture has no use for.
UNUSED_PLUGINS = (
    "cacheprovider",
    "terminal",
    "junitxml",
    "pastebin",
    "doctest",
    "unittest",
    "nose",
    "faulthandler",
    "logging",
    "warnings",
    "stepwise",
    "debugging",
    "recwarn",
    "tmpdir",
    "legacypath",
    "skipping",
    "subtests",
    "unraisableexception",
    "threadexception",
    "setuponly",
    "setupplan",
    "monkeypatch",
    "freeze_support",
)
