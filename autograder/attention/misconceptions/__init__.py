"""Steps done otherwise, one module a stage: what each computes, its name, its message."""
