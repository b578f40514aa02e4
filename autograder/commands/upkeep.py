"""`autograder calibrate` and `autograder doctor`: is the kit sound, and is this machine."""

from autograder.commands.command import AssignmentOption, command
from autograder.errors import KitFault


@command
def calibrate(assignment: AssignmentOption = None) -> None:
    """Prove that solutions, stubs, checks, variants and misconceptions agree."""
    from autograder.assignment import load_assignment
    from autograder.calibrate import calibrate as prove

    if not prove(load_assignment(assignment)):
        raise KitFault("calibration falls short; the table says where")


@command
def doctor(assignment: AssignmentOption = None) -> None:
    """Tell what this machine offers: isolation, cores, torch, memory."""
    from autograder.assignment import load_assignment
    from autograder.doctor import findings

    for name, value in findings(load_assignment(assignment)):
        print(f"{name:<22}{value}")
