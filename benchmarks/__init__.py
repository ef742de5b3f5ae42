"""Lamella against other frameworks, in one process and interleaved: ``python -m benchmarks``."""
