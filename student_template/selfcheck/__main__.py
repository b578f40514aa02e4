"""`python -m selfcheck`."""

import sys

from .commands import main

sys.exit(main())
