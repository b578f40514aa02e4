"""`python -m selfcheck`, and `python selfcheck` as well."""

import sys
from pathlib import Path

if not __package__:  # run as a folder: Python has put the folder itself on the path
    here = Path(__file__).resolve().parent
    sys.path[:] = [each for each in sys.path if Path(each or ".").resolve() != here]
    sys.path.append(str(here.parent))
    from selfcheck.commands import main
else:
    from .commands import main

sys.exit(main())
