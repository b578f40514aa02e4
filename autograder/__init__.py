"""Grades code for the attention mechanism by what it does, step by step."""
