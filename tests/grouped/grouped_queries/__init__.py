"""Grouped-query attention, a stage of its own after attention's four."""
