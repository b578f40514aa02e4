"""Is a mutant the same program as the solution? Tried on many random configurations.

Both packages, which are the kit's own sources and no student's, are loaded side by side. The names
of the mutated module and of later ones are called in both with the same arguments, weights and
seeds. Values, exceptions, arguments afterwards, state, and gradients in both modes are compared.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from autograder.assignment.assignment import Assignment, load_assignment
from autograder.calibration.packages import loaded
from autograder.checks.check_spec import hidden_checks
from autograder.checks.declaration import Namespace, Trial
from autograder.diagnosis.compare import same

#: How many configurations a mutant must agree on to count as the same program.
CONFIGURATIONS = 1_000
A_FEW = 40  # for a name that can only differ by calling another

#: What one call showed: tensors by what they are, everything else as text.
Seen = dict[str, Tensor | str]


def first_difference(
    solution: Mapping[str, str],
    mutant: Mapping[str, str],
    changed_name: str,
    trials: Mapping[str, Trial],
    configurations: int = CONFIGURATIONS,
) -> str | None:
    """Find a difference between a mutant and the solution.

    Args:
        solution: The solutions' sources by module, in the order of the stages.
        mutant: The same with one module changed.
        changed_name: The function or class that was changed. Other names can differ only by
            calling it, so they get fewer configurations.
        trials: How names are compared.
        configurations: How many configurations to try.

    Returns:
        The name and the number of the configuration; None if there is no difference.
    """
    ours = loaded(solution)
    try:
        theirs = loaded(mutant)
    except Exception as error:
        return f"cannot be loaded: {type(error).__name__}"
    changed = [module for module in solution if solution[module] != mutant[module]]
    names = [
        (module, name)
        for module in list(solution)[list(solution).index(changed[0]) :]
        for name in trials
        if name in ours[module] and getattr(ours[module][name], "__module__", "").endswith(module)
    ]
    with warnings.catch_warnings(), torch.random.fork_rng():
        warnings.simplefilter("ignore")
        for seed in range(configurations):
            for module, name in names:
                trial = trials[name]
                if seed >= (trial.most or (CONFIGURATIONS if name == changed_name else A_FEW)):
                    continue
                one, other = (_seen(space[module], trial, seed) for space in (ours, theirs))
                if not _agree(one, other):
                    return f"{name} in configuration {seed}"
    return None


def told_difference(
    folder: Path, solution: Mapping[str, str], mutant: Mapping[str, str], changed_name: str
) -> str | None:
    """The same in a process of its own, for the assignment in a folder."""
    trials = _trials(folder)
    if changed_name not in trials:
        return f"{changed_name} is not compared: its declaration has no trial"
    return first_difference(solution, mutant, changed_name, trials)


@cache
def _trials(folder: Path) -> dict[str, Trial]:
    return trials_of(load_assignment(folder))


def trials_of(assignment: Assignment) -> dict[str, Trial]:
    """How names are compared, as far as they are declared."""
    trials = ((name, each.trial()) for name, each in hidden_checks(assignment).declared.items())
    return {name: trial for name, trial in trials if trial is not None}


def start_quietly() -> None:
    """Set up a process that compares beside others: it uses one core."""
    torch.set_num_threads(1)


def _seen(space: Namespace, trial: Trial, number: int) -> Seen:
    torch.manual_seed(number)
    seen: Seen = {}
    try:
        for what, value in trial.ask(space, number):
            seen[what] = value.detach().clone() if isinstance(value, Tensor) else str(value)
    except Exception as error:
        seen["raised"] = _kind(error)
    return seen


def _kind(error: Exception) -> str:
    """The kind of an exception; both kinds of refusal that the contract allows are the same."""
    refused = isinstance(error, ValueError | AssertionError)
    return "refused" if refused else type(error).__name__


def _agree(one: Seen, other: Seen) -> bool:
    if one.keys() != other.keys():
        return False
    for what, ours in one.items():
        theirs = other[what]
        if isinstance(ours, Tensor) and isinstance(theirs, Tensor):
            if ours.dtype != theirs.dtype or not same(theirs, ours):
                return False
        elif ours != theirs:
            return False
    return True
