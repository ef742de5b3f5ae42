"""`common.parameter`: Parameter and ParameterTuple."""

from ..tensors.parameter import Parameter, ParameterTuple

__all__ = ["Parameter", "ParameterTuple"]
