"""Graphs of kernels: what operations do to memory, stages, and graphs as text."""
