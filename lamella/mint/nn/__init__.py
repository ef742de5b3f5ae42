"""Layers of `mint`, as PyTorch names and means them."""

from __future__ import annotations

from ...compat.missing import getattr_of as _getattr_of
from ...nn import (
    AdaptiveMaxPool2d,
    Cell,
    Flatten,
    Identity,
    Linear,
    LogSigmoid,
    MaxUnpool2d,
    Mish,
    PixelShuffle,
    ReLU,
    RMSNorm,
    Sigmoid,
    SoftMarginLoss,
    Tanh,
)
from ...nn import AvgPool1dExt as AvgPool1d
from ...nn import AvgPool2dExt as AvgPool2d
from ...nn import AvgPool3dExt as AvgPool3d
from ...nn import Dropout2dExt as Dropout2d
from ...nn import DropoutExt as Dropout
from ...nn import EmbeddingExt as Embedding
from ...nn import HShrink as Hardshrink
from ...nn import HSigmoid as Hardsigmoid
from ...nn import HSwish as Hardswish
from ...nn import L1LossExt as L1Loss
from ...nn import LayerNormExt as LayerNorm
from ...nn import LogSoftmaxExt as LogSoftmax
from ...nn import MaxPool2dExt as MaxPool2d
from ...nn import PReLUExt as PReLU
from ...nn import SoftShrink as Softshrink
from ...nn.activation import SoftmaxExt as Softmax
from ...nn.basic import Fold
from ...nn.basic import UnfoldExt as Unfold
from . import functional
from .activation import *
from .convolution import *
from .image import *
from .loss import *
from .normalization import *
from .padding import *
from .recurrent import *

__getattr__ = _getattr_of(__name__)
