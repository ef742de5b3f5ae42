"""Measurements that later processes reuse."""

import json

import pytest

from lamella.machine.measured import Measured
from tests.threads import at_once

ALGORITHMS = {"torch", "other"}


def test_each_is_measured_once_and_remembered(monkeypatch, tmp_path):
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path))
    asked = []
    first = Measured("things", ALGORITHMS)
    assert first.find((1, "r")) is None
    for _ in range(2):
        assert first.find((1, "r"), lambda key: asked.append(key) or "other") == "other"
    assert asked == [(1, "r")]
    assert Measured("things", ALGORITHMS).find((1, "r")) == "other"
    assert Measured("others", ALGORITHMS).find((1, "r")) is None
    assert Measured("things", {"torch"}).find((1, "r")) is None


def test_nothing_is_kept_where_nothing_may_be(monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    assert Measured("things", ALGORITHMS).find((1,), lambda _: "other") == "other"
    assert Measured("things", ALGORITHMS).find((1,)) is None


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '[["a", []]]', '[[[1], "other"]]',
                                  json.dumps([[1, "magic"]])])
def test_damaged_files_are_as_none(monkeypatch, tmp_path, text):
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path))
    Measured("things", ALGORITHMS).find((1,), lambda _: "other")
    file, = tmp_path.glob("things-*.json")
    file.write_text(text)
    again = Measured("things", ALGORITHMS)
    assert again.find((1,)) is None
    assert again.find((1,), lambda _: "torch") == "torch"


def test_threads_measure_and_keep_all(monkeypatch, tmp_path):
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path))
    for number in range(3):
        first = Measured(f"things{number}", ALGORITHMS)
        for i in range(50):
            first[(i, "a")] = "torch"
        first.find((0, "b"), lambda _: "other")
        again = Measured(f"things{number}", ALGORITHMS)
        found = at_once(lambda thread, again=again: [
            again.find((0, "b")), *(again.find((thread, i), lambda _: "other") for i in range(8))])
        assert found == [["other"] * 9] * 6
        kept = Measured(f"things{number}", ALGORITHMS)
        kept.load()
        assert len(kept) == 51 + 6 * 8
