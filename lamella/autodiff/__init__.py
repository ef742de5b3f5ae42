"""Differentiation: reverse mode and the rules that bend gradients."""
