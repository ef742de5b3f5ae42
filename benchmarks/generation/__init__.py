"""Generation beside transformers and JAX: ``python -m benchmarks.generation``."""
