"""Graphs of kernels: side effects of operations, stages, and graphs as text."""
