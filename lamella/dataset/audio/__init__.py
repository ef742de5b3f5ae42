"""Operations on sounds: filters, effects, spectra."""

from .activity import Vad
from .cepstra import LFCC, MFCC, create_dct
from .effects import (
    ComputeDeltas,
    Contrast,
    DCShift,
    Fade,
    FrequencyMasking,
    Gain,
    MaskAlongAxis,
    MaskAlongAxisIID,
    MuLawDecoding,
    MuLawEncoding,
    Overdrive,
    SlidingWindowCmn,
    TimeMasking,
    Vol,
)
from .enums import (
    BorderType,
    DensityFunction,
    FadeShape,
    GainType,
    Interpolation,
    MelType,
    Modulation,
    NormMode,
    NormType,
    ResampleMethod,
    ScaleType,
    WindowType,
)
from .filters import (
    AllpassBiquad,
    BandBiquad,
    BandpassBiquad,
    BandrejectBiquad,
    BassBiquad,
    Biquad,
    DeemphBiquad,
    EqualizerBiquad,
    Filtfilt,
    HighpassBiquad,
    LFilter,
    LowpassBiquad,
    RiaaBiquad,
    TrebleBiquad,
)
from .modulation import Dither, Flanger, Phaser
from .pitch import (
    DetectPitchFrequency,
    GriffinLim,
    InverseMelScale,
    PhaseVocoder,
    PitchShift,
    TimeStretch,
)
from .resampling import Resample
from .spectra import (
    AmplitudeToDB,
    Angle,
    ComplexNorm,
    DBToAmplitude,
    InverseSpectrogram,
    Magphase,
    MelScale,
    MelSpectrogram,
    SpectralCentroid,
    Spectrogram,
    linear_fbanks,
    melscale_fbanks,
)
