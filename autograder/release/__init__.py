"""Everything that is handed out, built from the solutions: template, notebooks, bundles."""
