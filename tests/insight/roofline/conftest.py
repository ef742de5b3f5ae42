"""Known peaks instead of measured ones, for tests of what is derived from them."""

import pytest
import torch

from lamella.insight.roofline import peaks


def slow_machine():
    """1 TFLOP/s in float32, 1 GB/s from memory, 10 GB/s up to a megabyte."""
    found = peaks.Peaks(torch.device("cpu"))
    found.flops = {"float32": 1e12, "float64": 5e11}
    found.bandwidth = {2**20: 1e10, 2**28: 1e9}
    return found


def installed(patch):
    """The slow machine, used as this one's peaks."""
    found = slow_machine()
    patch.setattr(peaks, "_known", {("cpu", torch.get_num_threads()): found})
    return found


@pytest.fixture(autouse=True)
def known_peaks(monkeypatch):
    return installed(monkeypatch)
