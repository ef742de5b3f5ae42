"""Algorithms of papers: short steps of many small kernels, in Lamella and in JAX."""
