"""What runs inside other graders: nbgrader's preprocessors, otter's plugin, Gradescope's harness.

They pass a submission to the judge and write its result where the platform looks for it. No student
code runs in their processes.
"""
