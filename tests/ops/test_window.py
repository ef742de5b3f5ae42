"""Windows beside SciPy, and the Fourier transform of windows beside PyTorch's."""

import numpy as np
import pytest
import torch
from scipy.signal import windows

import lamella as ms
from lamella import Tensor, ops

X = np.random.default_rng(3).normal(size=(2, 19)).astype(np.float32)

WINDOWS = {
    "hann": (ops.hann_window, windows.hann, ms.float64),
    "hamming": (ops.hamming_window, lambda n, sym: windows.general_hamming(n, 0.54, sym),
                ms.float32),
    "hamming of other numbers": (
        lambda n, periodic, **more: ops.hamming_window(n, periodic, 0.6, 0.4, **more),
        lambda n, sym: windows.general_hamming(n, 0.6, sym), ms.float32),
    "bartlett": (ops.bartlett_window, windows.bartlett, ms.float32),
    "blackman": (ops.blackman_window, windows.blackman, ms.float32),
    "kaiser": (ops.kaiser_window, lambda n, sym: windows.kaiser(n, 12.0, sym), ms.float64),
    "kaiser of another number": (lambda n, periodic, **more: ops.kaiser_window(n, periodic, 5.0,
                                                                               **more),
                                 lambda n, sym: windows.kaiser(n, 5.0, sym), ms.float64),
}


@pytest.mark.parametrize("length", [0, 1, 2, 7, 8])
@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name, periodic, length):
    made, reference, kind = WINDOWS[name]
    found = made(length, periodic)
    assert found.dtype is kind and found.shape == (length,)
    wanted = reference(length, sym=not periodic)
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5, atol=1e-6)
    half = made(length, periodic, dtype=ms.float16)
    assert half.dtype is ms.float16
    np.testing.assert_allclose(half.asnumpy(), wanted, atol=1e-3)


@pytest.mark.parametrize("make", [ops.hann_window, ops.hamming_window, ops.bartlett_window,
                                  ops.blackman_window, ops.kaiser_window])
def test_arguments_of_windows(make):
    with pytest.raises(ValueError, match="non-negative integer"):
        make(-1)
    for length in (2.0, True, Tensor([2, 3]), Tensor(2.5)):
        with pytest.raises(TypeError, match="non-negative integer"):
            make(length)
    with pytest.raises(TypeError, match="'periodic' must be a bool"):
        make(3, 1)
    with pytest.raises(TypeError, match="floating"):
        make(3, dtype=ms.int32)
    assert make(Tensor(4)).shape == make(Tensor([4])).shape == (4,)


def parts(found):
    raw = found.asnumpy()
    return raw if np.iscomplexobj(raw) else raw[..., 0] + 1j * raw[..., 1]


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("hop, width", [(None, None), (3, 5), (2, 8), (1, 1), (8, 7)])
@pytest.mark.parametrize("normalized", [True, False])
def test_windows_that_move_along_a_signal(center, hop, width, normalized):
    window = np.linspace(0.5, 1.5, width or 8, dtype=np.float32) ** 2
    for x in (X, X[1]):
        for onesided in (None, True, False):
            wanted = torch.stft(torch.from_numpy(x), 8, hop, width, torch.from_numpy(window),
                                center, "constant", normalized, onesided, True)
            found = ops.stft(Tensor(x), 8, hop, width, Tensor(window), center, "CONSTANT",
                             normalized, onesided)
            assert found.shape == (*wanted.shape, 2)
            np.testing.assert_allclose(parts(found), wanted.numpy(), rtol=1e-4, atol=1e-5)
            both = ops.stft(Tensor(x), 8, hop, width, Tensor(window), center, "CONSTANT",
                            normalized, onesided, True)
            np.testing.assert_allclose(both.asnumpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)


def test_complex_signals_and_windows():
    signal, window = X + 1j * X[::-1], (np.arange(6) + 1j * np.arange(6)[::-1]).astype("c8")
    for x, w in ((signal, None), (X, window), (signal, window)):
        kind = np.complex64 if w is None else None
        wanted = torch.stft(torch.from_numpy(x), 6, 2, None,
                            torch.ones(6) if w is None else torch.from_numpy(w), True, "constant",
                            False, False, True)
        found = ops.stft(Tensor(x.astype(kind or x.dtype)), 6, 2,
                         window=None if w is None else Tensor(w), pad_mode="CONSTANT")
        np.testing.assert_allclose(found.asnumpy(), wanted.numpy(), rtol=1e-4, atol=1e-4)
        real = ops.stft(Tensor(x), 6, 2, window=None if w is None else Tensor(w),
                        pad_mode="CONSTANT", return_complex=False)
        assert real.shape == (*found.shape, 2)
        with pytest.raises(ValueError, match="'onesided' must be False"):
            ops.stft(Tensor(x), 6, window=None if w is None else Tensor(w), onesided=True)


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
def test_how_a_signal_is_padded(mode):
    """The element at the border is repeated in one of them; the signal must hold the padding."""
    least = 5 if mode == "REFLECT" else 4
    signal = np.float32([1, 5, 2, 7, 3])[:least]
    padded = np.pad(signal, 4, mode.lower())
    found = ops.stft(Tensor(signal), 8, 1, pad_mode=mode)
    frames = np.lib.stride_tricks.sliding_window_view(padded, 8)
    np.testing.assert_allclose(parts(found), np.fft.rfft(frames).T, rtol=1e-4, atol=1e-5)
    both = ops.stft(Tensor(np.stack([signal, signal[::-1] * 2])), 8, 1, pad_mode=mode)
    np.testing.assert_array_equal(both[0].asnumpy(), found.asnumpy())
    with pytest.raises(ValueError, match=f"at least {least} elements"):
        ops.stft(Tensor(signal[:-1]), 8, 1, pad_mode=mode)


@pytest.mark.parametrize("options, kind", [
    ({"normalized": 1}, TypeError), ({"hop_length": 2.0}, TypeError), ({"hop_length": True},
                                                                        TypeError),
    ({"win_length": 2.0}, TypeError), ({"win_length": 0}, ValueError),
    ({"win_length": 9}, ValueError), ({"window": ops.ones(7)}, ValueError),
    ({"pad_mode": "constant"}, ValueError)])
def test_arguments_that_do_not_fit(options, kind):
    with pytest.raises(kind, match="For 'stft'"):
        ops.stft(Tensor(X), 8, **options)


def test_a_signal_as_long_as_the_window():
    assert ops.stft(Tensor(X[:, :8]), 8, center=False).shape == (2, 5, 1, 2)
    with pytest.raises(ValueError, match="at least 'n_fft' elements"):
        ops.stft(Tensor(X[:, :7]), 8, center=False)
    with pytest.raises(TypeError, match="1 or 2 dimensions"):
        ops.stft(Tensor(1.0), 1)
