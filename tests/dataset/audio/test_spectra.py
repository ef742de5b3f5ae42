"""Mel scales by their definition, and the shortest sounds and steps of spectra."""

import numpy as np
import pytest
import scipy.signal

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


@pytest.mark.parametrize("low", [999.5, 1000.0, 1000.9])
def test_slaneys_scale_bends_at_1000_hertz(low):
    """Below it is proportional to the frequency, above to its logarithm."""
    filters = A.melscale_fbanks(2001, low, 1003.0, 1, 4000, A.NormType.NONE, A.MelType.SLANEY)

    def mel(hertz):
        return hertz * 3 / 200 if hertz < 1000 else 15 + 27 * np.log(hertz / 1000) / np.log(6.4)

    middle = (mel(low) + mel(1003.0)) / 2
    assert middle > 15
    top = 1000 * 6.4 ** ((middle - 15) / 27)
    wanted = np.interp(np.arange(2001), [low, top, 1003.0], [0, 1, 0])
    np.testing.assert_allclose(filters[:, 0], wanted, atol=1e-4)


def test_single_pairs_are_complex_numbers():
    pairs = RNG.standard_normal((5, 2))
    numbers = pairs[:, 0] + 1j * pairs[:, 1]
    np.testing.assert_allclose(A.Angle()(pairs), np.angle(numbers))
    np.testing.assert_allclose(A.ComplexNorm()(pairs), np.abs(numbers))
    np.testing.assert_allclose(A.Magphase()(pairs), [np.abs(numbers), np.angle(numbers)])
    for wrong in (pairs[0], pairs[:, :1], pairs.T):
        with pytest.raises(RuntimeError, match="complex=2|<..., 2>"):
            A.Angle()(wrong)


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


WINDOWS = {A.WindowType.HANN: "hann", A.WindowType.HAMMING: "hamming",
           A.WindowType.BLACKMAN: "blackman", A.WindowType.BARTLETT: "bartlett",
           A.WindowType.KAISER: ("kaiser", 12.0)}


def spectrum_of(sound, n_fft, win_length, hop, pad, window, normalized, center, mode, onesided):
    """By the definition: NumPy's transform of each windowed frame."""
    shape = scipy.signal.get_window(WINDOWS[window], win_length)
    left = (n_fft - win_length) // 2
    weights = np.pad(shape, (left, n_fft - win_length - left))
    room = [(0, 0)] * (sound.ndim - 1)
    padded = np.pad(sound, [*room, (pad, pad)])
    if center:
        padded = np.pad(padded, [*room, (n_fft // 2, n_fft // 2)], mode.value)
    starts = range(0, padded.shape[-1] - n_fft + 1, hop)
    found = np.stack([np.fft.fft(padded[..., i:i + n_fft] * weights) for i in starts], -1)
    found = found[..., :n_fft // 2 + 1, :] if onesided else found
    return found / np.sqrt(np.square(shape).sum()) if normalized else found


@pytest.mark.parametrize("options", [
    (16, 16, 8, 0, A.WindowType.HANN, False, True, A.BorderType.REFLECT, True),
    (16, 11, 5, 3, A.WindowType.HAMMING, True, True, A.BorderType.EDGE, False),
    (15, 8, 7, 1, A.WindowType.BLACKMAN, False, True, A.BorderType.SYMMETRIC, True),
    (16, 10, 3, 2, A.WindowType.BARTLETT, True, True, A.BorderType.CONSTANT, True),
    (12, 12, 5, 4, A.WindowType.KAISER, True, False, A.BorderType.REFLECT, True)])
def test_spectra_by_their_definition(options):
    sound = RNG.standard_normal((2, 3, 40))
    n_fft, win_length, hop, pad, window, *rest = options
    wanted = spectrum_of(sound, *options)
    for power in (0.0, 1.0, 2.0, 3.0):
        operation = A.Spectrogram(n_fft, win_length, hop, pad, window, power, *rest)
        found = operation(sound)
        if power == 0:
            found = found[..., 0] + 1j * found[..., 1]
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, np.abs(wanted)**power if power else wanted, atol=1e-4,
                                   rtol=1e-4)


@pytest.mark.parametrize("options", [
    (16, 16, 4, 0, A.WindowType.HANN, False, True, A.BorderType.REFLECT, True),
    (16, 12, 3, 5, A.WindowType.HAMMING, True, True, A.BorderType.EDGE, True),
    (16, 16, 4, 8, A.WindowType.HAMMING, True, True, A.BorderType.CONSTANT, False),
    (15, 13, 4, 2, A.WindowType.HAMMING, True, True, A.BorderType.REFLECT, False),
    (16, 11, 4, 20, A.WindowType.HAMMING, True, False, A.BorderType.REFLECT, True)])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sounds_come_back_from_their_spectra(options, kind):
    sound = RNG.standard_normal((2, 3, 40)).astype(kind)
    complex_ = spectrum_of(sound, *options)
    pairs = np.stack([complex_.real, complex_.imag], -1).astype(kind)
    n_fft, win_length, hop, pad, window, *rest = options
    found = A.InverseSpectrogram(40, n_fft, win_length, hop, pad, window, *rest)(pairs)
    assert found.dtype == kind and found.shape == sound.shape
    np.testing.assert_allclose(found, sound, atol=1e-5)
    shorter = A.InverseSpectrogram(33, n_fft, win_length, hop, pad, window, *rest)(pairs)
    np.testing.assert_allclose(shorter, sound[..., :33], atol=1e-5)


@pytest.mark.parametrize("shape, onesided, words", [
    ((9, 4, 3), True, "complex=2>"), ((9, 4, 1), True, "complex=2>"),
    ((8, 4, 2), True, "they are 8 and 9"), ((10, 4, 2), True, "they are 10 and 9"),
    ((9, 4, 2), True, ""), ((16, 4, 2), False, "")])
def test_which_spectra_are_turned_back(shape, onesided, words):
    operation = A.InverseSpectrogram(None, 16, onesided=onesided)
    if words:
        with pytest.raises(RuntimeError, match=words):
            operation(np.ones(shape))
    else:
        assert operation(np.ones(shape)).shape == (3 * 8,)


@pytest.mark.parametrize("kind, factor", [(A.ScaleType.POWER, 10), (A.ScaleType.MAGNITUDE, 20)])
@pytest.mark.parametrize("reference, least, span", [
    (1.0, 1e-10, 80.0), (3.0, 1e-3, 25.0), (1e-4, 1e-2, 200.0), (5.0, 1e-5, 0.5)])
def test_decibels_are_at_most_so_far_below_the_loudest(kind, factor, reference, least, span):
    """That of each three dimensions; those before are a batch."""
    power = 10 ** RNG.uniform(-12, 3, (4, 2, 5, 6))
    wanted = factor * np.log10(np.maximum(power, least) / max(reference, least))
    wanted = np.maximum(wanted, wanted.max((1, 2, 3), keepdims=True) - span)
    operation = A.AmplitudeToDB(kind, reference, least, span)
    np.testing.assert_allclose(operation(power), wanted, atol=1e-9)
    for place in range(4):
        np.testing.assert_allclose(operation(power[place]), wanted[place], atol=1e-9)
    alone = operation(power[1, 1])
    assert alone.max() - alone.min() <= span + 1e-9


@pytest.mark.parametrize("reference, power", [(1.0, 1.0), (2.5, 0.5), (0.1, 2.0)])
def test_decibels_back(reference, power):
    decibels = RNG.uniform(-60, 20, (2, 5, 6))
    np.testing.assert_allclose(A.DBToAmplitude(reference, power)(decibels),
                               reference * 10 ** (decibels / 10 * power))


@pytest.mark.parametrize("power", [1.0, 2.0, 0.5, 3.0])
@pytest.mark.parametrize("given, wide", [(np.float32, np.float32), (np.float64, np.float64),
                                         (np.int16, np.float32)])
def test_magnitudes_and_angles(power, given, wide):
    pairs = (RNG.standard_normal((3, 4, 5, 2)) * 9).astype(given)
    wanted = pairs[..., 0].astype(float) + 1j * pairs[..., 1]
    size, angle = A.Magphase(power)(pairs)
    for found, right in ((size, np.abs(wanted)**power), (angle, np.angle(wanted)),
                         (A.ComplexNorm(power)(pairs), np.abs(wanted)**power),
                         (A.Angle()(pairs), np.angle(wanted))):
        assert found.dtype == wide
        np.testing.assert_allclose(found, right, rtol=1e-5)
    for kind in (A.Angle, A.ComplexNorm, A.Magphase):
        for shape in ((4, 3), (4, 1)):
            with pytest.raises(RuntimeError, match=kind.__name__):
                kind()(np.ones(shape))


@pytest.mark.parametrize("rate", [8000, 8001])
def test_the_centroid_is_the_mean_frequency(rate):
    sound = RNG.standard_normal((2, 3, 60))
    found = A.SpectralCentroid(rate, 16, 12, 5, 3, A.WindowType.HAMMING)(sound)
    size = np.abs(spectrum_of(sound, 16, 12, 5, 3, A.WindowType.HAMMING, False, True,
                              A.BorderType.REFLECT, True))
    hertz = np.arange(9)[:, None] * 4000 / 8
    wanted = (size * hertz).sum(-2, keepdims=True) / size.sum(-2, keepdims=True)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("low, high, rate, fits", [
    (0.0, None, 8001, True), (3999.0, None, 8001, True), (4000.0, None, 8001, False),
    (10.0, 10.5, 8000, True), (10.5, 10.5, 8000, False)])
def test_a_mel_scale_begins_below_its_end(low, high, rate, fits):
    if not fits:
        with pytest.raises(ValueError, match="f_min"):
            A.MelScale(5, rate, low, high, 9)
        return
    power = RNG.random((2, 3, 9, 4))
    bank = A.melscale_fbanks(9, low, high or 4000.0, 5, rate, A.NormType.NONE)
    found = A.MelScale(5, rate, low, high, 9)(power)
    np.testing.assert_allclose(found, np.einsum("abft,fm->abmt", power, bank), rtol=1e-5)


@pytest.mark.parametrize("beta", [None, 3.0])
@pytest.mark.parametrize("old, new", [(3, 2), (2, 3), (441, 160)])
def test_resampling_by_kaisers_window(old, new, beta):
    given = RNG.standard_normal((2, 50))
    found = A.Resample(old, new, A.ResampleMethod.KAISER_WINDOW, 5, 0.8, beta)(given)
    rate = min(old, new) * 0.8
    at = np.arange(-(-50 * new // old))[:, None] / new
    time = np.clip((np.arange(50) / old - at) * rate, -5, 5)
    bend = 14.769656459379492 if beta is None else beta
    window = np.i0(bend * np.sqrt(1 - (time / 5)**2)) / np.i0(bend)
    wanted = given @ (np.sinc(time) * window * rate / old).T
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    np.testing.assert_array_equal(A.Resample(7, 7)(given), given)


@pytest.mark.parametrize("low, high, count", [(0.0, 4000.0, 4), (300.0, 2500.0, 7)])
def test_filters_of_equal_width(low, high, count):
    points, at = np.linspace(low, high, count + 2), np.arange(33) * 4000 / 32
    wanted = [np.interp(at, points[i:i + 3], [0, 1, 0]) for i in range(count)]
    np.testing.assert_allclose(A.linear_fbanks(33, low, high, count, 8001), np.transpose(wanted),
                               atol=1e-6)
