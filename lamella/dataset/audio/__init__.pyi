"""The names of this package; `make stubs` writes this file."""

from lamella.dataset.audio import activity as activity
from lamella.dataset.audio import cepstra as cepstra
from lamella.dataset.audio import effects as effects
from lamella.dataset.audio import enums as enums
from lamella.dataset.audio import filters as filters
from lamella.dataset.audio import modulation as modulation
from lamella.dataset.audio import operation as operation
from lamella.dataset.audio import pitch as pitch
from lamella.dataset.audio import resampling as resampling
from lamella.dataset.audio import spectra as spectra
from lamella.dataset.audio.activity import Vad as Vad
from lamella.dataset.audio.cepstra import LFCC as LFCC, MFCC as MFCC, create_dct as create_dct
from lamella.dataset.audio.effects import (
    ComputeDeltas as ComputeDeltas, Contrast as Contrast, DCShift as DCShift, Fade as Fade,
    FrequencyMasking as FrequencyMasking, Gain as Gain, MaskAlongAxis as MaskAlongAxis,
    MaskAlongAxisIID as MaskAlongAxisIID, MuLawDecoding as MuLawDecoding,
    MuLawEncoding as MuLawEncoding, Overdrive as Overdrive,
    SlidingWindowCmn as SlidingWindowCmn, TimeMasking as TimeMasking, Vol as Vol,
)
from lamella.dataset.audio.enums import (
    BorderType as BorderType, DensityFunction as DensityFunction, FadeShape as FadeShape,
    GainType as GainType, Interpolation as Interpolation, MelType as MelType,
    Modulation as Modulation, NormMode as NormMode, NormType as NormType,
    ResampleMethod as ResampleMethod, ScaleType as ScaleType, WindowType as WindowType,
)
from lamella.dataset.audio.filters import (
    AllpassBiquad as AllpassBiquad, BandBiquad as BandBiquad, BandpassBiquad as BandpassBiquad,
    BandrejectBiquad as BandrejectBiquad, BassBiquad as BassBiquad, Biquad as Biquad,
    DeemphBiquad as DeemphBiquad, EqualizerBiquad as EqualizerBiquad, Filtfilt as Filtfilt,
    HighpassBiquad as HighpassBiquad, LFilter as LFilter, LowpassBiquad as LowpassBiquad,
    RiaaBiquad as RiaaBiquad, TrebleBiquad as TrebleBiquad,
)
from lamella.dataset.audio.modulation import Dither as Dither, Flanger as Flanger, Phaser as Phaser
from lamella.dataset.audio.pitch import (
    DetectPitchFrequency as DetectPitchFrequency, GriffinLim as GriffinLim,
    InverseMelScale as InverseMelScale, PhaseVocoder as PhaseVocoder, PitchShift as PitchShift,
    TimeStretch as TimeStretch,
)
from lamella.dataset.audio.resampling import Resample as Resample
from lamella.dataset.audio.spectra import (
    AmplitudeToDB as AmplitudeToDB, Angle as Angle, ComplexNorm as ComplexNorm,
    DBToAmplitude as DBToAmplitude, InverseSpectrogram as InverseSpectrogram,
    Magphase as Magphase, MelScale as MelScale, MelSpectrogram as MelSpectrogram,
    SpectralCentroid as SpectralCentroid, Spectrogram as Spectrogram,
    linear_fbanks as linear_fbanks, melscale_fbanks as melscale_fbanks,
)
