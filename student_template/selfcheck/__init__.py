"""Checks your work on your own machine, and says what to do next.

In a terminal, in the folder that holds `attention/`: `python -m selfcheck`. In a notebook:

    from selfcheck import check

    check("causal")

Only the public checks are run here; your grade also depends on hidden ones.
"""

import sys as _sys

if _sys.argv[:1] == ["-m"]:
    # As the grader has it: a `random.py` beside the work is never what `import random` means.
    from pathlib import Path as _Path

    _here = {"", str(_Path.cwd()), str(_Path(__file__).resolve().parents[1])}
    _sys.path.sort(key=lambda entry: entry in _here)

from .notebook import Report, check

__all__ = ["Report", "check"]
