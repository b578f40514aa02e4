"""From bytes to a `Submission`: hand-ins, class folders, bulk downloads, rosters."""
