"""The judge: grades one submission after another with the hidden checks of one assignment.

It runs in a process of its own (see `worker`), owns the sandbox from its main thread, and believes
nothing but values that it compares itself.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable
from functools import partial

import msgspec
import torch

from autograder.assignment.assignment import Assignment
from autograder.checks.check_spec import equivalents_of
from autograder.checks.examination import Checks
from autograder.checks.seeing import look_ahead, pictures_seen
from autograder.checks.session import CheckSession
from autograder.checks.tie_breaks import TieBreaks
from autograder.errors import AutograderError
from autograder.grading.exchange import Answer, Fault, Graded, Ready, Request
from autograder.sandbox.host.room import Sandbox
from autograder.scoring.retold import comparisons, titles_of
from autograder.scoring.scoring import score


class Judge:
    """Grades submissions.

    Args:
        assignment: What is taught and what it is worth.
        sandbox: Where the code of students runs.
        secret: What the inputs of the hidden checks are drawn from.
    """

    def __init__(self, assignment: Assignment, sandbox: Sandbox, secret: bytes) -> None:
        self.assignment = assignment
        self.sandbox = sandbox
        self.checks = Checks(assignment, secret)
        self._equivalents = equivalents_of(assignment)
        views = ((name, each.view()) for name, each in self.checks.declared.items())
        self._views = {name: view for name, view in views if view is not None}

    def serve(self, requests: Iterable[Request], answer: Callable[[Answer], None]) -> None:
        """Grade until `requests` end; what the kit fails on is answered with a `Fault`."""
        torch.set_num_threads(1)
        gc.collect()
        gc.freeze()  # what is here stays: the collector need not look at it for every submission
        gc.set_threshold(SELDOM)
        answer(Ready(self.sandbox.level))
        for request in requests:
            try:
                with self.sandbox.on_one_core():
                    graded: Answer = self.grade(request)
            except AutograderError as error:
                graded = Fault(error.exit_code, str(error))
            answer(graded)

    def grade(self, request: Request) -> Graded:
        """One submission.

        Raises:
            AutograderError: The kit failed on it, or something is missing here.
        """
        wall, cpu = time.perf_counter(), time.process_time()
        stages = None if request.stages is None else frozenset(request.stages)
        session = CheckSession.of(
            self.assignment, self.sandbox, request.submission, self._equivalents
        )
        sample = self.checks.sample
        try:
            evidence = self.checks.run(
                session,
                stages,
                before_lending=partial(
                    look_ahead, sample=sample, assignment=self.assignment, views=self._views
                ),
            )
            tie_breaks = TieBreaks(self.assignment, session, sample, self.checks.declared)
            result, details = score(
                self.assignment, request.submission, session, evidence, stages, tie_breaks
            )
            details |= {
                "titles": titles_of(self.assignment, result),
                "comparisons": comparisons(self.assignment, evidence, self.checks.references),
                "attention": pictures_seen(
                    session, sample, self.assignment, self._views, details["standings"]
                ),
            }
        finally:
            session.close()
        return Graded(
            result,
            time.process_time() - cpu + session.session.cpu_seconds,
            time.perf_counter() - wall,
            self.sandbox.level,
            msgspec.json.encode(details | {"output": session.session.output}),
        )


#: Objects made between two looks for cycles: a submission's checks make few cycles.
SELDOM = 20_000
