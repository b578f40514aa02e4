"""The system calls that a guest may make: one program for each kind of processor.

`generate.py` writes the programs with libseccomp; they are committed beside it, so that a machine
that grades does not need libseccomp.
"""
