"""A platform's bulk download, recognised by the names in it.

Each platform has a module with a function `hand_ins`, which says from the names in a download who
handed in what, and ignores names of another form. Nothing is unpacked to disk.
"""
