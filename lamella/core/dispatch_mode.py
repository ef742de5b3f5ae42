"""A mode that sees every kernel that runs inside of it."""

from __future__ import annotations

from torch.utils._python_dispatch import TorchDispatchMode


class DispatchMode(TorchDispatchMode):
    """PyTorch's mode, which doesn't import PyTorch's compiler (2 s) when it is entered."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # deciding it would import the compiler
