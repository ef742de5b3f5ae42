"""The lines of a function's graphs: which are kept, dropped, and found."""

from __future__ import annotations

from typing import Any

import pytest

from lamella import Tensor
from lamella.graph.runtime import cache, size_profile
from lamella.graph.runtime.cache import Cache
from lamella.graph.runtime.cache_entry import CacheEntry
from lamella.graph.runtime.keys import key_of, key_without_numbers, tensor_meta_of_any_size
from lamella.graph.runtime.scalar_profile import ScalarProfile


def entry(replay: Any) -> Any:
    return CacheEntry(None, None, replay)  # type: ignore[arg-type]


@pytest.fixture
def its():
    return Cache(None)


def test_the_line_recorded_longest_ago_is_dropped(its, monkeypatch):
    monkeypatch.setattr(cache, "MOST_LINES", 3)
    lines = [its.line(key) for key in "abc"]
    assert list(its.lines) == ["a", "b", "c"] and its.line("a") is lines[0]
    assert list(its.lines) == ["b", "c", "a"]
    its.line("d")
    assert list(its.lines) == ["c", "a", "d"]


def test_a_graph_replaces_that_with_the_same_replay(its):
    one, two, three = object(), object(), object()
    for replay in (one, two, three):
        its.put_first("key", entry(replay))
    its.put_first("key", entry(two))
    assert [e.replay for e in its.entries("key")] == [two, three, one]
    its.keep("key", lambda e: e.replay is not three)
    its.keep("another", lambda e: False)
    assert [e.replay for e in its.entries("key")] == [two, one]
    assert its.entries("another") == () and list(its.lines) == ["key"]


def test_calls_that_run_eagerly(its):
    its.put_first("a", entry(1))
    its.refuse("b", "why")
    assert its.reasons() == ["why"] and not its.refuses_all(1)
    its.refuse("a", "also")
    assert its.reasons() == ["also", "why"][::-1] and its.entries("a") == []
    assert its.refuses_all(1) and its.refuses_all(2) and not its.refuses_all(3)


def test_the_latest_graphs(its):
    assert its.latest() == () and list(its.all_entries()) == []
    its.put_first("a", entry(1))
    its.put_first("b", entry(2))
    its.line("c")
    assert [e.replay for e in its.latest()] == [2]
    assert [e.replay for e in its.all_entries()] == [1, 2]


@pytest.mark.parametrize("change, stays", [
    (lambda its: None, False), (lambda its: its.put_first("place", entry(1)), True),
    (lambda its: its.refuse("place", "why"), True),
    (lambda its: setattr(its.line("place"), "scalars", object()), True)])
def test_a_line_that_has_sizes_alone_is_forgotten(its, change, stays):
    sizes = its.sizes("place")
    assert its.sizes("place") is sizes
    change(its)
    its.forget_sizes("place")
    its.forget_sizes("another")
    assert list(its.lines) == ["place"] * stays


def test_where_the_graphs_of_a_call_are_found(its):
    x = Tensor([1.0, 2.0])
    args = (x, x)
    key, place = key_of(args, {}), key_of(args, {}, tensor_meta_of_any_size)
    plain = key._replace(aliases=())
    assert key.aliases and its.find(key, args, {}) == (key, (), ())
    its.line(plain)
    assert its.find(key, args, {}) == (key, (), ())
    its.put_first(place, entry("any size"))  # without a profile of sizes it isn't looked at
    assert its.find(key, args, {}) == (key, (), ())
    assert [e.replay for e in its.of_call(args, {})] == ["any size"]
    its.put_first(plain, entry("any"))
    found = its.find(key, args, {})
    assert found.key == plain and [e.replay for e in found.entries] == ["any"]
    its.compares_identities = True
    assert its.find(key, args, {}).entries == ()
    its.put_first(key, entry("this"))
    assert [e.replay for e in its.of_call(args, {})] == ["this"]


def test_graphs_that_take_numbers_as_inputs(its):
    args = (Tensor([1.0]), 2, 0.5)
    key, (kind, given) = key_of(args, {}), key_without_numbers(args, {})
    profile = ScalarProfile()
    assert its.scalars(kind) is None
    line = its.line(kind)
    assert its.scalars(kind) is None and its.find(key, args, {}) == (key, (), ())
    line.scalars = profile
    assert its.scalars(kind) is profile and its.find(key, args, {}) == (key, (), ())
    profile.arguments.places.add(1)
    place = profile.place(kind, given)
    assert its.find(key, args, {}) == (key, (), ())
    its.line(place)
    assert its.find(key, args, {}) == (key, (), ())
    its.put_first(place, entry("any rate"))
    found = its.find(key, args, {})
    assert (found.key, found.numbers) == (place, [0.5]) and found.entries[0].replay == "any rate"
    assert its.find(key, (args[0], 3, 0.5), {}).entries == ()


def test_graphs_for_several_sizes_serve_until_one_size_is_frequent(its, monkeypatch):
    monkeypatch.setattr(size_profile, "OFTEN", 2)
    args = (Tensor([1.0]),)
    key, place = key_of(args, {}), key_of(args, {}, tensor_meta_of_any_size)
    assert its.sizes(place).expected is False
    its.put_first(place, entry("any size"))
    found = [its.find(key, args, {}) for _ in range(3)]
    assert [f.key for f in found] == [place, place, key] and found[2].entries == ()
    assert [e.replay for e in found[0].entries] == ["any size"]
    assert not its.line("new").waits
