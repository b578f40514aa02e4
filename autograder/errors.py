"""The errors that a command can end with, each with its exit code."""


class AutograderError(Exception):
    """Base of every error that the command line turns into one line and an exit code."""

    exit_code = 1


class InternalError(AutograderError):
    """The kit itself is at fault. Never charged to a student; exits 1."""

    exit_code = 1


class UsageError(AutograderError):
    """A wrong argument or unreadable input; exits 2."""

    exit_code = 2


class MissingRequirement(AutograderError):
    """Something that the kit needs is missing (isolation, an extra, disk, a lock); exits 3."""

    exit_code = 3
