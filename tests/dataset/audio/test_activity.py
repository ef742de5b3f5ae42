"""Voice activity detection; MindSpore 2.10 detects none, so nothing was recorded from it."""

import numpy as np
import pytest

from lamella.dataset import audio
from lamella.dataset.audio.activity import _hann, _Meter

RATE = 8000


def noise(count, level=0.005, channels=1):
    return np.random.default_rng(0).standard_normal((channels, count)) * level


def with_voice(begin, end, count=24000, channels=1):
    """Harmonics of 120 Hz that come and go three times a second, in a little noise."""
    time = np.arange(count) / RATE
    voice = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 12))
    sound = noise(count, channels=channels)
    sound[-1, begin:end] += (0.3 * voice * (1 + np.sin(2 * np.pi * 3 * time)))[begin:end]
    return sound


def beginning(sound, **options):
    left = audio.Vad(RATE, **options)(sound)
    start = sound.shape[-1] - left.shape[-1]
    np.testing.assert_array_equal(left, sound[..., start:])
    return start


@pytest.mark.parametrize("begin", [6400, 9600, 14000])
def test_silence_before_speech_is_cut_off(begin):
    assert begin - 0.25 * RATE <= beginning(with_voice(begin, begin + 9600)) <= begin


def test_all_channels_are_cut_where_the_first_of_them_speaks():
    sound = with_voice(9600, 19200, channels=3)
    assert beginning(sound) == beginning(sound[-1])


def test_earlier_sounds_belong_to_speech_within_the_time_that_is_searched():
    sound = with_voice(12000, 22000)
    sound[:, 10400:11200] += with_voice(10400, 11200)[:, 10400:11200]  # a short one before
    near, far = beginning(sound), beginning(sound, search_time=0.05, allowed_gap=0.0)
    assert near <= 10400 < far


def test_some_time_before_is_kept():
    sound = with_voice(9600, 19200)
    assert beginning(sound) - beginning(sound, pre_trigger_time=0.2) == 0.2 * RATE


def test_a_higher_level_asks_for_louder_speech():
    sound = with_voice(9600, 19200)
    assert beginning(sound, trigger_level=20.0) == 24000 - 8800  # no speech
    assert beginning(sound * 1000, trigger_level=12.0) <= 9600


@pytest.mark.parametrize("level", [0.0, 1e-4])
def test_without_speech_the_end_is_left(level):
    assert beginning(noise(16000, level)) == 16000 - (20 * 400 + 800)
    assert beginning(noise(5000, level)) == 0


def test_silence_is_speech_where_the_level_is_0():
    """A level that is just reached is enough; then all that was searched is kept."""
    assert beginning(np.zeros((1, 16000)), trigger_level=0.0) == 0


def test_float32_stays():
    sound = with_voice(9600, 19200).astype(np.float32)
    assert audio.Vad(RATE)(sound).dtype == np.float32
    assert beginning(sound) == beginning(sound.astype(np.float64))


@pytest.mark.parametrize("options, error, message", [
    ({"sample_rate": 8000.0}, TypeError, "'sample_rate' must be an int"),
    ({"sample_rate": 0}, ValueError, "'sample_rate'"),
    ({"sample_rate": 8000, "trigger_time": -1.0}, ValueError, "'trigger_time'"),
    ({"sample_rate": 8000, "measure_freq": 0.0}, ValueError, "'measure_freq'"),
    ({"sample_rate": 8000, "noise_up_time": 0.001}, ValueError, "noise_up_time should be greater"),
])
def test_wrong_arguments(options, error, message):
    with pytest.raises(error, match=message):
        audio.Vad(**options)


def test_filters_that_leave_nothing():
    with pytest.raises(RuntimeError, match="no frequency lies between"):
        audio.Vad(RATE, hp_filter_freq=3000.0, lp_filter_freq=2000.0)(noise(4000))


@pytest.mark.parametrize("length, size", [(1, 16), (15, 16), (16, 16), (17, 32), (32, 32),
                                          (33, 64), (800, 1024)])
def test_a_transform_is_of_the_next_power_of_two(length, size):
    meter = _Meter(audio.Vad(RATE, lp_lifter_freq=4000.0), 3, length)
    assert meter.size == size and len(meter.window) == length
    assert meter.high == size // 2  # 6000 Hz is above half the rate
    assert meter.low == max(1, round(50 / RATE * size))
    assert (meter.first, meter.last) == (1, min(RATE * 0.5 // 150, size // 4))
    assert meter.spectrum.shape == meter.noise.shape == (3, meter.high - meter.low)
    with pytest.raises(RuntimeError, match="no frequency lies between"):
        _Meter(audio.Vad(RATE, hp_lifter_freq=4000.0, lp_lifter_freq=4000.0), 3, length)


@pytest.mark.parametrize("low, high, bins", [
    (100.0, 1000.0, (2, 16)), (117.0, 1000.0, (2, 16)), (118.0, 970.0, (2, 16)),
    (157.0, 960.0, (3, 15)), (10.0, 4000.0, (1, 64)), (4000.0 - 70, 4000.0, (63, 64))])
def test_filters_are_at_the_nearest_frequencies(low, high, bins):
    """The transform has 128 samples: 62.5 Hz from one frequency to the next."""
    meter = _Meter(audio.Vad(RATE, hp_filter_freq=low, lp_filter_freq=high), 1, 100)
    assert (meter.low, meter.high) == bins


def test_windows_are_raised_cosines():
    for length in (1, 5, 8, 400):
        angle = 2 * np.pi * np.arange(length) / length
        np.testing.assert_allclose(_hann(length), (1 - np.cos(angle)) / np.sqrt(length))


@pytest.mark.parametrize("options, boot", [
    ({}, 6), ({"boot_time": 0.0}, 0), ({"boot_time": 0.13}, 2), ({"noise_down_time": 0.08}, 6),
    ({"noise_reduction_amount": 0.5, "measure_smooth_time": 0.0}, 6)])
def test_what_is_measured(options, boot):
    vad = audio.Vad(RATE, **options)
    frames = np.random.default_rng(2).normal(0, 1, (14, 2, 60))
    frames *= np.array([1, 2, 1, 3, 1, 1, 2, 9, 8, 1, 0.1, 7, 0.2, 0.1])[:, None, None]
    meter, loud = _Meter(vad, 2, 60), []
    time = {name: np.exp(-1 / (seconds * 20)) if seconds else 0.0 for name, seconds in (
        ("smooth", vad.measure_smooth_time), ("up", vad.noise_up_time),
        ("down", vad.noise_down_time))}
    low, high = meter.low, meter.high
    for number, frame in enumerate(frames):
        loud.append(np.abs(np.fft.rfft(frame * _hann(60), 64))[:, low:high])
        if number <= boot:  # means, until the noise is known
            spectrum = np.mean(loud, 0)
            noise = spectrum**2
        else:
            spectrum = time["smooth"] * spectrum + (1 - time["smooth"]) * loud[-1]
            kept = np.where(spectrum**2 > noise, time["up"], time["down"])
            noise = kept * noise + (1 - kept) * spectrum**2
        clear = np.sqrt(np.maximum(0, spectrum**2 - vad.noise_reduction_amount * noise))
        whole = np.pad(clear * _hann(high - low), [(0, 0), (low, 32 - high)])
        power = np.abs(np.fft.rfft(whole)[:, meter.first:meter.last])**2
        with np.errstate(divide="ignore"):
            wanted = np.maximum(0, 21 + np.log(power.mean(1)))
        np.testing.assert_allclose(meter.measure(frame), wanted, atol=1e-9)


@pytest.mark.parametrize("gap, levels, back", [
    (0.05, [9, 9, 0, 0, 0], 2), (0.05, [9, 0, 9, 0, 0], 1), (0.1, [9, 0, 9, 0, 0], 3),
    (0.075, [9, 0, 9, 0, 0], 3), (0.07, [9, 0, 9, 0, 0], 1), (0.05, [9, 3, 3, 0, 0], 3),
    (0.05, [9, 3, 3, 3, 3], 0), (0.05, [9] * 5, 4), (0.05, [3] * 5, 4), (0.0, [9, 9, 0, 0, 0], 2),
    (0.05, [7, 7, 0, 0, 0], 2), (0.05, [9, 6.9, 0, 0, 0], 2), (0.1, [9, 3, 9, 3, 9], 4),
    (0.05, [9, 3, 9, 3, 9], 0)])
def test_how_many_measurements_ago_speech_began(gap, levels, back):
    """Loud ones that are at most a gap apart belong together, and then what is not yet 0."""
    assert audio.Vad(RATE, allowed_gap=gap)._measures_back(np.array(levels)) == back
