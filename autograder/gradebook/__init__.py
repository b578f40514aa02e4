"""What is kept of a class: the SQLite file, changes by hand, history, statistics."""
