"""Of which kind an object is, for guards."""

import argparse
import array
import collections
import contextvars
import ctypes
import datetime
import decimal
import enum
import functools
import io
import itertools
import json
import logging
import math
import pathlib
import queue
import random
import re
import struct
import sys
import threading
import types
import uuid
import weakref
from collections import OrderedDict, deque
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse

import lamella as ms
from lamella import Parameter, Tensor
from lamella.graph.guards import kinds


class Mine:
    pass


class Numbers(list):
    pass


class Matrix(np.ndarray):
    pass


def test_classes_of_numpy_and_scipy():
    of_numpy = [np.poly1d([1, 2]), scipy.sparse.csr_matrix((2, 2)), np.random.RandomState(0)]
    assert [kinds.is_of_numpy(each) for each in of_numpy[:2]] == [True, True]
    others = [np, np.linalg, np.float64, np.ones(2), np.float32(1), Mine(), [1], Tensor(1.0)]
    assert not any(map(kinds.is_of_numpy, others))


class Level(int):
    __slots__ = ()


class Point(NamedTuple):
    x: int


def test_values_of_derived_classes():
    numbers = Numbers([1])
    numbers.name = "n"  # type: ignore[attr-defined]
    for derived in (np.ones(2).view(Matrix), numbers, Numbers(), Level(3), Point(1), np.ma.ones(2)):
        assert kinds.is_derived(derived)
    for plain in (np.ones(2), [1], {}, deque(), 1, "t", Mine(), weakref.ref(Mine), np.float64(1)):
        assert not kinds.is_derived(plain)
    assert kinds.may_have_attributes(Numbers) and kinds.may_have_attributes(OrderedDict)
    assert not any(map(kinds.may_have_attributes, (list, dict, int, Level, Point, np.ndarray)))


def test_what_makes_the_values_that_a_dict_lacks():
    assert kinds.default_of(collections.defaultdict(Mine)) is Mine
    for other in (collections.defaultdict(), {}, [1], collections.Counter(), Showing(a=1)):
        assert kinds.default_of(other) is None


def test_containers_that_find_tensors_by_identity():
    x, weight = Tensor([1.0]), Parameter(Tensor([1.0]), name="w")
    for given in ({x: 1}, {x}, frozenset([x]), {weight: 1, x: 2}):
        assert kinds.has_tensors_as_keys(given)
    for given in ({1: x}, {weight: 1}, {"a"}, [x], (x,), x):
        assert not kinds.has_tensors_as_keys(given)
    assert kinds.is_no_parameter(x) and not kinds.is_no_parameter(weight)
    assert not kinds.is_no_parameter(1.0)


def test_what_is_ours():
    assert kinds.is_ours(Tensor(1.0)) and kinds.is_ours(ms.nn.ReLU()) and not kinds.is_ours(Mine())
    assert kinds.is_ours_function(ms.ops.relu) and not kinds.is_ours_function(np.sum)
    assert not kinds.is_ours_function(test_what_is_ours) and not kinds.is_ours_function(Tensor)


def test_functions_of_members():
    def get(self):
        return 1

    def put(self, value):
        pass

    assert kinds.functions_of(get) == (get,)
    assert kinds.functions_of(staticmethod(get)) == kinds.functions_of(classmethod(get)) == (get,)
    assert kinds.functions_of(property(get)) == (get,)
    assert kinds.functions_of(property(get, put)) == (get, put)
    assert kinds.functions_of(functools.cached_property(get)) == (get,)
    part = functools.partialmethod(get, 1)
    assert kinds.functions_of(part) == (part,) and kinds.functions_of(1) == ()


def test_slots_and_variables():
    class _Private:
        __slots__ = ("a", "__b", "__c__")

    class One:
        __slots__ = "only"

    class _:
        __slots__ = ("__d",)

    assert kinds.slots_of(_Private) == ("a", "_Private__b", "__c__")
    assert kinds.slots_of(One) == ("only",) and kinds.slots_of(Mine) == ()
    assert [name for name in vars(_Private) if "b" in name and "__b" in name] == ["_Private__b"]
    assert kinds.slots_of(_) == ("__d",)
    assert kinds.has_value(types.CellType(None)) and not kinds.has_value(types.CellType())


def test_behind_a_weak_proxy():
    thing = Mine()
    proxy = weakref.proxy(thing)
    assert kinds.behind(proxy) is thing
    del thing
    assert kinds.behind(proxy) is None


class Error(Exception):
    pass


class Turns:
    def __iter__(self):
        return self

    def __next__(self):
        return 1


class Counted(itertools.count):
    pass


class Held(collections.UserDict):
    pass


class Reader(json.JSONDecoder):
    pass


class Structure(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int)]  # noqa: RUF012


class Colour(enum.Enum):
    RED = 1


class Text(str):
    pass


def _numbers():
    yield 1


def _of_module(module):
    return type("Named", (), {"__module__": module})()


OPAQUE = [
    iter([1]), _numbers(), itertools.count(), Counted(), zip(), map(abs, []), enumerate([]),
    ValueError(1), queue.Queue(), json.JSONDecoder(), io.StringIO(), threading.Thread(),
    Structure(), threading.Event(), argparse.ArgumentParser()]
NOT_OPAQUE = [
    1, 2.5, "a", None, [1], (1,), {}, {1}, deque(), np.ones(2), np.float32(1), bytearray(b"a"),
    array.array("i", [1]), {}.keys(), int, Mine, Mine(), len, [].append, Mine().__init__, math.sin,
    functools.partial(len), re.compile("a"), re.match("a", "a"), struct.Struct("i"),
    datetime.date(2020, 1, 1), datetime.timedelta(1), datetime.timezone.utc, decimal.Decimal(1),
    pathlib.Path("a"), uuid.UUID(int=3), Colour.RED, logging.getLogger("a"), random.Random(),
    contextvars.ContextVar("a"), threading.local(), threading.Lock(), threading.RLock(),
    types.SimpleNamespace(a=1), argparse.Namespace(a=1), collections.UserDict(),
    collections.UserList(), collections.ChainMap(), Held(), Reader(), Error(1), Turns(),
    _of_module(3), _of_module(None), _of_module("lamella"), Tensor(1.0), ms.nn.ReLU(),
    weakref.ref(Mine), functools.lru_cache(len), types.CellType(1), slice(1, 2), range(3),
    object(), np.random.RandomState(0)]


@pytest.mark.parametrize("thing", OPAQUE, ids=range(len(OPAQUE)))
def test_objects_with_a_state_that_cannot_be_compared(thing):
    assert kinds.is_opaque(thing)


@pytest.mark.parametrize("thing", NOT_OPAQUE, ids=range(len(NOT_OPAQUE)))
def test_objects_whose_state_can_be_compared_or_that_have_none(thing):
    assert not kinds.is_opaque(thing)


@pytest.mark.parametrize("make", [list, tuple, set, frozenset, deque, dict.fromkeys])
def test_how_large_a_container_may_be(make):
    assert not kinds.is_large(make(range(kinds.MOST_PARTS)))
    assert kinds.is_large(make(range(kinds.MOST_PARTS + 1)))


def test_how_large_other_values_may_be():
    for array_, large in ((np.zeros(kinds.MOST_BYTES, np.int8), False),
                          (np.zeros(kinds.MOST_BYTES + 1, np.int8), True),
                          (np.zeros(kinds.MOST_BYTES // 4 + 1, np.float32), True)):
        assert kinds.is_large(array_) == large
    for other in ("a" * 10**5, range(10**5), bytes(10**5), Mine(), np.ones(10**5).tobytes()):
        assert not kinds.is_large(other)


class Quiet(list):
    def __len__(self):
        return 0

    def __iter__(self):
        return iter(())


class Showing(dict):
    def items(self):
        return []

    def __len__(self):
        return 0


def test_parts_whatever_a_class_shows():
    assert kinds.parts_of(Quiet([1, 2])) == [1, 2] and kinds.length_of(Quiet([1, 2])) == 2
    assert kinds.parts_of(Showing(a=1)) == [("a", 1)] and kinds.length_of(Showing(a=1)) == 1
    assert kinds.parts_of(types.MappingProxyType({"a": 1})) == [("a", 1)]
    assert kinds.parts_of(OrderedDict(b=1, a=2)) == [("b", 1), ("a", 2)]
    assert kinds.parts_of({"a": 1}.keys()) == ["a"] and kinds.parts_of((1, 2)) == [1, 2]


def test_a_container_that_others_change_is_read_again():
    class Restless(dict):
        """Another thread's changes: an error in the first attempts."""

    tries = []

    class View:
        def __call__(self, container):
            tries.append(1)
            if len(tries) < 5:
                raise RuntimeError("dictionary changed size during iteration")
            return iter([("a", 1)])

    Restless.items = View()
    assert kinds.parts_of(Restless()) == [("a", 1)] and len(tries) == 5


@pytest.mark.parametrize("module, users", [
    ("lamella.ops", False), ("torch.nn", False), ("numpy", False), ("sympy.core", False),
    ("scipy.sparse", False), ("mindspore", False), ("builtins", False), ("sys", False),
    ("json", False), ("collections.abc", False), ("lamellar", True), ("no_such_module", True),
    (__name__, True), ("__main__", True), ("pytest", True), (None, True), ("", True)])
def test_whose_a_module_is(module, users):
    assert kinds.is_users(module) == users


def test_the_main_module_is_the_programs_whichever_file_it_says(monkeypatch):
    """A profiler of Python's library that runs a program stays there."""
    monkeypatch.setitem(sys.modules, "__main__", json)
    kinds.is_users.cache_clear()
    try:
        assert kinds.is_users("__main__") and not kinds.is_users("json")
    finally:
        kinds.is_users.cache_clear()


def test_what_is_no_module_name():
    assert not kinds.is_users(3) and kinds.is_users_code(test_what_is_no_module_name.__code__)
    assert not kinds.is_users_code(json.dumps.__code__)
    assert kinds.is_users_code(pytest.raises.__code__)


def test_identities_of_objects():
    one, other = [1], [1]
    assert kinds.ByIdentity(one) == kinds.ByIdentity(one) != kinds.ByIdentity(other)
    assert kinds.ByIdentity(one) != one and not kinds.ByIdentity(1) == 1  # noqa: SIM201
    assert len({kinds.ByIdentity(one), kinds.ByIdentity(one), kinds.ByIdentity(other)}) == 2


class Meta(type):
    pass


class ByName(type):
    def __eq__(cls, other):
        return cls.__name__ == other.__name__

    __hash__ = type.__hash__


class Hashed(type):
    def __hash__(cls):
        return 3


class OfHashed(Hashed):
    pass


def test_metaclasses_that_compare_by_their_own_code():
    found = [kinds.compared_by_code(kind) for kind in (type, Meta, ByName, Hashed, OfHashed,
                                                       enum.EnumMeta, type(Mine))]
    assert found == [False, False, True, True, True, False, False]


def test_texts_and_numbers_with_attributes():
    for thing, has in ((Text("a"), True), ("a", False), (Colour.RED, False), (Error(), False),
                       (np.float64(1), False), (collections.Counter(), False), (Showing(), True)):
        assert kinds.is_derived(thing) == has


def test_attributes_that_only_c_code_reads():
    assert kinds.has_hidden_state(Structure) and not kinds.has_hidden_state(Mine)
    assert kinds.has_hidden_state(io.StringIO) and not kinds.has_hidden_state(np.ndarray)
    assert not kinds.has_hidden_state(type("Named", (), {"__module__": 3}))


def test_metadata_of_tensors():
    raw = Tensor(np.ones((2, 3), np.float32))._raw
    metas = [kinds.tensor_meta(each) for each in (
        raw, raw.t(), raw.t().contiguous(), raw.double(), raw[:1], raw.clone())]
    assert metas[0] == metas[5] and len(set(map(str, metas))) == 5
