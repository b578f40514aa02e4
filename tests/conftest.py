"""What all tests share."""

from hypothesis import settings

# The same examples on every run, and no limit of time: a busy machine fails no test.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
