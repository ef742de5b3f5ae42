"""Voice activity detection; MindSpore 2.10 detects none, so nothing was recorded from it."""

import numpy as np
import pytest

from lamella.dataset import audio

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
