"""Options of the operations on sounds."""

from __future__ import annotations

from enum import Enum


class BorderType(str, Enum):
    """How the ends of a signal are padded."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class DensityFunction(str, Enum):
    """The distribution of noise."""

    TPDF = "TPDF"
    RPDF = "RPDF"
    GPDF = "GPDF"


class FadeShape(str, Enum):
    """The shape of a fade."""

    QUARTER_SINE = "quarter_sine"
    HALF_SINE = "half_sine"
    LINEAR = "linear"
    LOGARITHMIC = "logarithmic"
    EXPONENTIAL = "exponential"


class GainType(str, Enum):
    """The unit of a gain."""

    AMPLITUDE = "amplitude"
    POWER = "power"
    DB = "db"


class Interpolation(str, Enum):
    """How values between samples are interpolated."""

    LINEAR = "linear"
    QUADRATIC = "quadratic"


class MelType(str, Enum):
    """Which mel scale."""

    HTK = "htk"
    SLANEY = "slaney"


class Modulation(str, Enum):
    """The modulating wave."""

    SINUSOIDAL = "sinusoidal"
    TRIANGULAR = "triangular"


class NormMode(str, Enum):
    """How a cosine transform is scaled."""

    ORTHO = "ortho"
    NONE = "none"


class NormType(str, Enum):
    """How mel filters are scaled."""

    SLANEY = "slaney"
    NONE = "none"


class ResampleMethod(str, Enum):
    """The window of a resampling filter."""

    SINC_INTERPOLATION = "sinc_interpolation"
    KAISER_WINDOW = "kaiser_window"


class ScaleType(str, Enum):
    """What the numbers of a spectrum are."""

    MAGNITUDE = "magnitude"
    POWER = "power"


class WindowType(str, Enum):
    """The window of a transform."""

    BARTLETT = "bartlett"
    BLACKMAN = "blackman"
    HAMMING = "hamming"
    HANN = "hann"
    KAISER = "kaiser"
