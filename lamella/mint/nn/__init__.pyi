"""The names of this package; `make stubs` writes this file."""

from typing import Any

from lamella.mint.nn import activation as activation
from lamella.mint.nn import attention as attention
from lamella.mint.nn import convolution as convolution
from lamella.mint.nn import function_layer as function_layer
from lamella.mint.nn import functional as functional
from lamella.mint.nn import image as image
from lamella.mint.nn import loss as loss
from lamella.mint.nn import normalization as normalization
from lamella.mint.nn import padding as padding
from lamella.mint.nn import recurrent as recurrent
from lamella.mint.nn.activation import (
    ELU as ELU, GELU as GELU, GLU as GLU, Hardtanh as Hardtanh, ReLU6 as ReLU6, SELU as SELU,
    SiLU as SiLU, Threshold as Threshold,
)
from lamella.mint.nn.convolution import (
    Conv1d as Conv1d, Conv2d as Conv2d, Conv3d as Conv3d, ConvTranspose2d as ConvTranspose2d,
)
from lamella.mint.nn.image import (
    AdaptiveAvgPool1d as AdaptiveAvgPool1d, AdaptiveAvgPool2d as AdaptiveAvgPool2d,
    AdaptiveAvgPool3d as AdaptiveAvgPool3d, AdaptiveMaxPool1d as AdaptiveMaxPool1d,
    Upsample as Upsample, UpsamplingBilinear2d as UpsamplingBilinear2d,
    UpsamplingNearest2d as UpsamplingNearest2d,
)
from lamella.mint.nn.loss import (
    BCELoss as BCELoss, BCEWithLogitsLoss as BCEWithLogitsLoss,
    CosineEmbeddingLoss as CosineEmbeddingLoss, CrossEntropyLoss as CrossEntropyLoss,
    KLDivLoss as KLDivLoss, MSELoss as MSELoss, NLLLoss as NLLLoss,
    SmoothL1Loss as SmoothL1Loss,
)
from lamella.mint.nn.normalization import (
    BatchNorm1d as BatchNorm1d, BatchNorm2d as BatchNorm2d, BatchNorm3d as BatchNorm3d,
    GroupNorm as GroupNorm, SyncBatchNorm as SyncBatchNorm,
)
from lamella.mint.nn.padding import (
    ConstantPad1d as ConstantPad1d, ConstantPad2d as ConstantPad2d,
    ConstantPad3d as ConstantPad3d, ReflectionPad1d as ReflectionPad1d,
    ReflectionPad2d as ReflectionPad2d, ReflectionPad3d as ReflectionPad3d,
    ReplicationPad1d as ReplicationPad1d, ReplicationPad2d as ReplicationPad2d,
    ReplicationPad3d as ReplicationPad3d, ZeroPad1d as ZeroPad1d, ZeroPad2d as ZeroPad2d,
    ZeroPad3d as ZeroPad3d,
)
from lamella.mint.nn.recurrent import GRU as GRU, LSTM as LSTM
from lamella.nn.activation import (
    LogSigmoid as LogSigmoid, Mish as Mish, Sigmoid as Sigmoid, Tanh as Tanh,
)
from lamella.nn.adaptive_pooling import (
    AdaptiveMaxPool2d as AdaptiveMaxPool2d, MaxUnpool2d as MaxUnpool2d,
)
from lamella.nn.basic import Flatten as Flatten, Fold as Fold, Identity as Identity
from lamella.nn.cell import Cell as Cell
from lamella.nn.dense import Linear as Linear
from lamella.nn.image import PixelShuffle as PixelShuffle
from lamella.nn.margin_loss import SoftMarginLoss as SoftMarginLoss
from lamella.nn.normalization import RMSNorm as RMSNorm
from lamella.nn.rectifier import ReLU as ReLU

AvgPool1d: Any
AvgPool2d: Any
AvgPool3d: Any
Dropout: Any
Dropout2d: Any
Embedding: Any
Hardshrink: Any
Hardsigmoid: Any
Hardswish: Any
L1Loss: Any
LayerNorm: Any
LogSoftmax: Any
MaxPool2d: Any
PReLU: Any
Softmax: Any
Softshrink: Any
Unfold: Any
