"""Turns a submission's files into the contract's names, inside the guest.

`load` runs every module and notebook statement by statement and finds the names among what they
define. `arguments.fit` tells how to call a constructor that names its arguments otherwise.
Nothing here is trusted by the judge, and nothing here may be stopped by what a student wrote.
"""

from . import arguments, placeholders
from .arguments import Match
from .loader import Loaded, load, prepare
from .running import Source

__all__ = ["Loaded", "Match", "Source", "arguments", "load", "placeholders", "prepare"]
