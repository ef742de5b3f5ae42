"""Optimizers over groups of parameters, each a dict with its own settings, as in PyTorch."""

from .optimizer import Optimizer as Optimizer
