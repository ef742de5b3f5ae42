"""Aliases: the names of the package, as in MindSpore's module of this name."""

from enum import IntEnum

from ..transforms.operation import PyTensorOperation as PyTensorOperation
from .operation import TextTensorOperation as TextTensorOperation
from .strings import *  # noqa: F403
from .subwords import *  # noqa: F403
from .tokenizers import *  # noqa: F403


class Implementation(IntEnum):
    """Which implementation of an operation is used; here there is one."""

    C = 0
    PY = 1
