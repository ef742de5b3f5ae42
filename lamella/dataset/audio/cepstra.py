"""Cepstra: cosine transforms of logarithmic spectra (MFCC, LFCC)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..checks import integer
from .enums import NormMode
from .operation import AudioOperation
from .spectra import AmplitudeToDB, MelSpectrogram, Spectrogram, linear_fbanks


def create_dct(n_mfcc: int, n_mels: int, norm: NormMode = NormMode.NONE) -> np.ndarray:
    """The matrix of a cosine transform (DCT-II), of shape (n_mels, n_mfcc)."""
    integer("create_dct", "n_mfcc", n_mfcc, 1)
    integer("create_dct", "n_mels", n_mels, 1)
    if not isinstance(norm, NormMode):
        raise TypeError(f"norm with value {norm} is not of type {NormMode}, but got {type(norm)}.")
    matrix = np.cos(math.pi / n_mels * (np.arange(n_mels) + 0.5)[:, None] * np.arange(n_mfcc))
    if norm is NormMode.ORTHO:
        matrix[:, 0] *= 1 / math.sqrt(2)
        return (matrix * math.sqrt(2 / n_mels)).astype(np.float32)
    return (matrix * 2).astype(np.float32)


def _settings(given: dict[str, Any] | None, known: dict[str, Any]) -> dict[str, Any]:
    return {**known, **(given or {})}


class MFCC(AudioOperation):
    """Cepstral coefficients of the mel scale, (..., n_mfcc, time).

    Args:
        sample_rate: in hertz.
        n_mfcc: how many.
        dct_type: 2.
        norm: how the cosine transform is scaled.
        log_mels: whether logarithms are taken; else decibels.
        melkwargs: arguments of `MelSpectrogram`.
    """

    _single = True

    def __init__(self, sample_rate: int = 16000, n_mfcc: int = 40, dct_type: int = 2,
                 norm: NormMode = NormMode.ORTHO, log_mels: bool = False,
                 melkwargs: dict[str, Any] | None = None):
        if dct_type != 2:
            raise ValueError(f"Input dct_type must be 2, but got : {dct_type}.")
        settings = _settings(melkwargs, {})
        self._mel = MelSpectrogram(sample_rate, **settings)
        mels = settings.get("n_mels", 128)
        if integer(self, "n_mfcc", n_mfcc, 1) > mels:
            raise ValueError(f"For 'MFCC', 'n_mfcc' must be at most 'n_mels', {mels}, but got "
                             f"{n_mfcc}.")
        self._dct = create_dct(n_mfcc, mels, norm)
        self.log_mels, self._decibels = log_mels, AmplitudeToDB()

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        mel = self._mel._changed(signal)
        mel = np.log(mel + 1e-6) if self.log_mels else self._decibels._changed(mel)
        return np.swapaxes(np.swapaxes(mel, -1, -2) @ self._dct, -1, -2)


class LFCC(AudioOperation):
    """Cepstral coefficients of a linear scale, (..., n_lfcc, time).

    Args:
        sample_rate: in hertz.
        n_filter: how many filters.
        n_lfcc: how many coefficients.
        f_min, f_max: between which frequencies; default: up to half the rate.
        dct_type: 2.
        norm: how the cosine transform is scaled.
        log_lf: whether logarithms are taken; else decibels.
        speckwargs: arguments of `Spectrogram`.
    """

    _single = True

    def __init__(self, sample_rate: int = 16000, n_filter: int = 128, n_lfcc: int = 40,
                 f_min: float = 0.0, f_max: float | None = None, dct_type: int = 2,
                 norm: NormMode = NormMode.ORTHO, log_lf: bool = False,
                 speckwargs: dict[str, Any] | None = None):
        if dct_type != 2:
            raise ValueError(f"Input dct_type must be 2, but got : {dct_type}.")
        self._spectrum = Spectrogram(**_settings(speckwargs, {}))
        top = float(sample_rate // 2) if f_max is None else f_max
        self._banks = linear_fbanks(self._spectrum.n_fft // 2 + 1, f_min, top, n_filter,
                                    sample_rate)
        self._dct = create_dct(n_lfcc, n_filter, norm)
        self.log_lf, self._decibels = log_lf, AmplitudeToDB()

    def _changed(self, signal: np.ndarray) -> np.ndarray:
        rows = np.swapaxes(self._spectrum._changed(signal), -1, -2) @ self._banks
        if self.log_lf:
            rows = np.log(rows + 1e-6)
        else:
            rows = np.swapaxes(self._decibels._changed(np.swapaxes(rows, -1, -2)), -1, -2)
        return np.swapaxes(rows @ self._dct, -1, -2)
