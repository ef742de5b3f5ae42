"""Invertible functions with known derivatives, which make new distributions of others."""

from .affine import ScalarAffine
from .base import Bijector
from .gumbel_cdf import GumbelCDF
from .invert import Invert
from .power import Exp, PowerTransform
from .softplus import Softplus

__all__ = ["Bijector", "Exp", "GumbelCDF", "Invert", "PowerTransform", "ScalarAffine", "Softplus"]
