"""Grading itself: the judge, its worker processes, executors, a class run, a cluster."""
