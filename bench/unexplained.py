"""The search for an output that nothing explains: `python -m bench.unexplained RESULT`.

Multi-head attention has the longest chain, so nothing takes longer. An import of torch, measured
in the same process, says how busy the machine is.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec


class Spent(msgspec.Struct, frozen=True):
    """CPU seconds."""

    importing: float
    explaining: float


def main(result: Path) -> None:
    """Measure once, and write what was spent."""
    begun = time.process_time()
    import torch

    importing = time.process_time() - begun
    from autograder.assignment.assignment import load_assignment
    from autograder.attention.chain import Given
    from autograder.attention.checks.causal_modules import MANY as MHA
    from autograder.attention.checks.causal_modules import NAMES
    from autograder.attention.sample import Sample
    from autograder.diagnosis.catalogue import load_catalogue
    from autograder.diagnosis.chain import run
    from autograder.diagnosis.explain import Observation, explain
    from bench.classroom import ROOT

    torch.set_num_threads(1)
    usual = NAMES[MHA].sizes["usual"]
    catalogue = load_catalogue(load_assignment(ROOT).stage_of(MHA).misconceptions)
    sample = Sample(b"what the bench uses")
    given = Given(
        tokens=sample.tokens("strong", usual),
        weights=sample.weights("strong", usual),
        heads=usual.heads,
        context_length=usual.context_length,
    )
    odd = run(catalogue.chains[MHA], given).sin()
    begun = time.process_time()
    found = explain(MHA, catalogue, [Observation(given, odd)])
    explaining = time.process_time() - begun
    if found is not None:
        raise RuntimeError("the output was explained after all")
    result.write_bytes(msgspec.json.encode(Spent(importing, explaining)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
