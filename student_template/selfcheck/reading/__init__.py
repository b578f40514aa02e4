"""Reads work by the rules that the grader reads it by, without running any of it.

`sources`, `pieces` and `spelling` are the grader's own files; the rest keeps to what it does.
"""
