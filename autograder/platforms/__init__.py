"""What runs inside other people's graders: nbgrader's preprocessors, otter's plugin, Gradescope's
harness. They hand a submission to the judge and write down what it found, where the platform
looks for it; no code of a student's runs in their processes.
"""
