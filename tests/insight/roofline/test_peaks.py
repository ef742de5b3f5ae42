"""The peaks of the machine: measured, stored, and the times derived from them."""

from __future__ import annotations

import pytest
import torch

from lamella.insight.roofline import peaks
from lamella.insight.roofline.peaks import Peaks

CPU = torch.device("cpu")


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(peaks, "SIDES", (64, 128))
    monkeypatch.setattr(peaks, "SIZES", (2**16, 2**20))


def test_what_limits(known_peaks):
    assert known_peaks.seconds(1e12, 1e6, "float32") == (1.0, "compute")
    assert known_peaks.seconds(1e6, 1e9, "float32") == (1.0, "memory")
    assert known_peaks.seconds(1e12, 0, "float64") == (2.0, "compute")
    assert known_peaks.seconds(5, 1e6, "int64") == (1e6 / 1e10, "memory")  # no products
    assert known_peaks.seconds(0, 0, "float32") == (0.0, "memory")


def test_few_bytes_stay_in_caches(known_peaks):
    assert known_peaks.of_memory(1000) == 1e10
    assert known_peaks.of_memory(2**20 + 1) == 1e9
    assert known_peaks.of_memory(2**40) == 1e9


def test_a_faster_kernel_raises_the_peak(known_peaks):
    known_peaks.raise_to(5e11, "float32")
    assert known_peaks.flops["float32"] == 1e12
    known_peaks.raise_to(2e12, "float32")
    assert known_peaks.flops["float32"] == 2e12
    known_peaks.raise_to(2e12, "int64")
    assert "int64" not in known_peaks.flops


def test_measuring(quick):
    found = Peaks(CPU)
    assert found.flops == {} and found.bandwidth == {}
    rate = found.of_products("float32")
    assert rate is not None and 1e6 < rate < 1e14  # a busy machine takes its time
    assert sorted(found.bandwidth) == []
    assert 1e5 < found.of_memory(2**16) < 1e13
    assert sorted(found.bandwidth) == [2**16, 2**20]
    found.flops["float32"] = 1e20
    found.measure()
    assert found.flops["float32"] == 1e20  # the better of both measurements


def test_kept_on_disk(quick, tmp_path, monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path))
    first = Peaks(CPU)
    first.of_products("float64")
    first.of_memory(1)
    second = Peaks(CPU)
    assert second.flops == first.flops and second.bandwidth == first.bandwidth
    (file,) = tmp_path.glob("peaks-*.json")
    for damaged in ("", "[]", '{"flops": {"float32": "x"}, "bandwidth": {}}', '{"flops": 3}'):
        file.write_text(damaged)
        third = Peaks(CPU)
        assert third.flops == {} and third.bandwidth == {}
    assert [f.name for f in tmp_path.iterdir()] == [file.name]
