"""Aliases: the names of the package, as in MindSpore's module of this name."""

from ..transforms.operation import Implementation as Implementation
from ..transforms.operation import PyTensorOperation as PyTensorOperation
from .operation import TextTensorOperation as TextTensorOperation
from .strings import *  # noqa: F403
from .subwords import *  # noqa: F403
from .tokenizers import *  # noqa: F403
