"""`autograder doctor`: whether this machine can run the kit."""

from autograder.cli.command import AssignmentOption, command


@command
def doctor(assignment: AssignmentOption = None) -> None:
    """Show what this machine offers: isolation, cores, torch, memory."""
    from autograder.assignment.assignment import load_assignment
    from autograder.cli.doctor import findings

    for name, value in findings(load_assignment(assignment)):
        print(f"{name:<22}{value}")
