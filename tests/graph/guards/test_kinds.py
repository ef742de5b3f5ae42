"""Of which kind an object is, for guards."""

import functools
import types
import weakref
from collections import deque

import numpy as np
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


def test_values_that_also_have_attributes():
    array = np.ones(2).view(Matrix)
    numbers = Numbers([1])
    numbers.name = "n"  # type: ignore[attr-defined]
    assert kinds.has_attributes(array) and kinds.has_attributes(numbers)
    for plain in (np.ones(2), [1], {}, deque(), 1, "t", Mine(), weakref.ref(Mine)):
        assert not kinds.has_attributes(plain)


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
