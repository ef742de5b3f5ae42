"""`common.parameter`: Parameter and ParameterTuple."""

from ..parameter import Parameter, ParameterTuple

__all__ = ["Parameter", "ParameterTuple"]
