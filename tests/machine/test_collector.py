"""Blocks in which full garbage collections are rare."""

import gc

import pytest

from lamella.machine.collector import SELDOM, collecting_seldom


@pytest.fixture(autouse=True)
def _thresholds():
    before = gc.get_threshold()
    gc.set_threshold(600, 9, 8)
    yield
    gc.set_threshold(*before)


def test_blocks_within_each_other():
    with collecting_seldom():
        assert gc.get_threshold() == (600, 9, SELDOM)
        with pytest.raises(ValueError), collecting_seldom():
            raise ValueError
        assert gc.get_threshold() == (600, 9, SELDOM)
    assert gc.get_threshold() == (600, 9, 8)


def test_blocks_that_end_in_another_order():
    first, second = collecting_seldom(), collecting_seldom()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold() == (600, 9, SELDOM)
    second.__exit__(None, None, None)
    assert gc.get_threshold() == (600, 9, 8)


def test_what_the_program_sets_meanwhile_stays():
    with collecting_seldom():
        gc.set_threshold(0)
    assert gc.get_threshold()[0] == 0


def test_what_is_made_in_a_block_makes_no_collection_of_all_due():
    with collecting_seldom():
        made = [[i] for i in range(600 * 9 * 8 * 2)]
    assert gc.get_count()[2] == 0 and len(made) == 86400
    assert gc.is_tracked(made) and gc.get_freeze_count() == 0  # it is collected eventually


def test_what_the_program_has_frozen_stays_frozen():
    gc.freeze()
    try:
        with collecting_seldom():
            pass
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()
