"""Gains and shifts at their limits."""

import numpy as np
import pytest

from lamella.dataset import audio as A  # noqa: N812

SOUND = np.array([[-0.9, -0.2, 0.0, 0.3, 0.9]])


@pytest.mark.parametrize("gain, kind, factor", [
    (3.0, A.GainType.AMPLITUDE, 3.0), (0.0, A.GainType.AMPLITUDE, 0.0),
    (6.0, A.GainType.DB, 10**0.3), (-6.0, A.GainType.DB, 10**-0.3), (0.0, A.GainType.DB, 1.0),
    (9.0, A.GainType.POWER, 3.0)])
def test_a_louder_sound_stays_within_one(gain, kind, factor):
    np.testing.assert_allclose(A.Vol(gain, kind)(SOUND), np.clip(SOUND * factor, -1, 1))


@pytest.mark.parametrize("gain, kind", [
    (-0.1, A.GainType.AMPLITUDE), (0.0, A.GainType.POWER), (-1.0, A.GainType.POWER)])
def test_gains_that_are_none(gain, kind):
    with pytest.raises(ValueError, match="'gain' must be"):
        A.Vol(gain, kind)


@pytest.mark.parametrize("shift", [0.5, -0.5, 0.0, 1.5])
def test_a_shifted_sound_stays_within_one(shift):
    np.testing.assert_allclose(A.DCShift(shift)(SOUND), np.clip(SOUND + shift, -1, 1))


@pytest.mark.parametrize("shift, limiter", [
    (0.5, 0.2), (0.5, 0.02), (-0.5, 0.2), (-0.9, 0.05), (0.0, 0.02), (0.3, 0.3), (-0.3, 0.3),
    (0.5, -0.2), (-0.5, -0.2), (0.5, 0.25), (-0.5, 0.25)])
def test_peaks_of_a_shifted_sound_are_limited(shift, limiter):
    """As MindSpore: what is behind the limit is shrunk, and ends there; also with a negative shift
    the limit is added."""
    sound = np.linspace(-3, 3, 49)  # whose steps are exact: some values are the limit itself
    limit, wanted = 1 - (abs(shift) - limiter), []
    for value in sound:
        if limiter != shift and shift > 0 and value > limit:
            shrunk = (value - limit) * limiter / (1 - limit)
            wanted.append(min(shrunk + limit + shift, limit))
        elif limiter != shift and shift < 0 and value < -limit and limit != 1:
            shrunk = (value + limit) * limiter / (1 - limit)
            wanted.append(max(shrunk + limit + shift, -limit))
        elif limit == 1 and shift < 0 and value < -1:
            wanted.append(-1)  # all that is behind it
        else:
            wanted.append(min(max(value + shift, -1), 1))
    np.testing.assert_allclose(A.DCShift(shift, limiter)(sound), wanted, atol=1e-12)


@pytest.mark.parametrize("decibels", [-20.0, 0.0, 1.0, 6.0])
def test_a_gain_in_decibels(decibels):
    np.testing.assert_allclose(A.Gain(decibels)(SOUND), SOUND * 10 ** (decibels / 20))
    np.testing.assert_allclose(A.Gain()(SOUND), A.Gain(1.0)(SOUND))


@pytest.mark.parametrize("amount", [0.0, 30.0, 100.0])
def test_contrast_bends_a_sine(amount):
    angle = SOUND * np.pi / 2
    np.testing.assert_allclose(A.Contrast(amount)(SOUND),
                               np.sin(angle + amount / 750 * np.sin(4 * angle)))


@pytest.mark.parametrize("gain, color", [(0.0, 0.0), (20.0, 20.0), (3.0, 100.0), (50.0, 7.0)])
def test_overdrive_sample_by_sample(gain, color):
    sound = np.random.default_rng(0).uniform(-0.6, 0.6, 40)
    before = slow = 0.0
    wanted = []
    for value in sound:
        pushed = value * 10 ** (gain / 20) + color / 200
        bent = 2 / 3 * np.sign(pushed) if abs(pushed) > 1 else pushed - pushed**3 / 3
        slow = bent - before + 0.995 * slow
        before = bent
        wanted.append(np.clip(value * 0.5 + slow * 0.75, -1, 1))
    np.testing.assert_allclose(A.Overdrive(gain, color)(sound), wanted)


CURVES = {A.FadeShape.LINEAR: lambda t: t, A.FadeShape.EXPONENTIAL: lambda t: 2 ** (t - 1) * t,
          A.FadeShape.LOGARITHMIC: lambda t: np.log10(0.1 + t) + 1,
          A.FadeShape.QUARTER_SINE: lambda t: np.sin(t * np.pi / 2),
          A.FadeShape.HALF_SINE: lambda t: (1 - np.cos(t * np.pi)) / 2}


@pytest.mark.parametrize("shape", A.FadeShape)
@pytest.mark.parametrize("begin, end", [(0, 0), (3, 0), (0, 4), (3, 4), (9, 9), (6, 7),
                                        (1, 0), (0, 1), (2, 1)])
def test_fades_multiply_by_a_curve_at_both_ends(shape, begin, end):
    """They may overlap: then both are multiplied by."""
    sound = np.random.default_rng(0).uniform(-1, 1, (2, 9))
    wanted = sound.copy()
    for length, part in ((begin, wanted), (end, wanted[:, ::-1])):
        for place in range(length):  # one sample is where its fade begins
            begun = place / (length - 1) if length > 1 else float(part is not wanted)
            part[:, place] *= CURVES[shape](begun)
    np.testing.assert_allclose(A.Fade(begin, end, shape)(sound), wanted, atol=1e-12)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.float16, np.float32])
def test_fades_are_float32(kind):
    sound = np.array([5, -7, 3, 9, 100]).astype(kind)
    found = A.Fade(3, 2)(sound)
    assert found.dtype == np.float32
    assert found.tolist() == [0, -3.5, 3, 9, 0]


@pytest.mark.parametrize("begin, end", [(10, 0), (0, 10), (9, 10), (10, 9)])
def test_fades_are_at_most_as_long_as_the_sound(begin, end):
    A.Fade(9, 9)(np.ones((2, 9)))
    with pytest.raises(RuntimeError, match=f"at most the sound's, 9, but are {begin} and {end}"):
        A.Fade(begin, end)(np.ones((2, 9)))


@pytest.mark.parametrize("levels", [16, 256, 1000])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_mu_law_and_back(levels, kind):
    sound, mu = np.linspace(-1, 1, 41, dtype=kind), levels - 1
    codes = A.MuLawEncoding(levels)(sound)
    bent = np.sign(sound) * np.log(1 + mu * np.abs(sound)) / np.log(1 + mu)
    assert codes.dtype == np.int32 and codes[0] == 0 and codes[-1] == mu
    np.testing.assert_array_equal(codes, np.floor((bent + 1) / 2 * mu + 0.5))
    back = A.MuLawDecoding(levels)(codes)
    steps = codes * 2 / mu - 1
    np.testing.assert_allclose(back, np.sign(steps) * ((1 + mu) ** np.abs(steps) - 1) / mu,
                               atol=1e-5)


@pytest.mark.parametrize("place", [1, 40, 127, 200, 255])
def test_doubles_are_encoded_with_all_their_digits(place):
    """A step between two codes lies where the bent sound is halfway between them."""
    bent = (2 * place - 1) / 255 - 1
    step = np.sign(bent) * (256 ** abs(bent) - 1) / 255
    codes = A.MuLawEncoding()(np.array([step - 1e-9, step + 1e-9]))
    assert codes.tolist() == [place - 1, place]


PADDING = {A.BorderType.EDGE: "edge", A.BorderType.CONSTANT: "constant",
           A.BorderType.REFLECT: "reflect", A.BorderType.SYMMETRIC: "symmetric"}


@pytest.mark.parametrize("mode", A.BorderType)
@pytest.mark.parametrize("length, reach", [(3, 1), (4, 1), (5, 2), (7, 3)])
def test_deltas_are_slopes_of_the_frames_around(mode, length, reach):
    spectrum = np.random.default_rng(0).random((2, 3, 8))
    padded = np.pad(spectrum, [(0, 0), (0, 0), (reach, reach)], PADDING[mode])
    wanted = sum(n * (padded[..., reach + n:reach + n + 8] - padded[..., reach - n:reach - n + 8])
                 for n in range(1, reach + 1)) / (2 * sum(n * n for n in range(1, reach + 1)))
    np.testing.assert_allclose(A.ComputeDeltas(length, mode)(spectrum), wanted, atol=1e-12)


@pytest.mark.parametrize("varies", [False, True])
@pytest.mark.parametrize("window, least", [(4, 1), (4, 3), (4, 9), (20, 5), (1, 1), (20, 30)])
def test_a_window_ends_with_its_frame(window, least, varies):
    """It begins `window` frames before, and ends at the frame `least` at the earliest."""
    features = np.random.default_rng(0).random((2, 12, 3))
    found = A.SlidingWindowCmn(window, least, False, varies)(features)
    for frame in range(12):
        start = max(frame - window, 0)
        end = max(frame + 1, least)
        if end > 12:
            start, end = max(0, start - (end - 12)), 12
        part = features[:, start:end]
        wanted = features[:, frame] - part.mean(1)
        if varies:
            wanted = wanted / part.std(1) if end - start > 1 else 0
        np.testing.assert_allclose(found[:, frame], np.broadcast_to(wanted, (2, 3)), atol=1e-9)


def test_a_window_of_one_frame_leaves_nothing():
    features = np.array([[1.0, np.nan], [2.0, 3.0], [np.nan, 4.0]])
    assert A.SlidingWindowCmn(1, 1, True, True)(features).tolist() == [[0, 0]] * 3
    plain = A.SlidingWindowCmn(1, 1, True)(features)
    np.testing.assert_array_equal(plain, np.where(np.isnan(features), np.nan, 0))


SPECTRA = np.random.default_rng(1).random((2, 5, 7))


@pytest.mark.parametrize("make, size, across", [
    (lambda width, start: A.TimeMasking(False, width, start, 9.0), 7, False),
    (lambda width, start: A.FrequencyMasking(False, width, start, 9.0), 5, True),
    (lambda width, start: A.MaskAlongAxis(start, width, 9.0, 2), 7, False),
    (lambda width, start: A.MaskAlongAxis(start, width, 9.0, 1), 5, True)])
def test_a_mask_ends_with_the_spectrum_at_the_latest(make, size, across):
    for width, start in ((1, 0), (2, 1), (2, size - 2), (size - 1, 1), (size, 0)):
        wanted = np.swapaxes(SPECTRA, 1, 2).copy() if across else SPECTRA.copy()
        wanted[..., start:start + width] = 9
        wanted = np.swapaxes(wanted, 1, 2) if across else wanted
        found = make(width, start)(SPECTRA)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, wanted)
    for width, start in ((2, size - 1), (size, 1), (size + 1, 0), (1, size)):
        with pytest.raises(RuntimeError, match="mask|invalid parameter"):
            make(width, start)(SPECTRA)


@pytest.mark.parametrize("kind, size, said", [
    (A.TimeMasking, 7, "'time_mask_param' .* of time dimension, but got: 8 and 7"),
    (A.FrequencyMasking, 5, "'frequency_mask_param' .* frequency dimension, but got: 6 and 5")])
def test_a_random_mask_begins_anywhere_and_is_at_most_the_spectrum(kind, size, said):
    found = kind(True, size, size, 9.0)(SPECTRA)  # the start of a fixed mask has no effect
    assert ((found == SPECTRA) | (found == 9)).all()
    with pytest.raises(RuntimeError, match=said):
        kind(True, size + 1, 0, 9.0)(SPECTRA)


@pytest.mark.parametrize("given, wanted", [
    (np.int16, np.float32), (np.float32, np.float32), (np.float64, np.float64)])
def test_the_type_of_a_masked_spectrum(given, wanted):
    value = SPECTRA.astype(given)
    for operation in (A.TimeMasking(False, 2, 1), A.MaskAlongAxis(1, 2, 0.0, 2)):
        found = operation(value)
        assert found.dtype == wanted and not found[..., 1:3].any()
    assert A.MaskAlongAxisIID(3, 0.0, 1)(value).dtype == wanted
