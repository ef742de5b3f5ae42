"""The choices that operations on sounds offer."""

from __future__ import annotations

from enum import Enum


class BorderType(str, Enum):
    """What lies outside of a signal."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class DensityFunction(str, Enum):
    """What noise is drawn from."""

    TPDF = "TPDF"
    RPDF = "RPDF"
    GPDF = "GPDF"


class FadeShape(str, Enum):
    """How a sound fades."""

    QUARTER_SINE = "quarter_sine"
    HALF_SINE = "half_sine"
    LINEAR = "linear"
    LOGARITHMIC = "logarithmic"
    EXPONENTIAL = "exponential"


class GainType(str, Enum):
    """In which unit a gain is."""

    AMPLITUDE = "amplitude"
    POWER = "power"
    DB = "db"


class Interpolation(str, Enum):
    """How values between samples are found."""

    LINEAR = "linear"
    QUADRATIC = "quadratic"


class MelType(str, Enum):
    """Which mel scale."""

    HTK = "htk"
    SLANEY = "slaney"


class Modulation(str, Enum):
    """The shape of a modulation."""

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
    """What a spectrum's numbers are."""

    MAGNITUDE = "magnitude"
    POWER = "power"


class WindowType(str, Enum):
    """The window of a transform."""

    BARTLETT = "bartlett"
    BLACKMAN = "blackman"
    HAMMING = "hamming"
    HANN = "hann"
    KAISER = "kaiser"
