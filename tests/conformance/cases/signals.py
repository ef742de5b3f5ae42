"""Operations on longer sounds and on spectra."""

from ..spec import case

SOUNDS = [
    *(f"DCShift({shift}, {limit})" for shift in (0.3, -0.4, 0.9) for limit in (0.02, 0.2, 0.5)),
    "DCShift(0.3)", "DCShift(0.2, 0.2)", "DCShift(-0.2)", "Contrast(0.0)", "Overdrive(60.0, 90.0)",
    "Overdrive(0.0, 0.0)",
    *(f"Flanger(8000, {delay}, {depth}, {regen}, {width}, {speed}, {phase}, "
      f"audio.Modulation.{wave}, audio.Interpolation.{between})"
      for delay, depth, regen, width, speed, phase, wave, between in (
          (0.0, 2.0, 0.0, 71.0, 0.5, 25.0, "SINUSOIDAL", "LINEAR"),
          (5.0, 1.0, 40.0, 90.0, 9.0, 0.0, "SINUSOIDAL", "QUADRATIC"),
          (5.0, 1.0, 40.0, 90.0, 9.0, 80.0, "TRIANGULAR", "LINEAR"),
          (2.0, 8.0, -60.0, 30.0, 3.0, 100.0, "TRIANGULAR", "QUADRATIC"),
          (30.0, 10.0, 95.0, 100.0, 10.0, 10.0, "SINUSOIDAL", "QUADRATIC"))),
    *(f"Phaser({rate}, {gain}, {out}, {delay}, {decay}, {speed}, {sinus})"
      for rate, gain, out, delay, decay, speed, sinus in (
          (8000, 0.4, 0.74, 3.0, 0.4, 0.5, True), (8000, 1.0, 1.5, 5.0, 0.9, 2.0, False),
          (3000, 0.7, 0.4, 1.0, 0.2, 1.3, True), (3000, 0.7, 0.4, 4.0, 0.2, 0.1, False))),
    *(f"DetectPitchFrequency({rate}, {time}, {size}, {low}, {high})"
      for rate, time, size, low, high in (
          (8000, 0.01, 30, 85, 3400), (8000, 0.02, 5, 100, 1000), (4000, 0.03, 4, 60, 900),
          (8000, 0.05, 1, 90, 2000), (6000, 0.011, 7, 150, 701))),
    "Dither()", "Dither(audio.DensityFunction.TPDF, True)",
    "Fade(300, 500, audio.FadeShape.LOGARITHMIC)", "Fade(0, 900, audio.FadeShape.HALF_SINE)",
    "Filtfilt([1.2, 0.1, 0.3], [1.0, 0.2, 0.1], True)",
    "LFilter([1.0, -0.9, 0.3], [0.1, 0.2, 0.3], False)", "LFilter([2.0, -0.9], [0.1, 0.2], True)",
    *(f"PitchShift(8000, {steps}, {bins}, 128, {width}, {hop}, audio.WindowType.{window})"
      for steps, bins, width, hop, window in (
          (4, 12, None, None, "HANN"), (-3, 24, 100, 30, "HAMMING"), (7, 5, 128, 50, "BARTLETT"))),
    *(f"Resample({old}, {new}, audio.ResampleMethod.{how}, {width}, {share}, {beta})"
      for old, new, how, width, share, beta in (
          (8000, 3000, "SINC_INTERPOLATION", 3, 0.8, None),
          (3000, 8000, "KAISER_WINDOW", 5, 0.95, 9.0),
          (441, 160, "KAISER_WINDOW", 2, 0.5, None), (5, 5, "SINC_INTERPOLATION", 2, 0.5, None))),
    *(f"Spectrogram(64, {length}, {hop}, {pad}, audio.WindowType.{window}, {power}, {scaled}, "
      f"{centred}, audio.BorderType.{border}, {half})"
      for length, hop, pad, window, power, scaled, centred, border, half in (
          (60, 100, 3, "HANN", 1.0, True, True, "CONSTANT", True),
          (64, 90, 0, "HAMMING", 3.0, False, True, "EDGE", False),
          (41, 80, 7, "BLACKMAN", 2.0, True, True, "SYMMETRIC", True),
          (64, 90, 0, "BARTLETT", 0.0, False, False, "REFLECT", True),
          (33, 80, 1, "KAISER", 1.0, True, True, "REFLECT", False))),
    "MelSpectrogram(8000, 64, 60, 90, 50.0, 3500.0, 5, 7, audio.WindowType.HANN, 2.0, True, False, "
    "audio.BorderType.EDGE, False, audio.NormType.SLANEY, audio.MelType.SLANEY)",
    "SpectralCentroid(8000, 64, 50, 90, 3, audio.WindowType.HAMMING)",
    "MFCC(8000, 6, 2, audio.NormMode.ORTHO, False, melkwargs={'n_fft': 64, 'win_length': 64, "
    "'hop_length': 90, 'n_mels': 9, 'f_min': 30.0, 'f_max': 3000.0, 'pad': 1})",
    *(f"LFCC(8000, 9, 6, 100.0, 3000.0, 2, audio.NormMode.{norm}, {log}, speckwargs={{'n_fft': 64, "
      "'win_length': 60, 'hop_length': 90, 'pad': 2, 'power': 2.0})"
      for norm, log in (("NONE", True), ("ORTHO", False))),
    "MuLawEncoding(300)", "Vol(1.5)",
]
SPECTRA = [
    "TimeMasking(False, 4, 1, 0.5)",
    "FrequencyMasking(False, 4, 2, 0.5)",
    "SlidingWindowCmn(3, 2)", "SlidingWindowCmn(4, 9, False, True)", "SlidingWindowCmn(7, 2, True)",
    "SlidingWindowCmn(20, 5)", "SlidingWindowCmn(20, 30, True, True)", "ComputeDeltas(9)",
    "AmplitudeToDB(audio.ScaleType.POWER, 0.5, 0.1, 9.0)",
    "AmplitudeToDB(audio.ScaleType.MAGNITUDE, 3.0, 1e-3, 30.0)",
]
PAIRS = [
    "PhaseVocoder(1.3, np.linspace(0, 20, 9, dtype='float32')[:, None])",
    "PhaseVocoder(0.7, np.linspace(0, 9, 9, dtype='float32')[:, None])",
    "TimeStretch(None, 9, 1.2)", "TimeStretch(5, 9, 0.8)", "TimeStretch(5, 9)", "Magphase(3.0)",
    "ComplexNorm(1.5)", "Angle()",
    "InverseSpectrogram(None, 16)",
    "InverseSpectrogram(40, 16, 12, 5, 0, audio.WindowType.HAMMING)",
]
NORMED = ["InverseSpectrogram(30, 16, 16, 5, 3, audio.WindowType.HANN, True, True)"]
BODY = """time = np.arange(1500)
noise = np.random.RandomState(4)
wave = 0.55 * np.sin(time * 0.31) + 0.4 * np.sin(time * 0.047) + 0.05 * noise.randn(2, 1500)
spectrum = np.abs(noise.randn(2, 9, 14))
pairs = noise.randn(2, 9, 14, 2)
y = audio.{call}({x}.astype(np.{kind}))
y = y if isinstance(y, tuple) else (y,)
return [(one.shape, Tensor(one.ravel()[::one.size // 60 | 1])) for one in y]"""


def _bodies(operations: list[str], x: str, kind: str = "float32") -> list:
    return [case(BODY.format(call=one, x=x, kind=kind)) for one in operations]


CASES = [
    *_bodies([one for one in SOUNDS if not one.startswith("Pit")], "wave"),
    *_bodies([one for one in SOUNDS if one.startswith(("DC", "Fla", "Pha", "Det", "Over", "Pit"))],
             "wave[0]", "float64"),
    *_bodies(SPECTRA, "spectrum"), *_bodies(SPECTRA[:4], "spectrum[0]", "float64"),
    *_bodies(PAIRS, "pairs", "float64"), *_bodies(NORMED, "pairs"),
]
