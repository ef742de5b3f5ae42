"""Rows of arrays in memory, shuffled and stacked."""

BATCH = 64
