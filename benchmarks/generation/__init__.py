"""Generation beside transformers: ``python -m benchmarks.generation``."""
