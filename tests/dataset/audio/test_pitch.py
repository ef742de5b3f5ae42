"""Pitch, tempo and modulated delays, against what MindSpore 2.10 gave: some of the numbers."""

import json
import pathlib

import numpy as np
import pytest
import torch

import lamella as ms
from lamella.dataset import audio as A  # noqa: N812

RECORDED = json.loads(pathlib.Path(__file__).with_name("recorded_pitch.json").read_text())
RNG = np.random.RandomState(3)
TIME = np.arange(4000) / 16000
ONE = (0.5 * np.sin(2764 * TIME) + 0.2 * np.sin(7753 * TIME) + 0.02 * RNG.randn(4000)).astype("f4")
TWO = np.stack([ONE, ONE[::-1] * np.float32(0.7)])
PAIRS = RNG.randn(2, 33, 20, 2).astype(np.float32)
POWERS = (PAIRS**2).sum(-1)
ADVANCE = np.linspace(0, 16 * np.pi, 33, dtype=np.float32)[:, None]
SINE, TRIANGLE = A.Modulation.SINUSOIDAL, A.Modulation.TRIANGULAR
LINES, BENT = A.Interpolation.LINEAR, A.Interpolation.QUADRATIC

OPERATIONS = {
    "vocoder": (lambda: A.PhaseVocoder(1.3, ADVANCE), PAIRS),
    "stretch": (lambda: A.TimeStretch(16, 33, 1.4), PAIRS),
    "stretch as it is": (lambda: A.TimeStretch(None, 33), PAIRS),
    "higher": (lambda: A.PitchShift(16000, 4), TWO),
    "lower": (lambda: A.PitchShift(16000, -3, 12, 256), ONE),
    "phaser": (lambda: A.Phaser(16000), TWO),
    "phaser, triangle": (lambda: A.Phaser(16000, sinusoidal=False), ONE.astype(np.float64)),
    "flanger": (lambda: A.Flanger(16000, 1.0, 2.0, 10.0, 71.0, 0.5, 25.0, SINE, BENT), TWO),
    "flanger, triangle": (lambda: A.Flanger(16000, 1.0, 2.0, 10.0, 71.0, 0.5, 25.0, TRIANGLE,
                                            LINES), TWO),
    "pitch": (lambda: A.DetectPitchFrequency(16000), TWO),
    "pitch, short": (lambda: A.DetectPitchFrequency(16000, 0.02, 5, 100, 1000), ONE),
    "dither": (lambda: A.Dither(), ONE),
    "dither, shaped": (lambda: A.Dither(A.DensityFunction.TPDF, True), ONE),
    "griffin": (lambda: A.GriffinLim(64, 3, rand_init=False), POWERS),
    "griffin, plain": (lambda: A.GriffinLim(64, 3, rand_init=False, momentum=0.0), POWERS),
}


def some(values):
    return values.ravel()[::max(1, values.size // 24)]


@pytest.mark.parametrize("name", OPERATIONS)
def test_as_recorded(name):
    make, given = OPERATIONS[name]
    found = make()(given)
    shape, kind, numbers = RECORDED[name]
    assert list(found.shape) == shape and str(found.dtype) == kind
    near = 1e-7 if name.startswith("dither") else 5e-4
    np.testing.assert_allclose(some(found), numbers, rtol=0, atol=near * np.abs(numbers).max())


@pytest.mark.parametrize("density", ["RPDF", "GPDF"])
def test_drawn_noise_is_of_a_few_steps(density):
    found = A.Dither(A.DensityFunction[density])(ONE) * 2**15
    np.testing.assert_array_equal(found, found.round())
    assert 0 < np.abs(found - ONE * 2**15).max() < 8


def test_noise_of_one_channel_is_drawn_from_it():
    sound, found = np.float32([[0.9, -0.9]]), set()
    dither = A.Dither(A.DensityFunction.RPDF)
    for seed in range(20):
        ms.set_seed(seed)
        found.add(dither(sound).tobytes())
    assert len(found) == 2
    assert dither(sound[:, :1]).shape == (1, 1) and dither(np.ones((3, 1))).shape == (3, 1)


def test_a_spectrum_of_a_mel_scale_has_that_scale():
    bank = A.melscale_fbanks(33, 0.0, 8000.0, 8, 16000)
    wanted = np.swapaxes(np.swapaxes(POWERS, 1, 2) @ bank, 1, 2)
    found = A.InverseMelScale(33, 8, 16000, max_iter=3000)(wanted)
    assert found.shape == POWERS.shape and found.min() >= 0
    again = np.swapaxes(np.swapaxes(found, 1, 2) @ bank, 1, 2)
    assert np.abs(again - wanted).mean() < 0.02 * wanted.mean()


def test_random_phases_give_a_sound_of_these_magnitudes():
    powers = A.Spectrogram(256)(ONE)
    back = A.GriffinLim(256)(powers)
    again = A.Spectrogram(256)(back)
    assert np.abs(np.sqrt(again) - np.sqrt(powers)).mean() < 0.2 * np.sqrt(powers).mean()


@pytest.mark.parametrize("make, error", [
    (lambda: A.Phaser(16000, gain_in=2.0), ValueError),
    (lambda: A.Flanger(0), ValueError),
    (lambda: A.PhaseVocoder(1.3, [1.0]), TypeError),
    (lambda: A.PhaseVocoder(1.3, ADVANCE)(PAIRS[..., 0]), RuntimeError),
    (lambda: A.TimeStretch(16, 30, 1.4)(PAIRS), RuntimeError),
    (lambda: A.GriffinLim(128)(POWERS), RuntimeError),
    (lambda: A.InverseMelScale(33, 9)(POWERS), RuntimeError),
    (lambda: A.DetectPitchFrequency(16000)(ONE[:500]), RuntimeError),
    (lambda: A.Dither("TPDF"), TypeError),
], ids=list("abcdefghi"))
def test_what_is_refused(make, error):
    with pytest.raises(error, match=r"Phaser|Flanger|PhaseVocoder|TimeStretch|GriffinLim|"
                                    r"InverseMelScale|DetectPitch|Dither"):
        make()


@pytest.mark.parametrize("shape, joined", [((16, 8, 2), (1, 16, 8, 2)),
                                           ((3, 2, 16, 8, 2), (6, 16, 8, 2))])
def test_a_tempo_of_1_joins_dimensions(shape, joined):
    spectrum = np.random.default_rng(0).random(shape)
    np.testing.assert_array_equal(A.TimeStretch()(spectrum), spectrum.reshape(joined))


def test_the_default_distance_between_frames_is_one_less_than_the_frequencies():
    given = PAIRS.astype(np.float32)
    found, wanted = (A.TimeStretch(hop, 33, 1.4)(given) for hop in (None, 32))
    np.testing.assert_array_equal(found, wanted)


def set_of(operation, given):
    ms.dataset.config.set_seed(8)
    return operation(given)


@pytest.mark.parametrize("steps", [1, 2, 7])
@pytest.mark.parametrize("settings", [{}, {"sgd_lr": 0.3, "sgd_momentum": 0.0},
                                      {"sgd_momentum": 0.5}])
def test_a_mel_scale_is_turned_back_by_gradient_descent(steps, settings):
    """The loss is the mean over sounds and frames of the squared error, summed by filters."""
    options = {"sample_rate": 8000, "f_min": 50.0, "f_max": 3000.0, "tolerance_loss": 1e-30,
               "tolerance_change": 1e-30}
    wanted = np.random.default_rng(1).random((2, 3, 5, 4)).astype(np.float32)
    found, first = (set_of(A.InverseMelScale(17, 5, max_iter=steps, sgdargs=given, **options),
                           wanted) for given in (settings, {"sgd_lr": 0.0}))
    assert found.shape == first.shape == (2, 3, 17, 4) and 0 <= first.min() < first.max() <= 1
    bank = torch.tensor(A.melscale_fbanks(17, 50.0, 3000.0, 5, 8000))
    value, speed = torch.tensor(first), 0
    for _ in range(steps):
        value.requires_grad_()
        error = torch.tensor(wanted) - torch.einsum("abft,fm->abmt", value, bank)
        error.square().sum(2).mean().backward()
        speed = settings.get("sgd_momentum", 0.9) * speed + value.grad
        value = (value.detach() - settings.get("sgd_lr", 0.1) * speed).clamp(min=0)
    np.testing.assert_allclose(found, value.numpy(), atol=1e-5)


@pytest.mark.parametrize("name, value, steps", [("tolerance_loss", 1e7, 1),
                                                ("tolerance_change", 1e7, 2)])
def test_steps_end_at_a_tolerance(name, value, steps):
    wanted = np.random.default_rng(1).random((1, 5, 4)).astype(np.float32)
    least = {"tolerance_loss": 1e-30, "tolerance_change": 1e-30}
    ended = set_of(A.InverseMelScale(17, 5, 8000, max_iter=50, **{**least, name: value}), wanted)
    np.testing.assert_array_equal(
        ended, set_of(A.InverseMelScale(17, 5, 8000, max_iter=steps, **least), wanted))


@pytest.mark.parametrize("share, is_end", [(1.02, True), (0.98, False)])
def test_steps_end_where_the_loss_or_its_change_is_below(share, is_end):
    wanted = np.random.default_rng(1).random((2, 5, 4)).astype(np.float32)
    bank = A.melscale_fbanks(17, 0.0, 4000.0, 5, 8000)
    least = {"tolerance_loss": 1e-30, "tolerance_change": 1e-30}

    def run(steps, **options):
        return set_of(A.InverseMelScale(17, 5, 8000, max_iter=steps, **least | options), wanted)

    def loss(found):
        error = wanted - np.einsum("bft,fm->bmt", found, bank)
        return float((error**2).sum(1).mean())

    first = loss(run(1, sgdargs={"sgd_lr": 0.0}))
    second = loss(run(1))
    assert abs(first - second) > 1e-3
    for steps, options in ((1, {"tolerance_loss": first * share}),
                           (2, {"tolerance_change": abs(first - second) * share})):
        found = run(steps + 1, **options)
        assert np.array_equal(found, run(steps)) == is_end
        assert np.array_equal(found, run(steps + 1)) != is_end


def test_filters_go_up_to_half_the_rate():
    wanted = np.random.default_rng(1).random((5, 4)).astype(np.float32)
    for rate in (8000, 8001):
        found, named = (set_of(A.InverseMelScale(17, 5, rate, f_max=top, max_iter=3), wanted)
                        for top in (None, 4000.0))
        np.testing.assert_array_equal(found, named)
    with pytest.raises(ValueError, match="they are 4000 and 4000"):
        A.InverseMelScale(17, 5, 8001, f_min=4000.0)


@pytest.mark.parametrize("hertz", [200.0, 320.0, 500.0])
def test_the_pitch_of_a_tone_is_its_frequency(hertz):
    tone = np.sin(2 * np.pi * hertz * np.arange(4000) / 16000).astype(np.float32)
    found = A.DetectPitchFrequency(16000, 0.02, 3, 85, 3400)(np.stack([tone, tone[::-1]])[None])
    count, lag = -(-4000 // 320), 16000 / hertz
    assert found.shape == (1, 2, count + 1 - 2)
    assert abs(16000 / found[..., 1:-1] - lag).max() <= 1


@pytest.mark.parametrize("frames, is_enough", [(8, True), (7, False)])
def test_a_median_over_as_many_frames_as_there_are(frames, is_enough):
    operation = A.DetectPitchFrequency(16000, 0.01, 15)
    sound = ONE[:160 * frames]
    if is_enough:
        assert operation(sound).shape == (1,)
    else:
        with pytest.raises(RuntimeError, match=f"{frames} frames, too few for a 'win_length' of 1"):
            operation(sound)


@pytest.mark.parametrize("high, is_enough", [(230, True), (200, False)])
def test_a_range_of_pitches_is_more_than_an_octave(high, is_enough):
    # 16000 / 100 = 160 lags, of which 80 are of the upper octave
    operation = A.DetectPitchFrequency(16000, 0.01, 5, 100, high)
    if is_enough:
        assert operation(ONE).shape == (23,)
    else:
        with pytest.raises(RuntimeError, match="'freq_high' must be more than twice 'freq_low'"):
            operation(ONE)


@pytest.mark.parametrize("power, momentum, length, size, hop", [
    (2.0, 0.99, None, None, None), (1.0, 0.0, 100, None, None), (3.0, 0.5, 90, None, None),
    (2.0, 0.99, None, 12, 5), (1.0, 0.5, None, 12, None)])
def test_phases_by_the_iteration_of_griffin_and_lim(power, momentum, length, size, hop):
    sound = torch.tensor(ONE[:96]).reshape(1, -1)
    width = size or 16
    frames = 16, hop or width // 2, width, torch.hann_window(width)
    magnitude = torch.stft(sound, *frames, return_complex=True).abs()
    turned, last = torch.ones_like(magnitude).to(torch.complex64), 0.0
    for _ in range(4):  # as in the paper with momentum: torch's own transforms
        back = torch.istft(magnitude * turned, *frames)
        now = torch.stft(back, *frames, return_complex=True)
        turned = now + (now - last) * (momentum / (1 + momentum))
        turned, last = turned / (turned.abs() + 1e-16), now
    wanted = torch.istft(magnitude * turned, *frames, length=length)
    options = {"power": power, "momentum": momentum, "length": length}
    powers = magnitude.pow(power).numpy()
    found = A.GriffinLim(16, 4, size, hop, rand_init=False, **options)(powers)
    np.testing.assert_allclose(found, wanted.numpy(), atol=2e-4)

    class Streams:
        def __init__(self):
            self.drawn = []

        def of(self, operation):
            return self

        def float64(self, low, high):
            self.drawn.append((low, high))
            return low

    streams = Streams()
    again, = A.GriffinLim(16, 4, size, hop, **options).run((powers,), streams)
    np.testing.assert_array_equal(again, found)
    assert streams.drawn == [(0, 2 * np.pi)] * powers.size


@pytest.mark.parametrize("momentum", [1.0, 1.5])
def test_a_momentum_of_1_is_refused(momentum):
    with pytest.raises(RuntimeError, match=f"unstable, but got: {momentum:f}"):
        A.GriffinLim(16, momentum=momentum)


@pytest.mark.parametrize("window", [3, 4, 6])
@pytest.mark.parametrize("low, high", [(100, 1000), (85, 3400), (90.5, 450)])
@pytest.mark.parametrize("hertz, noise", [(130.0, 0.05), (300.0, 0.1), (420.0, 0.3), (200.0, 2.0)])
def test_the_pitch_is_where_a_frame_is_most_like_itself(window, low, high, hertz, noise):
    """An octave higher, if that is nearly as good; then the median of some frames."""
    rate, size = 8000, 120
    rng = np.random.default_rng(5)
    sound = np.sin(2 * np.pi * hertz * np.arange(1300) / rate) + noise * rng.normal(size=1300)
    lags, least = -int(-rate // low), -int(-rate // high)
    count = -(-1300 // size)
    padded = np.concatenate([sound, np.zeros(lags + count * size)])
    found = []
    for frame in range(count):
        part, likeness = padded[frame * size:(frame + 1) * size], {}
        for lag in range(least + 1, lags + 1):
            later = padded[frame * size + lag:(frame + 1) * size + lag]
            likeness[lag] = part @ later / (1e-9 + later @ later)
        best = max(likeness, key=likeness.get)
        half = max((lag for lag in likeness if lag <= lags // 2), key=likeness.get)
        found.append(half if likeness[half] > 0.99 * likeness[best] else best)
    found = [found[0]] * ((window - 1) // 2) + found
    medians = [sorted(found[i:i + window])[(window - 1) // 2]
               for i in range(len(found) - window + 1)]
    pitch = A.DetectPitchFrequency(rate, 0.015, window, low, high)(sound)
    assert pitch.dtype == np.float32
    np.testing.assert_allclose(pitch, rate / np.array(medians), rtol=1e-5)


@pytest.mark.parametrize("size, window, hop", [(6, None, 1), (8, None, 2), (16, 5, 1), (16, 9, 2),
                                               (16, None, 4)])
def test_frames_are_a_quarter_of_the_window_apart(size, window, hop):
    found, wanted = (A.PitchShift(8000, 3, 12, size, window, step)(TWO[:, :200])
                     for step in (None, hop))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("make", [lambda: A.PhaseVocoder(1.3, ADVANCE),
                                  lambda: A.TimeStretch(16, 33, 1.3)])
def test_the_last_dimension_has_two_numbers(make):
    assert make()(np.ones((3, 33, 4, 2))).shape == (3, 33, 4, 2)
    for shape in ((2, 33, 4, 3), (2, 33, 4, 1)):
        with pytest.raises(RuntimeError, match="<..., freq, time, 2>"):
            make()(np.ones(shape))


@pytest.mark.parametrize("make", [lambda rate: A.PitchShift(rate, 1),
                                  lambda rate: A.SpectralCentroid(rate)])
def test_a_rate_is_1_or_more(make):
    make(1)
    with pytest.raises(ValueError, match="sample_rate"):
        make(0)
