"""`common.api`: what programs import from there."""

from ..autodiff import no_grad as _no_grad

__all__ = ["_no_grad"]
