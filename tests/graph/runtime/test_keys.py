"""Calls with the same key, and with others."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch

from lamella import Parameter, Tensor
from lamella.graph.runtime.keys import (
    key_of,
    key_without_numbers,
    raws_of,
    tensor_meta_of_any_size,
)

X, Y, Z = Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), Tensor([5.0, 6.0, 7.0])
WEIGHT, OTHER = Parameter(X, name="a"), Parameter(X, name="a")


@pytest.mark.parametrize("one, other, same", [
    ((X,), (Y,), True), ((X,), (Z,), False), ((X,), (Tensor([1, 2]),), False), ((1,), (1,), True),
    ((1,), (1.0,), False), ((1,), (True,), False), ((1,), (2,), False), (([1],), ((1,),), False),
    (([1],), ([1],), True), (({"a": 1},), ({"a": 1},), True), (({"a": 1},), ({"b": 1},), False),
    (({1: 1},), ({True: 1},), False), ((slice(1, 2),), (slice(1, 2),), True),
    ((slice(1, 2),), (slice(1, 3),), False), ((slice(1, 2),), (slice(1, 2, 1),), False),
    ((X, X), (X, Y), False), ((X, X), (Y, Y), True), ((X, Y), (Y, X), True),
    ((WEIGHT,), (WEIGHT,), True), ((WEIGHT,), (OTHER,), False), ((WEIGHT,), (X,), False),
    ((None,), ((),), False), ((), (), True), (("a",), (b"a",), False)])
def test_arguments(one, other, same):
    assert (key_of(one, {}) == key_of(other, {})) is same
    assert (key_of((), {"x": one}) == key_of((), {"x": other})) is same
    assert key_of(one, {}) != key_of((), {"x": one})


@pytest.mark.parametrize("given, aliases", [
    ((X,), ()), ((X, Y), ()), ((X, X), (1, 1)), ((X, Y, X), (2, 1, 2)), ((X, [Y, X]), (2, 1, 2))])
def test_which_arguments_are_the_same(given, aliases):
    assert key_of(given, {}).aliases == aliases
    assert key_of(given[:1], {f"a{n}": each for n, each in enumerate(given[1:])}).aliases == aliases


def test_sizes_and_numbers_left_out():
    assert key_of((X,), {}, tensor_meta_of_any_size) == key_of((Z,), {}, tensor_meta_of_any_size)
    assert key_of((X,), {}, tensor_meta_of_any_size) != key_of(
        (X.reshape(1, 2),), {}, tensor_meta_of_any_size)
    key, numbers = key_without_numbers((X, 1, [2.5, "a"]), {"k": True})
    assert numbers == [1, 2.5]  # what is true or false decides what is computed
    assert key == key_without_numbers((Y, 7, [0.5, "a"]), {"k": True})[0]
    for other in ((X, 1.0, [2.5, "a"]), (X, 1, [2.5, "b"]), (Z, 1, [2.5, "a"])):
        assert key != key_without_numbers(other, {"k": True})[0]
    assert key != key_without_numbers((X, 1, [2.5, "a"]), {"k": False})[0]
    assert key_without_numbers((X,), {"k": 3, "x": 0.5})[1] == [3, 0.5]


def test_the_data_of_arguments():
    for args, kwargs, want in (((X, Y), {}, [X, Y]), ((X, [Z], 1), {"y": (Y,)}, [X, Z, Y]),
                               ((), {"y": Y}, [Y]), ((), {}, [])):
        found = raws_of(args, kwargs)
        assert [id(raw) for raw in found] == [id(tensor._raw) for tensor in want]


def test_settings_are_part_of_the_key():
    before = torch.are_deterministic_algorithms_enabled()
    key = key_of((X,), {})
    try:
        torch.use_deterministic_algorithms(not before)
        assert key_of((X,), {}) != key
    finally:
        torch.use_deterministic_algorithms(before)
    assert key_of((X,), {}) == key


class Own(Tensor):
    """A program's class of Tensors."""


class Table(dict):
    """A program's class of dicts, which iterates in its own way."""

    def items(self):
        raise AssertionError("it is looked at without its code")


class Record(NamedTuple):
    value: object


@pytest.mark.parametrize("one, other, same", [
    (Own([1.0]), Own([2.0]), True), (Own([1.0]), Own([1.0, 2.0]), False),
    (Table(a=1), Table(a=1), True), (Table(a=1), Table(a=2), False), (Table(a=1), {"a": 1}, False),
    (Record(1), Record(1), True), (Record(1), Record(2), False), (Record(1), (1,), False)])
def test_classes_of_the_program(one, other, same):
    assert (key_of((one,), {}) == key_of((other,), {})) is same
    assert key_of((one,), {}) == key_of((one,), {})
