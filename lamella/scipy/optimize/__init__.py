"""Minimization, line search and assignment."""

from .line_search import line_search
from .linear_sum_assignment import linear_sum_assignment
from .minimize import minimize

__all__ = ["line_search", "linear_sum_assignment", "minimize"]
