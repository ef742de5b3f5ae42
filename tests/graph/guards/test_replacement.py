"""A function has another one in its place while any thread records."""

import threading
import types

import pytest

from lamella.graph.guards.replacement import Replacement


def test_the_first_function_stays_until_the_last_block_ends():
    owner, ended = types.SimpleNamespace(f=len), []
    place = Replacement(owner, "f")
    assert place.own is place.original is len
    with place.by(max, lambda: ended.append(owner.f)):
        assert owner.f is max and place.own is len
        with place.by(min, lambda: ended.append("inner")):
            assert owner.f is max
        assert owner.f is max and place.own is len and not ended
    assert owner.f is len and ended == [len]
    owner.f = sorted  # by the program
    assert place.own is sorted
    with place.by(max):
        assert owner.f is max and place.own is sorted
    assert owner.f is place.own is sorted


def test_a_function_is_put_back_after_an_error():
    owner = types.SimpleNamespace(f=len)
    place = Replacement(owner, "f")
    for _ in range(2):
        with pytest.raises(KeyError), place.by(max):
            raise KeyError
        assert owner.f is len


def test_blocks_of_two_threads():
    owner = types.SimpleNamespace(f=len)
    place, begun, over = Replacement(owner, "f"), threading.Event(), threading.Event()

    def other():
        with place.by(max):
            begun.set()
            over.wait(60)

    thread = threading.Thread(target=other)
    thread.start()
    assert begun.wait(60)
    with place.by(min):
        assert owner.f is max
    assert owner.f is max
    over.set()
    thread.join(60)
    assert owner.f is len
