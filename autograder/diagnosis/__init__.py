"""What went wrong: the catalogue of known mistakes, and the search for those that explain."""
