"""Settings of GPU convolutions, which are kept: cuDNN chooses its algorithm."""

from ..choice import choice

__all__ = ["conv_dgrad_algo", "conv_fprop_algo", "conv_wgrad_algo"]

conv_fprop_algo = choice("conv_fprop_algo")
conv_dgrad_algo = choice("conv_dgrad_algo")
conv_wgrad_algo = choice("conv_wgrad_algo")
