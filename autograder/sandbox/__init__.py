"""The room that a student's code runs in, and the door between it and the judge.

Nothing is imported here: a part of this package is also laid into the room itself, file by
file and under another name, where the rest of the kit does not exist.
"""
