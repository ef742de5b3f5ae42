"""Phaser, flanger and dither, sample by sample as SoX defines them."""

import numpy as np
import pytest

import lamella as ms
from lamella.dataset import audio as A  # noqa: N812
from lamella.dataset.audio.modulation import _wave

SINE, TRIANGLE = A.Modulation.SINUSOIDAL, A.Modulation.TRIANGULAR


def wave_at(kind, share):
    """A wave between 0 and 1 that begins in the middle and rises first; `share` of its period."""
    if kind is SINE:
        return (1 + np.sin(2 * np.pi * share)) / 2
    return np.interp(share % 1, [0, 0.25, 0.75, 1], [0.5, 1, 0, 0.5])


@pytest.mark.parametrize("kind", [SINE, TRIANGLE])
@pytest.mark.parametrize("size", [1, 2, 7, 8, 50])
@pytest.mark.parametrize("phase", [0.0, np.pi / 2, 3 * np.pi / 2])
def test_one_period_of_a_wave(kind, size, phase):
    begin = np.floor(phase / (2 * np.pi) * size + 0.5)
    wanted = -3 + 8 * wave_at(kind, (np.arange(size) + begin) / size)
    np.testing.assert_allclose(_wave(kind, size, -3.0, 5.0, phase), wanted, atol=1e-12)


@pytest.mark.parametrize("sinusoidal", [True, False])
@pytest.mark.parametrize("rate, delay, longest", [(900, 5.0, 5), (880, 5.0, 4), (500, 1.0, 1)])
@pytest.mark.parametrize("channels", [1, 2])
def test_phaser(sinusoidal, rate, delay, longest, channels):
    length = rate // 2 + 20  # more than a period
    sound = np.random.default_rng(0).uniform(-1, 1, (channels, length))
    phaser = A.Phaser(rate, 0.8, 2.0, delay, 0.7, 2.0, sinusoidal)
    found, period = phaser(sound), int(rate / 2 + 0.5)
    kind = SINE if sinusoidal else TRIANGLE
    begin = int(period / 4 + 0.5)
    for row, out in zip(sound, found, strict=True):
        echo, wanted = np.zeros(longest), []
        for time, value in enumerate(row):
            at = 1 + (longest - 1) * wave_at(kind, ((time + begin) % period) / period)
            mixed = value * 0.8 + echo[(time + int(at + 0.5)) % longest]
            echo[(time + 1) % longest] = mixed * 0.7
            wanted.append(np.clip(mixed * 2.0, -1, 1))
        near = np.isclose(out, wanted, atol=1e-9)
        assert near.mean() == 1
        assert 1 in out and -1 in out


def test_a_delay_is_a_sample_at_least():
    assert A.Phaser(500, delay_ms=1.0)(np.ones((1, 3))).shape == (1, 3)
    with pytest.raises(RuntimeError, match="'delay_ms' is shorter than a sample"):
        A.Phaser(499, delay_ms=1.0)(np.ones((1, 3)))


@pytest.mark.parametrize("modulation", [SINE, TRIANGLE])
@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("rate, delay, depth, regen, width, phase", [
    (510, 2.0, 5.0, 40.0, 80.0, 30.0), (550, 0.0, 10.0, -60.0, 100.0, 0.0),
    (510, 12.0, 0.0, 0.0, 30.0, 100.0)])
def test_flanger(modulation, lines, rate, delay, depth, regen, width, phase):
    speed, length = 8.0, 150
    sound = np.random.default_rng(0).uniform(-0.9, 0.9, (2, 3, length))
    kind = A.Interpolation.LINEAR if lines else A.Interpolation.QUADRATIC
    found = A.Flanger(rate, delay, depth, regen, width, speed, phase, modulation, kind)(sound)
    low, period = int(delay * rate / 1000 + 0.5), int(rate / speed)
    high = int((delay + depth) / 1000 * rate + 0.5)
    gain = 1 / (1 + width / 100)
    copy = width / 100 * gain * (1 - abs(regen) / 100)
    begin = int(0.75 * period + 0.5)
    for index in np.ndindex(2, 3):
        written, last = [0.0] * 64, 0.0  # what was written, the latest last
        shift = int(index[1] * period * phase / 100 + 0.5)
        for time, value in enumerate(sound[index]):
            written.append(value + last * regen / 100)
            place = ((time + shift) % period + begin) % period / period
            at = low + (high - low) * wave_at(modulation, place)
            behind = int(np.float32(at))
            a, b, c = (written[-1 - (behind + i) % (high + 2)] for i in range(3))
            part = at - behind
            if lines:
                last = a + (b - a) * part
            else:  # the parabola through the three
                last = (a * (1 - part) * (2 - part) / 2 + b * part * (2 - part)
                        + c * part * (part - 1) / 2)
            wanted = np.clip(value * gain + last * copy, -1, 1)
            assert found[index][time] == pytest.approx(wanted, abs=2e-5)


def test_the_shortest_sound_and_the_most_channels():
    assert A.Flanger(8000)(np.full((4, 1), 0.5)).shape == (4, 1)
    assert A.Flanger(8000)(np.array([[9.0], [-9.0]])).tolist() == [[1], [-1]]
    with pytest.raises(RuntimeError, match="But got channel: 5"):
        A.Flanger(8000)(np.full((5, 1), 0.5))


@pytest.mark.parametrize("kind", [A.Phaser, A.Flanger])
def test_a_rate_of_0_is_refused(kind):
    for rate in (1, -1, -2**31, 2**31 - 1):
        assert kind(rate).sample_rate == rate
    for rate in (0, -2**31 - 1, 2**31):
        with pytest.raises(ValueError, match="sample_rate"):
            kind(rate)


def quantized(scaled):
    return np.sign(scaled) * np.floor(abs(scaled) + 0.5) / 2**15


@pytest.mark.parametrize("shaped", [False, True])
@pytest.mark.parametrize("density, noise", [
    (A.DensityFunction.TPDF, lambda level: [0, 2 / 5, 4 / 5, 4 / 5, 2 / 5]),
    (A.DensityFunction.RPDF, lambda level: [level - 0.5] * 5),
    (A.DensityFunction.GPDF, lambda level: [7 * level] * 5)])
@pytest.mark.parametrize("level", [0.7, -0.3, 1e-6, -1e-6])
def test_noise_is_added_before_rounding(density, noise, level, shaped):
    """That of the last two is made of samples, which are all alike here."""
    sound = np.full((1, 5), level)
    wanted = quantized(sound * (2**15 - 2) + noise(level))
    if shaped:
        wanted[:, 1:] += (wanted - sound)[:, :-1]
    np.testing.assert_allclose(A.Dither(density, shaped)(sound), wanted, atol=1e-12)


@pytest.mark.parametrize("shape, drawn", [
    ((1, 1), []), ((1, 5), [(0, 4)]), ((3, 1), [(0, 2)]), ((3, 5), [(0, 2), (0, 4)]),
    ((2, 1, 3), [(0, 1), (0, 2)]), ((2,), [(0, 1)])])
def test_only_what_has_a_choice_is_drawn(shape, drawn):
    class Streams:
        def __init__(self):
            self.drawn = []

        def of(self, operation):
            return self

        def integer(self, low, high):
            self.drawn.append((low, high))
            return high

    for density, count in ((A.DensityFunction.RPDF, 1), (A.DensityFunction.GPDF, 7),
                           (A.DensityFunction.TPDF, 0)):
        streams = Streams()
        A.Dither(density).run((np.ones(shape),), streams)
        assert streams.drawn == drawn * count


def test_noise_comes_from_all_channels_and_times():
    sound, found = np.array([[0.1, 0.3], [0.5, 0.7], [0.2, 0.9]]), set()
    for seed in range(60):
        ms.dataset.config.set_seed(seed)
        found.add(A.Dither(A.DensityFunction.RPDF)(sound).tobytes())
    wanted = {quantized(sound * (2**15 - 2) + value - 0.5).tobytes() for value in sound.flat}
    assert found == wanted
