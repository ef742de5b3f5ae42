"""Enumerations for arguments of image operations."""

from __future__ import annotations

from enum import Enum, IntEnum


class AutoAugmentPolicy(str, Enum):
    """The data set that a policy was found on."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


class Border(str, Enum):
    """The padding mode."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class ConvertMode(IntEnum):
    """The source and the target colour format."""

    COLOR_BGR2BGRA = 0
    COLOR_RGB2RGBA = 0
    COLOR_BGRA2BGR = 1
    COLOR_RGBA2RGB = 1
    COLOR_BGR2RGBA = 2
    COLOR_RGB2BGRA = 2
    COLOR_RGBA2BGR = 3
    COLOR_BGRA2RGB = 3
    COLOR_BGR2RGB = 4
    COLOR_RGB2BGR = 4
    COLOR_BGRA2RGBA = 5
    COLOR_RGBA2BGRA = 5
    COLOR_BGR2GRAY = 6
    COLOR_RGB2GRAY = 7
    COLOR_GRAY2BGR = 8
    COLOR_GRAY2RGB = 8
    COLOR_GRAY2BGRA = 9
    COLOR_GRAY2RGBA = 9
    COLOR_BGRA2GRAY = 10
    COLOR_RGBA2GRAY = 11


class ImageBatchFormat(IntEnum):
    """The layout of a batch of images."""

    NHWC = 0
    NCHW = 1


class ImageReadMode(IntEnum):
    """The colour format that an image is read in."""

    UNCHANGED = 0
    GRAYSCALE = 1
    COLOR = 2


class Inter(IntEnum):
    """The interpolation."""

    NEAREST = 0
    ANTIALIAS = 1
    BILINEAR = LINEAR = 2
    BICUBIC = CUBIC = 3
    AREA = 4
    PILCUBIC = 5


class SliceMode(IntEnum):
    """Whether to pad or drop the rest of an image that can't be divided evenly."""

    PAD = 0
    DROP = 1
