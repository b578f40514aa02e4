"""The hidden checks: plain pytest, one module a stage, and what they are made of.

`pytest autograder/attention/checks --submission PATH` runs them for a teacher who debugs one
submission.
"""
