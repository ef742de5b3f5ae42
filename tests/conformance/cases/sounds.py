"""Operations on sounds, with several settings each."""

from ..spec import many

RATES = (44100, 48000, 88200, 96000)
OPERATIONS = [
    *(f"RiaaBiquad({rate})" for rate in RATES[:2]),
    *(f"DeemphBiquad({rate})" for rate in RATES[:2]),
    *(f"{name}({rate}, 900.0, {q})"
      for name in ("AllpassBiquad", "BandBiquad", "BandpassBiquad", "BandrejectBiquad",
                   "HighpassBiquad", "LowpassBiquad")
      for rate in (8000, 44100) for q in (0.3, 0.9)),
    *(f"{name}({rate}, {gain}, 900.0, {q})"
      for name in ("BassBiquad", "TrebleBiquad") for rate in (8000, 44100)
      for gain, q in ((-6.0, 0.5), (4.0, 0.9))),
    *(f"EqualizerBiquad(8000, 900.0, {gain}, {q})" for gain, q in ((-6.0, 0.5), (4.0, 0.9))),
    "BandBiquad(8000, 900.0, 0.7, True)", "BandpassBiquad(8000, 900.0, 0.7, True)",
    "Biquad(0.1, 0.2, 0.3, 1.0, 0.4, 0.2)", "Biquad(0.1, 0.2, 0.3, 2.0, 0.4, 0.2)",
    "AmplitudeToDB()", "AmplitudeToDB(audio.ScaleType.MAGNITUDE, 2.0, 0.5, 20.0)",
    "DBToAmplitude(2.0, 0.5)", "DBToAmplitude(0.5, 1.0)",
    "ComputeDeltas(5)", "ComputeDeltas(7, audio.BorderType.REFLECT)",
    "ComputeDeltas(3, audio.BorderType.CONSTANT)", "ComputeDeltas(3, audio.BorderType.SYMMETRIC)",
    "Contrast(20.0)", "Contrast(90.0)", "DCShift(0.3)", "DCShift(-0.3, 0.05)", "DCShift(0.8, 0.02)",
    "Fade(5, 7)", *(f"Fade(9, 4, audio.FadeShape.{shape})" for shape in (
        "QUARTER_SINE", "HALF_SINE", "LINEAR", "LOGARITHMIC", "EXPONENTIAL")),
    "Filtfilt([1.0, 0.2, 0.1], [0.2, 0.3, 0.1])", "Filtfilt([1.0, 0.2], [0.2, 0.3], False)",
    "LFilter([1.0, 0.2, 0.1], [0.2, 0.3, 0.1])", "LFilter([1.0, 0.2], [0.9, 0.8], False)",
    *(f"Flanger(8000, 1.0, 3.0, {regen}, 60.0, 2.0, {phase}, audio.Modulation.{wave}, "
      f"audio.Interpolation.{between})" for regen, phase, wave, between in (
          (10.0, 25.0, "SINUSOIDAL", "LINEAR"), (-20.0, 50.0, "TRIANGULAR", "QUADRATIC"))),
    "Gain(3.0)", "Gain(-6.0)", "Magphase(2.0)", "MuLawEncoding(128)", "MuLawEncoding(16)",
    "Overdrive(10.0, 30.0)", "Overdrive(40.0, 5.0)",
    "Phaser(8000, 0.5, 0.8, 2.0, 0.3, 1.0, True)", "Phaser(8000, 0.5, 0.8, 2.0, 0.3, 1.0, False)",
    "Vol(0.5)", "Vol(2.0, audio.GainType.POWER)", "Vol(6.0, audio.GainType.DB)",
    *(f"Resample({before}, {after}, audio.ResampleMethod.{how}, {width}, {rolloff})"
      for before, after in ((8000, 6000), (6000, 8000))
      for how, width, rolloff in (("SINC_INTERPOLATION", 6, 0.99), ("KAISER_WINDOW", 4, 0.8))),
    *(f"Spectrogram(16, {length}, {hop}, {pad}, audio.WindowType.{window}, {power}, {scaled}, "
      f"{centred}, audio.BorderType.REFLECT, {half})"
      for length, hop, pad, window, power, scaled, centred, half in (
          (16, 8, 0, "HANN", 2.0, False, True, True), (12, 5, 2, "HAMMING", 1.0, True, True, True),
          (16, 8, 0, "BLACKMAN", 2.0, False, False, False),
          (10, 4, 1, "BARTLETT", 1.0, False, True, False),
          (10, 4, 1, "KAISER", 1.0, True, False, True))),
    "MelSpectrogram(8000, 32, 32, 16, 0.0, 4000.0, 0, 8)",
    "MelSpectrogram(8000, 32, 24, 10, 100.0, 3000.0, 2, 6, audio.WindowType.HAMMING, 1.0, True)",
    "SpectralCentroid(8000, 16)", "SpectralCentroid(8000, 16, 12, 4, 1)",
    "SlidingWindowCmn(6, 2)", "SlidingWindowCmn(6, 2, True, True)", "SlidingWindowCmn(5, 3, True)",
    "MFCC(8000, 5, 2, melkwargs={'n_fft': 32, 'win_length': 32, 'hop_length': 16, 'n_mels': 8, "
    "'f_min': 0.0, 'f_max': 4000.0, 'pad': 0})",
    "MFCC(8000, 5, 2, audio.NormMode.NONE, True, melkwargs={'n_fft': 32, 'win_length': 32, "
    "'hop_length': 16, 'n_mels': 8, 'f_min': 0.0, 'f_max': 4000.0, 'pad': 0})",
    "LFCC(8000, 8, 5, 0.0, 4000.0, speckwargs={'n_fft': 32, 'win_length': 32, 'hop_length': 16, "
    "'pad': 0, 'power': 2.0})",
    "Vad(8000)", "DetectPitchFrequency(8000, 0.002, 2, 300, 3000)",
]
SPECTRA = [
    "InverseMelScale(9, 5, 8000, 0.0, 4000.0)", "MelScale(5, 8000, 0.0, 4000.0, 9)",
    "MelScale(5, 8000, 100.0, 3000.0, 9, audio.NormType.SLANEY, audio.MelType.SLANEY)",
    "MaskAlongAxis(2, 3, 0.5, 1)", "MaskAlongAxis(1, 4, 0.0, 2)",
    "FrequencyMasking(False, 3, 2, 0.5)", "TimeMasking(False, 3, 2, 0.5)",
]
FUNCTIONS = """
    Tensor(audio.create_dct(4, 6))
    Tensor(audio.create_dct(4, 6, audio.NormMode.ORTHO))
    Tensor(audio.linear_fbanks(8000, 5, 0.0, 4000.0, 9))
    Tensor(audio.linear_fbanks(8000, 5, 300.0, 3000.0, 9))
    Tensor(audio.melscale_fbanks(9, 0.0, 4000.0, 5, 8000))
    Tensor(audio.melscale_fbanks(9, 100.0, 3000.0, 5, 8000, audio.NormType.SLANEY))
    Tensor(audio.melscale_fbanks(9, 0.0, 4000.0, 5, 8000, mel_type=audio.MelType.SLANEY))
"""


def applied(operations: list[str], array: str) -> str:
    return "\n".join([f"Tensor(audio.{operation}({array}))" for operation in operations])


CASES = [
    *many(applied(OPERATIONS, "x.asnumpy() / 4"), x="[2,64]"),
    *many(applied(SPECTRA, "x.asnumpy()"), x="[2,9,10]+"),
    *many(applied([o for o in OPERATIONS if "Biquad(8000" in o], "x.asnumpy() / 4"), ("float64",),
          x="[40]"),
    *many(FUNCTIONS),
    *many("\n".join([f"Tensor(audio.RiaaBiquad({rate})(x.asnumpy() / 4).astype(np.float16))"
                     for rate in RATES[2:]]), x="[2,64]"),
]
