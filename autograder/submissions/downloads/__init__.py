"""A platform's bulk download, recognised by the names in it.

Each platform has a module of its own with a function `hand_ins`, which makes of the names of a
download what was handed in by whom, and of other names nothing. Nothing is unpacked to disk.
"""
