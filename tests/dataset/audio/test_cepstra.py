"""Cepstra of several dimensions: by SciPy's cosine transform of spectra that are made apart."""

import numpy as np
import pytest
from scipy.fft import dct

from lamella.dataset import audio as A  # noqa: N812

SOUND = np.random.default_rng(4).normal(0, 0.3, (3, 2, 200)).astype(np.float32)
SPECTRUM = {"n_fft": 32, "win_length": 24, "hop_length": 9, "pad": 3, "power": 1.5}
NORMS = [(A.NormMode.ORTHO, "ortho"), (A.NormMode.NONE, None)]


@pytest.mark.parametrize("kind, norm", NORMS)
@pytest.mark.parametrize("is_logarithm", [False, True])
def test_coefficients_of_the_mel_scale(kind, norm, is_logarithm):
    settings = {**SPECTRUM, "n_mels": 11, "f_min": 20.0, "f_max": 3000.0}
    found = A.MFCC(8000, 5, 2, kind, is_logarithm, settings)(SOUND)
    mel = A.MelSpectrogram(8000, **settings)(SOUND)
    loud = np.log(mel + 1e-6) if is_logarithm else A.AmplitudeToDB()(mel)
    assert found.shape == (3, 2, 5, mel.shape[-1]) and found.dtype == np.float32
    np.testing.assert_allclose(found, dct(loud, 2, axis=-2, norm=norm)[:, :, :5], atol=2e-3,
                               rtol=1e-4)


@pytest.mark.parametrize("kind, norm", NORMS)
@pytest.mark.parametrize("is_logarithm", [False, True])
@pytest.mark.parametrize("top", [None, 2500.0])
def test_coefficients_of_the_linear_scale(kind, norm, is_logarithm, top):
    found = A.LFCC(8001, 9, 4, 100.0, top, 2, kind, is_logarithm, SPECTRUM)(SOUND)
    bank = A.linear_fbanks(17, 100.0, top or 4000.0, 9, 8001)
    bands = np.einsum("abft,fn->abnt", A.Spectrogram(**SPECTRUM)(SOUND), bank)
    loud = np.log(bands + 1e-6) if is_logarithm else A.AmplitudeToDB()(bands)
    assert found.shape == (3, 2, 4, bands.shape[-1]) and found.dtype == np.float32
    np.testing.assert_allclose(found, dct(loud, 2, axis=-2, norm=norm)[:, :, :4], atol=2e-3,
                               rtol=1e-4)


@pytest.mark.parametrize("make", [
    lambda: A.MFCC(8000, 3, 2, A.NormMode.ORTHO, True, {"n_fft": 32, "n_mels": 4}),
    lambda: A.LFCC(8000, 4, 3, 0.0, None, 2, A.NormMode.ORTHO, True, {"n_fft": 32})])
def test_logarithms_of_silence_are_those_of_a_millionth(make):
    """Four bands of one value: the first coefficient is twice that value, the others are 0."""
    found = make()(np.zeros((1, 64)))
    wanted = np.array([2 * np.log(1e-6), 0, 0])[:, None]
    np.testing.assert_allclose(found[0], np.broadcast_to(wanted, found[0].shape), atol=1e-4)


def test_as_many_coefficients_as_filters():
    settings = {**SPECTRUM, "n_mels": 6}
    assert A.MFCC(8000, 6, melkwargs=settings)(SOUND).shape[:3] == (3, 2, 6)
    assert A.MFCC(8000, 1, melkwargs=settings)(SOUND).shape[:3] == (3, 2, 1)
    assert A.MFCC(n_mfcc=128, melkwargs={"n_fft": 600})(np.ones((1, 700), "f4")).shape[1] == 128
    for count, message in ((7, "'n_mfcc' must be at most 'n_mels', 6, but got 7"),
                           (0, "'n_mfcc'|n_mfcc")):
        with pytest.raises(ValueError, match=message):
            A.MFCC(8000, count, melkwargs=settings)
    with pytest.raises(ValueError, match="128, but got 129"):
        A.MFCC(8000, 129)


@pytest.mark.parametrize("make", [A.MFCC, A.LFCC])
@pytest.mark.parametrize("kind", [1, 3])
def test_another_cosine_transform_is_refused(make, kind):
    with pytest.raises(ValueError, match=f"dct_type must be 2, but got : {kind}"):
        make(dct_type=kind)


@pytest.mark.parametrize("sizes", [(0, 3), (3, 0)])
def test_a_matrix_has_one_row_and_one_column_at_least(sizes):
    assert A.create_dct(1, 1).tolist() == [[2.0]]
    with pytest.raises(ValueError, match="create_dct|n_m"):
        A.create_dct(*sizes)
