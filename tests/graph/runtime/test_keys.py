"""Calls with the same key, and with others."""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import pytest
import torch

from lamella import Parameter, Tensor, jit
from lamella.graph.guards.arguments import DEEPEST
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


def nested(depth, held):
    """A function that a function holds that a function holds: so many around the first."""
    def inner(x):
        return x * held

    for _ in range(depth):
        inner = around(inner)
    return inner


def around(inner):
    return lambda x: inner(x) + 1


def each_other(held):
    def one(x):
        return held if x is None else other(x)

    def other(x):
        return one(None) + x

    return one


@dataclasses.dataclass
class Pair:
    first: object
    second: object = None


def with_attribute(tensor, **attributes):
    found = Tensor(tensor)
    found.__dict__.update(attributes)
    return found


@pytest.mark.parametrize("one, other, same", [
    (nested(0, X), nested(0, Y), True), (nested(0, X), nested(0, Z), False),
    (nested(DEEPEST, X), nested(DEEPEST, Y), True), (nested(DEEPEST, X), nested(DEEPEST, Z), False),
    (nested(DEEPEST + 1, X), nested(DEEPEST + 1, Y), False), (nested(2, X), nested(3, X), False),
    (Pair([nested(DEEPEST - 1, X)]), Pair([nested(DEEPEST - 1, Y)]), True),
    (Pair([nested(DEEPEST, X)]), Pair([nested(DEEPEST, Y)]), False),
    (each_other(X), each_other(Y), False), (Pair(X, 1), Pair(Y, 1), True),
    (Pair(X, 1), Pair(Y, 2), False), (Pair(X), Pair(Y, X), False), (Pair(X, X), Pair(X, Y), False),
    (functools.partial(max, X), functools.partial(max, Y), True),
    (functools.partial(max, X), functools.partial(max, x=X), False),
    (with_attribute(X, a=1), with_attribute(Y, a=1), True),
    (with_attribute(X, a=1), with_attribute(X, a=2), False),
    (with_attribute(X, a=1), with_attribute(X, b=1), False), (with_attribute(X, a=1), X, False),
    (with_attribute(X, a=1), with_attribute(Z, a=1), False)])
def test_objects_that_a_call_makes_again(one, other, same):
    assert (key_of((one,), {}) == key_of((other,), {})) is same
    assert key_of((one,), {}) == key_of((one,), {})
    hash(key_of((one,), {}))


def test_functions_that_calls_make_again_are_recorded_once_to_a_depth():
    for depth, traces in ((DEEPEST, 1), (DEEPEST + 1, 4)):
        call = jit(lambda f, x: f(x))
        for number in range(4):
            scale = Tensor([float(number), 2.0])
            assert call(nested(depth, scale), X).tolist() == [number + depth, 4.0 + depth]
        assert call.report()["traces"] == traces


def test_attributes_count_for_any_size_as_well():
    one, other = with_attribute(X, a=1), with_attribute(Z, a=1)
    assert key_of((one,), {}, tensor_meta_of_any_size) == key_of(
        (other,), {}, tensor_meta_of_any_size)
    assert key_of((one,), {}, tensor_meta_of_any_size) != key_of((X,), {}, tensor_meta_of_any_size)


class Row(list):
    """A program's class of lists."""


def holding(made, **attributes):
    made.__dict__.update(attributes)
    return made


@pytest.mark.parametrize("one, other, same", [
    (Own([1.0, 2.0]), Tensor([1.0, 2.0]), False), (Row([1]), [1], False),
    (Row([1]), Row([1]), True), (holding(Row([1]), a=1), holding(Row([1]), a=1), True),
    (holding(Row([1]), a=1), holding(Row([1]), a=2), False), (holding(Row([1]), a=1), Row([1]),
                                                             False),
    (holding(Table(b=1), a=1), holding(Table(b=1), a=1), True),
    (holding(Table(b=1), a=1), holding(Table(b=1), a=2), False),
    (holding(Table(b=1), a=1), holding(Table(b=1), c=1), False)])
def test_attributes_of_classes_of_the_program(one, other, same):
    assert (key_of((one,), {}) == key_of((other,), {})) is same
