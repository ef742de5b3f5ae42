"""Filters by what they do to each frequency, and sample by sample."""

import numpy as np
import pytest

from lamella.dataset import audio as A  # noqa: N812

RATE = 8000
HERTZ = np.array([40, 200, 700, 1000, 1500, 2900, 3900])


def response(operation, rate=RATE):
    """The factor by which it multiplies each frequency of `HERTZ`: from that of an impulse."""
    impulse = np.zeros(rate)
    impulse[0] = 1 / 64  # so small that nothing is clipped
    return np.fft.rfft(operation(impulse))[HERTZ] * 64


def prototype(frequency):
    """The analog frequencies, of which the filter's own is 1j (the bilinear transform)."""
    return 1j * np.tan(np.pi * HERTZ / RATE) / np.tan(np.pi * frequency / RATE)


@pytest.mark.parametrize("frequency, q", [(700.0, 0.707), (1500.0, 0.3), (300.0, 1.0)])
@pytest.mark.parametrize("kind, wanted", [
    (A.LowpassBiquad, lambda s, q: 1 / (s * s + s / q + 1)),
    (A.HighpassBiquad, lambda s, q: s * s / (s * s + s / q + 1)),
    (A.BandpassBiquad, lambda s, q: s / q / (s * s + s / q + 1)),
    (lambda *given: A.BandpassBiquad(*given, True), lambda s, q: s / (s * s + s / q + 1)),
    (A.BandrejectBiquad, lambda s, q: (s * s + 1) / (s * s + s / q + 1)),
    (A.AllpassBiquad, lambda s, q: (s * s - s / q + 1) / (s * s + s / q + 1))])
def test_filters_of_the_cookbook(kind, wanted, frequency, q):
    np.testing.assert_allclose(response(kind(RATE, frequency, q)), wanted(prototype(frequency), q),
                               atol=1e-9)


@pytest.mark.parametrize("gain", [-9.0, 6.0, 0.0])
@pytest.mark.parametrize("frequency, q", [(700.0, 0.707), (1500.0, 0.3)])
def test_equalizer_and_shelves(gain, frequency, q):
    level, s = 10 ** (gain / 40), prototype(frequency)
    peak = (s * s + s * level / q + 1) / (s * s + s / level / q + 1)
    np.testing.assert_allclose(response(A.EqualizerBiquad(RATE, frequency, gain, q)), peak)
    slope = np.sqrt(level) / q * s
    low = level * (s * s + slope + level) / (level * s * s + slope + 1)
    np.testing.assert_allclose(response(A.BassBiquad(RATE, gain, frequency, q)), low)
    high = level * (level * s * s + slope + 1) / (s * s + slope + level)
    np.testing.assert_allclose(response(A.TrebleBiquad(RATE, gain, frequency, q)), high)


@pytest.mark.parametrize("make, named", [
    (lambda: A.BassBiquad(RATE, 5.0), lambda: A.BassBiquad(RATE, 5.0, 100.0, 0.707)),
    (lambda: A.TrebleBiquad(RATE, 5.0), lambda: A.TrebleBiquad(RATE, 5.0, 3000.0, 0.707)),
    *[(lambda kind=kind: kind(RATE, 900.0), lambda kind=kind: kind(RATE, 900.0, 0.707))
      for kind in (A.AllpassBiquad, A.BandBiquad, A.BandpassBiquad, A.BandrejectBiquad,
                   A.HighpassBiquad, A.LowpassBiquad)],
    (lambda: A.EqualizerBiquad(RATE, 900.0, 4.0),
     lambda: A.EqualizerBiquad(RATE, 900.0, 4.0, 0.707))])
def test_what_is_not_given(make, named):
    np.testing.assert_array_equal(response(make()), response(named()))


@pytest.mark.parametrize("frequency, q", [(1000.0, 0.9), (700.0, 0.5), (2900.0, 1.0)])
def test_a_band_has_a_peak_of_1_or_keeps_the_power_of_noise(frequency, q):
    impulse = np.zeros(4000)
    impulse[0] = 1 / 64
    tone, noise = (A.BandBiquad(RATE, frequency, q, is_noise)(impulse) * 64
                   for is_noise in (False, True))
    size = np.abs(np.fft.rfft(tone, 65536))
    assert size.max() == pytest.approx(1, abs=1e-6)
    assert np.square(noise).sum() == pytest.approx(1)
    # the poles are at the frequency's angle, up to the shift that makes it the peak
    poles = np.exp(-2 * np.pi * frequency / q / RATE)
    peak = np.argmax(size) * RATE / 65536
    assert peak == pytest.approx(frequency, abs=0.2) or 4 * poles / (1 + poles) > 2
    assert noise[1] / noise[0] == pytest.approx(tone[1] / tone[0])
    ratio = (tone[2] * tone[0] - tone[1] ** 2) / tone[0] ** 2
    assert -ratio == pytest.approx(poles)


@pytest.mark.parametrize("rate", [44100, 48000])
def test_de_emphasis_of_compact_discs(rate):
    """Time constants of 50 and 15 microseconds (IEC 60908)."""
    hertz = np.array([20, 500, 1000, 3000, 5283, 10000, 14000])
    impulse = np.zeros(rate)
    impulse[0] = 1 / 64
    found = np.abs(np.fft.rfft(A.DeemphBiquad(rate)(impulse)))[hertz] * 64
    s = 2j * np.pi * hertz
    wanted = np.abs((1 + 15e-6 * s) / (1 + 50e-6 * s))
    assert np.abs(20 * np.log10(found / wanted)).max() < 0.07


@pytest.mark.parametrize("rate, frequency, slope, gain", [
    (44100, 5283, 0.4845, -9.477), (48000, 5356, 0.479, -9.62)])
def test_de_emphasis_is_a_shelf(rate, frequency, slope, gain):
    """Of the frequency, slope and gain that SoX gives for each rate."""
    level = 10 ** (gain / 40)
    s = 1j * np.tan(np.pi * HERTZ / rate) / np.tan(np.pi * frequency / rate)
    middle = np.sqrt(level * ((level + 1 / level) * (1 / slope - 1) + 2)) * s
    wanted = level * (level * s * s + middle + 1) / (s * s + middle + level)
    np.testing.assert_allclose(response(A.DeemphBiquad(rate), rate), wanted)


def by_samples(sound, a, b):
    out = np.zeros_like(sound)
    for time in range(sound.shape[-1]):
        for lag, (feedback, forward) in enumerate(zip(a, b, strict=True)):
            if lag <= time:
                out[..., time] += forward * sound[..., time - lag]
                out[..., time] -= (feedback * out[..., time - lag]) if lag else 0
        out[..., time] /= a[0]
    return out


@pytest.mark.parametrize("a, b", [([2.0, 0.3], [3.0, -1.0]), ([1.0, -0.4, 0.2], [0.1, 2.0, 0.5]),
                                  ([0.5, 0.1, 0.0, 0.2], [1.0, 0.0, 0.0, -0.7])])
@pytest.mark.parametrize("clamp", [False, True])
def test_filters_by_their_coefficients(a, b, clamp):
    sound = np.random.default_rng(0).uniform(-1, 1, (2, 3, 12))
    forward = by_samples(sound, a, b)
    both = by_samples(forward[..., ::-1], a, b)[..., ::-1]
    assert np.abs(forward).max() > 1 < np.abs(both).max()
    for kind, wanted in ((A.LFilter, forward), (A.Filtfilt, both)):
        found = kind(a, b, clamp)(sound)
        np.testing.assert_allclose(found, np.clip(wanted, -1, 1) if clamp else wanted, atol=1e-12)
        np.testing.assert_allclose(kind(a, b)(sound), np.clip(wanted, -1, 1), atol=1e-12)
    if len(a) == 3:
        np.testing.assert_allclose(A.Biquad(*b, *a)(sound), np.clip(forward, -1, 1), atol=1e-12)


@pytest.mark.parametrize("kind", [A.LFilter, A.Filtfilt])
@pytest.mark.parametrize("a, b", [([1.0], [1.0, 2.0]), ([1.0, 2.0], [1.0])])
def test_there_are_as_many_coefficients_of_the_output_as_of_the_input(kind, a, b):
    with pytest.raises(ValueError, match=f"'{kind.__name__}', they are {len(a)} and {len(b)}"):
        kind(a, b)
