"""Settings of Ascend's precision, which have no effect here."""

from ..choice import choice

__all__ = ["conv_allow_hf32", "matmul_allow_hf32", "op_precision_mode", "precision_mode"]

precision_mode = choice("precision_mode")
op_precision_mode = choice("op_precision_mode")
matmul_allow_hf32 = choice("matmul_allow_hf32", True, False)
conv_allow_hf32 = choice("conv_allow_hf32", True, False)
