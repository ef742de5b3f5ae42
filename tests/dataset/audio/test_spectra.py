"""Mel scales by their definition, and the shortest sounds and steps of spectra."""

import numpy as np
import pytest

from lamella.dataset import audio as A  # noqa: N812

RNG = np.random.default_rng(5)


def hertz_of(kind, mels):
    """Slaney's scale has 3 mels for 200 Hz up to 1 kHz, then 27 for each factor of 6.4."""
    if kind is A.MelType.HTK:
        return 700 * (10 ** (mels / 2595) - 1)
    return np.where(mels < 15, mels / 3 * 200, 1000 * 6.4 ** ((mels - 15) / 27))


@pytest.mark.parametrize("kind, low, high", [
    # 60 Hz is 0.9 mel, 440 Hz 6.6, 1 kHz 15, 6.4 kHz 42
    (A.MelType.SLANEY, (60, 0.9), (440, 6.6)), (A.MelType.SLANEY, (440, 6.6), (6400, 42)),
    (A.MelType.SLANEY, (60, 0.9), (1000, 15)), (A.MelType.SLANEY, (1000, 15), (6400, 42)),
    (A.MelType.HTK, (0, 0), (700, 2595 * np.log10(2)))])
@pytest.mark.parametrize("norm", A.NormType)
def test_filters_are_triangles_between_points_of_a_mel_scale(kind, low, high, norm):
    filters = A.melscale_fbanks(401, low[0], high[0], 5, 16001, norm, kind)
    points = hertz_of(kind, np.linspace(low[1], high[1], 7))
    at = np.arange(401) * 8000 / 400
    for number, (start, top, end) in enumerate(zip(points[:-2], points[1:-1], points[2:],
                                                   strict=True)):
        height = 2 / (end - start) if norm is A.NormType.SLANEY else 1
        wanted = np.interp(at, [start, top, end], [0, height, 0])
        np.testing.assert_allclose(filters[:, number], wanted, atol=2e-5 * height)


@pytest.mark.parametrize("length, center, enough", [
    (16, False, True), (15, False, False), (9, True, True)])
def test_a_sound_has_a_frame_at_least(length, center, enough):
    sound = RNG.standard_normal((1, length))
    operation = A.Spectrogram(16, 16, 8, 0, center=center, power=1.0)
    if enough:
        frames = 1 if not center else (length + 16 - 16) // 8 + 1
        assert operation(sound).shape == (1, 9, frames)
    else:
        with pytest.raises(RuntimeError, match="less than 15, but got n_fft: 16.* has 15 samples"):
            operation(sound)


def test_steps_of_one_sample_and_by_default_of_half_a_window():
    sound = RNG.standard_normal((2, 3, 20))
    assert A.Spectrogram(8, 6, 1)(sound).shape == (2, 3, 5, 21)
    assert A.Spectrogram(8, 6)(sound).shape == (2, 3, 5, 20 // 3 + 1)
    assert A.Spectrogram(8, onesided=False)(sound).shape == (2, 3, 8, 20 // 4 + 1)
    with pytest.raises(ValueError, match="'hop_length' must be .*-1"):
        A.Spectrogram(8, 6, -1)


@pytest.mark.parametrize("make", [
    lambda: A.MFCC(8000, 7, melkwargs={"n_fft": 64, "n_mels": 12}),
    lambda: A.MFCC(8000, 7, log_mels=True, melkwargs={"n_fft": 64, "n_mels": 12}),
    lambda: A.LFCC(8000, 20, 7, log_lf=True, speckwargs={"n_fft": 64}),
    lambda: A.MelSpectrogram(8000, 64, n_mels=6), lambda: A.Spectrogram(64, power=0.0),
    lambda: A.Flanger(8000, 1.0, 3.0, 20.0, 60.0, 2.0, 0.0),
    lambda: A.Phaser(8000, 0.5, 0.8, 2.0, 0.3, 1.0), lambda: A.PitchShift(8000, 3, n_fft=64),
    lambda: A.Resample(3, 2), lambda: A.Vad(8000), lambda: A.Overdrive(), lambda: A.Contrast(),
    lambda: A.BassBiquad(8000, 3.0), lambda: A.Filtfilt([1.0, 0.1, 0.3], [0.1, 0.2, 0.3]),
    lambda: A.SpectralCentroid(8000, 64),
    lambda: A.DetectPitchFrequency(8000, win_length=5)])
def test_sounds_in_several_dimensions_are_changed_one_by_one(make):
    sounds = RNG.uniform(-0.5, 0.5, (2, 2, 1, 900))
    operation = make()
    if isinstance(operation, A.Vad):  # it cuts all alike
        sounds[:] = sounds[:1, :1]
    found = operation(sounds)
    for index in np.ndindex(2, 2):
        np.testing.assert_allclose(found[index], operation(sounds[index]), rtol=1e-6, atol=1e-9)
