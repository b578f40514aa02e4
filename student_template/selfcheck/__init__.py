"""Checks your work on your own machine, and says what to do next.

In a terminal, in the folder that holds `attention/`: `python -m selfcheck`. In a notebook:

    from selfcheck import check

    check("causal")

Only the public checks are run here; your grade also depends on hidden ones.
"""

from .notebook import Report, check

__all__ = ["Report", "check"]
