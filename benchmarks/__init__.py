"""Lamella against other frameworks: ``python -m benchmarks``; see docs/benchmarks.md."""
