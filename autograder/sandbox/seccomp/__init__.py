"""The system calls that a guest may make: one program for each kind of processor.

`generate.py` writes the programs with libseccomp; they are kept beside it, so that no machine
that grades needs libseccomp.
"""
