"""Distributions, and the bijectors that transform them."""

from . import bijector, distribution

__all__ = ["bijector", "distribution"]
