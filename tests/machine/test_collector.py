"""Blocks without garbage collection."""

import gc

import pytest

from lamella.machine import collector
from lamella.machine.collector import not_collecting


@pytest.fixture(autouse=True)
def _collecting(monkeypatch):
    """As in a program that hasn't frozen anything: these tests' process may have."""
    monkeypatch.setattr(collector, "_frozen", False)
    before, had_frozen = gc.isenabled(), gc.get_freeze_count() > 0
    gc.unfreeze()
    gc.enable()
    yield
    if had_frozen:
        gc.freeze()
    if not before:
        gc.disable()


def test_blocks_within_each_other():
    with not_collecting():
        with pytest.raises(ValueError), not_collecting():
            raise ValueError
        assert not gc.isenabled()
    assert gc.isenabled()


def test_blocks_that_end_in_another_order():
    first, second = not_collecting(), not_collecting()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_what_the_program_has_switched_off_stays_off():
    gc.disable()
    with not_collecting():
        pass
    assert not gc.isenabled()


def test_what_is_made_in_a_block_makes_no_collection_due():
    threshold = gc.get_threshold()[0]
    with not_collecting():
        made = [[i] for i in range(10 * threshold)]
        assert gc.get_count()[0] > threshold
    assert gc.get_count()[0] <= threshold
    assert gc.is_tracked(made) and gc.get_freeze_count() == 0  # it is collected eventually


def test_what_is_made_in_a_pause_makes_no_collection_due():
    threshold = gc.get_threshold()[0]
    collector.pause()
    made = [[i] for i in range(10 * threshold)]
    collector.resume()
    assert gc.isenabled() and gc.get_count()[0] <= threshold and len(made) == 10 * threshold


def test_what_the_program_has_frozen_stays_frozen():
    gc.freeze()
    try:
        with not_collecting():
            pass
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()


def test_frozen_objects_are_counted_once(monkeypatch):
    """It takes as long as there are many."""
    counts, count = [], gc.get_freeze_count
    monkeypatch.setattr(gc, "get_freeze_count", lambda: counts.append(count()) or counts[-1])
    gc.freeze()
    try:
        for _ in range(3):
            with not_collecting():
                pass
        assert len(counts) == 1 and counts[0]
    finally:
        gc.unfreeze()
