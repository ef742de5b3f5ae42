"""PyTorch's convolutions; on a CPU those of slow types are computed in float32 (`halves`)."""

from __future__ import annotations

import torch.nn.functional as F

from .halves import in_float32

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
           "conv_transpose3d"]

conv1d = in_float32(F.conv1d)
conv2d = in_float32(F.conv2d)
conv3d = in_float32(F.conv3d)
conv_transpose1d = in_float32(F.conv_transpose1d)
conv_transpose2d = in_float32(F.conv_transpose2d)
conv_transpose3d = in_float32(F.conv_transpose3d)
