"""Audio operations, against what MindSpore 2.10 gave: shape, type, and some of the numbers."""

import json
import pathlib

import numpy as np
import pytest

import lamella.dataset as ds
from lamella.dataset import audio as A  # noqa: N812

RECORDED = json.loads((pathlib.Path(__file__).parents[2] / "data/audio_recorded.json").read_text())
RNG = np.random.RandomState(0)
WAVE = (RNG.rand(2, 900) - 0.5).astype(np.float32)
SPECTRUM = np.abs(RNG.randn(2, 201, 12)).astype(np.float32)
PAIRS = RNG.randn(2, 201, 12, 2).astype(np.float32)

OPERATIONS = {
    "allpass": (lambda: A.AllpassBiquad(44100, 200.0), WAVE),
    "band": (lambda: A.BandBiquad(44100, 200.0), WAVE),
    "bandn": (lambda: A.BandBiquad(44100, 200.0, 0.5, True), WAVE),
    "bandpass": (lambda: A.BandpassBiquad(44100, 200.0), WAVE),
    "bandpassc": (lambda: A.BandpassBiquad(44100, 200.0, 0.7, True), WAVE),
    "bandrej": (lambda: A.BandrejectBiquad(44100, 200.0), WAVE),
    "bass": (lambda: A.BassBiquad(44100, 10.0), WAVE),
    "treble": (lambda: A.TrebleBiquad(44100, 10.0), WAVE),
    "biquad": (lambda: A.Biquad(0.01, 0.02, 0.13, 1.0, 0.12, 0.3), WAVE),
    "deemph": (lambda: A.DeemphBiquad(44100), WAVE),
    "eq": (lambda: A.EqualizerBiquad(44100, 1500, 5.5, 0.7), WAVE),
    "high": (lambda: A.HighpassBiquad(44100, 1500), WAVE),
    "low": (lambda: A.LowpassBiquad(4000, 1500), WAVE),
    "riaa": (lambda: A.RiaaBiquad(44100), WAVE),
    "lf": (lambda: A.LFilter([1.0, 0.1, 0.3], [0.1, 0.2, 0.3]), WAVE),
    "ff": (lambda: A.Filtfilt([1.0, 0.1, 0.3], [0.1, 0.2, 0.3]), WAVE),
    "gain": (lambda: A.Gain(3.0), WAVE),
    "vol": (lambda: A.Vol(2.0, A.GainType.DB), WAVE),
    "volp": (lambda: A.Vol(2.0, A.GainType.POWER), WAVE),
    "dc": (lambda: A.DCShift(0.5, 0.02), WAVE),
    "dc2": (lambda: A.DCShift(-0.3), WAVE),
    "con": (lambda: A.Contrast(), WAVE),
    "over": (lambda: A.Overdrive(), WAVE),
    "fade": (lambda: A.Fade(100, 200), WAVE),
    "mu": (lambda: A.MuLawEncoding(), WAVE),
    "mud": (lambda: A.MuLawDecoding(), np.arange(256, dtype=np.int32)[None]),
    "delta": (lambda: A.ComputeDeltas(), SPECTRUM),
    "cmn": (lambda: A.SlidingWindowCmn(5, 3), SPECTRUM),
    "cmnc": (lambda: A.SlidingWindowCmn(5, 3, True, True), SPECTRUM),
    "tm": (lambda: A.TimeMasking(False, 3, 2, 1.0), SPECTRUM),
    "fm": (lambda: A.FrequencyMasking(False, 3, 2, 1.0), SPECTRUM),
    "ma": (lambda: A.MaskAlongAxis(2, 3, 1.0, 1), SPECTRUM),
    "spec": (lambda: A.Spectrogram(), WAVE),
    "specn": (lambda: A.Spectrogram(200, 100, 50, 3, A.WindowType.HAMMING, 1.0, True, True,
        A.BorderType.CONSTANT), WAVE),
    "spec0": (lambda: A.Spectrogram(power=0.0), WAVE),
    "mel": (lambda: A.MelScale(40), SPECTRUM),
    "mels": (lambda: A.MelScale(40, norm=A.NormType.SLANEY, mel_type=A.MelType.SLANEY), SPECTRUM),
    "melspec": (lambda: A.MelSpectrogram(n_mels=40), WAVE),
    "db": (lambda: A.AmplitudeToDB(), SPECTRUM),
    "dba": (lambda: A.DBToAmplitude(1.0, 0.5), SPECTRUM),
    "angle": (lambda: A.Angle(), PAIRS),
    "cn": (lambda: A.ComplexNorm(2.0), PAIRS),
    "mag": (lambda: A.Magphase(), PAIRS),
    "lfcc": (lambda: A.LFCC(4000), WAVE),
    "cent": (lambda: A.SpectralCentroid(44100), WAVE),
    "inv": (lambda: A.InverseSpectrogram(), PAIRS),
    "res": (lambda: A.Resample(48000, 16000), WAVE),
    "resk": (lambda: A.Resample(16000, 24000, A.ResampleMethod.KAISER_WINDOW), WAVE),
}
for shape in A.FadeShape:
    OPERATIONS["fade" + shape.value] = (lambda shape=shape: A.Fade(100, 200, shape), WAVE)
FUNCTIONS = {
    "fb": lambda: A.melscale_fbanks(201, 0.0, 8000.0, 40, 16000),
    "lfb": lambda: A.linear_fbanks(201, 0.0, 8000.0, 40, 16000),
    "dct": lambda: A.create_dct(10, 20, A.NormMode.ORTHO), "dctn": lambda: A.create_dct(10, 20)}


def check(name, out):
    for array, (shape, kind, numbers) in zip(out, RECORDED[name], strict=True):
        assert (list(array.shape), str(array.dtype)) == (shape, kind)
        flat = array.reshape(-1)
        some = flat[::max(1, len(flat) // 24)][:24].astype(float)
        expected = np.array([np.nan if v is None else v for v in numbers])
        np.testing.assert_allclose(some, expected, atol=1e-4 * np.nanmax(np.abs(expected)) + 1e-7)


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_are_mindspores(name):
    make, given = OPERATIONS[name]
    out = make()(given)
    check(name, out if isinstance(out, tuple) else (out,))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_matrices_are_mindspores(name):
    check(name, (FUNCTIONS[name](),))


@pytest.mark.parametrize("shape", [(2, 30), (1, 1), (2, 2, 333)])
@pytest.mark.parametrize("old, new", [(3, 1), (44, 1), (1, 3), (441, 160), (12699, 16000)])
def test_a_resampled_sound_is_the_sum_of_sincs(old, new, shape):
    given = np.random.default_rng(0).standard_normal(shape)
    found = A.Resample(old, new, lowpass_filter_width=4, rolloff=0.9)(given)
    rate = min(old, new) * 0.9
    at = np.arange(found.shape[-1])[:, None] / new
    time = np.clip((np.arange(shape[-1]) / old - at) * rate, -4, 4)
    filters = np.sinc(time) * np.cos(time * np.pi / 8) ** 2 * rate / old
    assert found.shape == (*shape[:-1], -(-new * shape[-1] // old))
    np.testing.assert_allclose(found, given @ filters.T, atol=1e-12)


# of each of six rows the start and the length of its mask, by MindSpore 2.10 after set_seed(11)
MASKS = {
    "TimeMasking(True, 12)": [(1, 2), (0, 0), (4, 6), (20, 9), (2, 5), (5, 6)],
    "TimeMasking(True, 25, 0, 2.0)": [(1, 4), (0, 0), (3, 12), (12, 18), (2, 10), (4, 12)],
    "TimeMasking(True, 30)": [(1, 5), (0, 0), (3, 14), (8, 22), (1, 13), (3, 15)],
    "FrequencyMasking(True, 9)": [(1, 1), (0, 0), (3, 4), (12, 7), (1, 4), (3, 4)],
    "MaskAlongAxisIID(12, 3.0, 1)": [(1, 2), (0, 0), (2, 6), (11, 9), (1, 5), (3, 6)],
    "MaskAlongAxisIID(15, 3.0, 2)": [(1, 2), (0, 0), (4, 7), (18, 11), (2, 6), (5, 7)],
}


@pytest.mark.parametrize("name", MASKS)
def test_random_masks_are_mindspores(name):
    """Each row draws one mask, for all of its spectra."""
    operation = eval(name, vars(A).copy())
    across = name.startswith("Freq") or name.endswith("1)")
    value = {"25": 2.0, "3.0": 3.0}.get(name.split(", ")[1], 0.0)
    ds.config.set_seed(11)
    data = ds.NumpySlicesDataset([np.ones((2, 20, 30), np.float32)] * 6, ["x"], shuffle=False)
    rows = data.map(operation, "x", num_parallel_workers=1).create_tuple_iterator(
        num_epochs=1, output_numpy=True)
    for (row,), (start, length) in zip(rows, MASKS[name], strict=True):
        want = np.ones((2, 20, 30), np.float32)
        if across:
            want[:, start:start + length] = value
        else:
            want[..., start:start + length] = value
        np.testing.assert_array_equal(row, want)


@pytest.mark.parametrize("rate", [44100, 48000, 88200, 96000])
def test_riaa_is_the_curve_of_records(rate):
    """Time constants of 3180, 318 and 75 microseconds, and a gain of 1 at 1 kHz."""
    impulse = np.zeros((1, rate), np.float64)
    impulse[0, 0] = 0.25
    found = np.abs(np.fft.rfft(A.RiaaBiquad(rate)(impulse)[0])) * 4
    hertz = np.array([20, 50, 200, 500, 1000, 2122, 5000, 10000])
    s = 2j * np.pi * np.array([1000.0, *hertz])
    curve = np.abs((1 + 318e-6 * s) / (1 + 3180e-6 * s) / (1 + 75e-6 * s))
    decibels = 20 * np.log10(found[hertz] / (curve[1:] / curve[0]))
    assert abs(decibels).max() < 0.6 and abs(decibels[4]) < 1e-6


@pytest.mark.parametrize("size", [3, 4, 5, 12, 20])
def test_a_sliding_window_in_the_middle_stays_within_the_sound(size):
    features = RNG.randn(2, 12, 3)
    found = A.SlidingWindowCmn(size, 1, True)(features)
    for frame in range(12):
        start = min(max(frame - size // 2, 0), max(12 - size, 0))
        window = features[:, start:start + size]
        np.testing.assert_allclose(found[:, frame], features[:, frame] - window.mean(1))


@pytest.mark.parametrize("length, pad, is_enough", [(9, 0, True), (8, 0, False), (8, 1, True),
                                                    (6, 1, False)])
def test_a_mirrored_end_is_shorter_than_the_sound(length, pad, is_enough):
    operation = A.MelSpectrogram(n_fft=16, pad=pad, n_mels=2)
    if is_enough:
        assert operation(WAVE[:, :length]).shape[:2] == (2, 2)
    else:
        with pytest.raises(RuntimeError, match="Padding size should be less than"):
            operation(WAVE[:, :length])


@pytest.mark.parametrize("window", [A.WindowType.HANN, A.WindowType.HAMMING])
@pytest.mark.parametrize("length", [None, 50, 90])
def test_a_sound_back_from_frames_that_begin_with_it(window, length):
    """Without a center the first frame begins with the sound; samples of weight 0 are 0."""
    sound = np.random.default_rng(0).standard_normal((2, 64)).astype(np.float32)
    spectrum = A.Spectrogram(16, 16, 4, 0, window, 0.0, False, False)(sound)
    back = A.InverseSpectrogram(length, 16, 16, 4, 0, window, False, False)(spectrum)
    wanted = np.pad(sound, [(0, 0), (0, 40)])[:, :length or 64 - 16]
    if window is A.WindowType.HANN:
        wanted[:, 0] = 0
    np.testing.assert_allclose(back, wanted, atol=1e-5)


def test_a_spectrum_is_turned_back():
    spectrum = A.Spectrogram(power=0.0)(WAVE)
    back = A.InverseSpectrogram(900)(spectrum)
    np.testing.assert_allclose(back, WAVE, atol=1e-5)


@pytest.mark.parametrize("call, error, message", [
    (lambda: A.Spectrogram(400, 500), ValueError, "win_length should be no more than n_fft"),
    (lambda: A.MelScale(n_stft=100)(SPECTRUM), RuntimeError, "got: n_stft 100 while freq"),
    (lambda: A.AllpassBiquad(0, 1.0), ValueError, r"'sample_rate' must be in \[.*, 0\) and \(0, "),
    (lambda: A.Fade(5000)(WAVE), RuntimeError, "at most the sound's, 900"),
    (lambda: A.Gain("x"), TypeError, "'gain_db' must be a number"),
    (lambda: A.Gain()("x"), TypeError, "Input should be NumPy audio"),
    (lambda: A.DeemphBiquad(8000), ValueError, "should be 44100 or 48000"),
    (lambda: A.Angle()(WAVE), RuntimeError, "in shape of <..., complex=2>"),
])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_types_of_integer_sounds():
    # as recorded from MindSpore 2.10
    sound = np.array([[-2, -3, 0], [2, 2, 3]])
    flanged = A.Flanger(44100, 0.0, 2.0, 0.0, 71.0, 0.5, 25.0, A.Modulation.TRIANGULAR)(sound)
    assert flanged.tolist() == [[-1, -1, 0], [1, 1, 1]] and flanged.dtype == sound.dtype
    assert A.Fade()(sound).dtype == sound.dtype
    assert A.FrequencyMasking()(sound).dtype == np.float32
    assert A.MaskAlongAxisIID(0, 1.0, 2)(sound).dtype == np.float32


@pytest.mark.parametrize("make, good, bad", [
    (lambda: A.LowpassBiquad(4000, 1500), WAVE, WAVE.astype(np.int32)),
    (lambda: A.LowpassBiquad(4000, 1500), WAVE, WAVE.astype(bool)),
    (A.Angle, PAIRS, PAIRS[..., :1]), (A.AmplitudeToDB, WAVE, WAVE[0])])
def test_each_sound_is_looked_at_after_one_that_fits(make, good, bad):
    operation = make()
    for _ in range(2):
        operation(good)
        with pytest.raises(RuntimeError, match=type(operation).__name__ + ": (the|input)"):
            operation(bad)
        operation(good[:1])


def test_sounds_that_are_none():
    for call, error, words in (
            (lambda: A.Gain()(np.ones(3, np.complex64)), TypeError, "cannot be converted into ten"),
            (lambda: A.Gain()(np.zeros(0, np.float32)), RuntimeError, "Tensor has no data"),
            (lambda: A.Flanger(44100)(np.ones((5, 9), np.float32)), RuntimeError, "channel: 5"),
            (lambda: A.MelSpectrogram()(np.ones((1, 9), np.float32)), RuntimeError, "Padding size"),
            (lambda: A.TimeMasking()(np.ones(9, np.float32)), RuntimeError, "<..., freq, time>"),
            (lambda: A.MelSpectrogram(0), ValueError, "but got f_min: 0.0"),
            (lambda: A.melscale_fbanks(2, 5, 2, 2, 2), ValueError, "f_min should be no more")):
        with pytest.raises(error, match=words):
            call()
