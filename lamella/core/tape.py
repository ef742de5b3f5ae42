"""`TapeFunction`: a node of PyTorch's tape that transformations support, with less overhead.

PyTorch's `apply` of a function with `setup_context` looks for default arguments in each call, which
takes as long as ten small kernels.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._functorch.utils import unwrap_dead_wrappers


class TapeFunction(torch.autograd.Function):
    """A function with `setup_context`, which is called with all of its arguments, by position."""

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """The results, tied to the tape."""
        if torch._C._are_functorch_transforms_active():
            return super().apply(*args)
        plain: Any = super(torch.autograd.Function, cls)
        return plain.apply(*unwrap_dead_wrappers(args))
