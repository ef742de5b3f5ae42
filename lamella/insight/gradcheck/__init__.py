"""Checking derivatives against finite differences, and compiled functions against eager ones."""

from .check import GradientError as GradientError
from .check import check_grads as check_grads
