"""Arguments and results of every structure, compiled as eagerly."""

import collections

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, jit, ops

from .agreement import W, X, agree, close

Pair = collections.namedtuple("Pair", "left right")


@pytest.mark.parametrize("function, calls", [
    (lambda x: {"a": (x, [x * 2, None]), "b": 3, "c": "text"}, [(X,)]),
    (lambda tree: tree["k"][0] + tree["k"][1][0] * tree["n"],
     [({"k": (X, [W]), "n": 2},), ({"k": (X, [W]), "n": 3},), ({"k": (W, [X]), "n": 2},)]),
    (lambda a, b=None: a if b is None else a + b, [(X,), (X, None), (X, W), (X, 2.0)]),
    (lambda p: Pair(p.right, p.left * 2), [(Pair(X, W),)]),
    (lambda *xs: sum(xs), [(X,), (X, W), (X, W, X)]),
    (lambda x, n: [x * i for i in range(n)], [(X, 0), (X, 2), (X, 3)]),
    (lambda x, flag: x if flag else -x, [(X, True), (X, 1), (X, False), (X, 0)]),
    (lambda x, n: x * n, [(X, 2), (X, 2.0), (X, True), (X, 2)]),
    (lambda x: (x > 0, x.astype(ms.int32), x.shape, x.dtype == ms.float32), [(X,), (W,)]),
    (lambda x: (x.sum(), x.max(), ops.concat((x, x))),
     [(Tensor([[1, 2], [3, 4]], ms.int64),), (Tensor([True, False]).astype(ms.int32),)]),
    (lambda x: ops.concat((x, x + 1)), [(ops.zeros((0, 3)),), (ops.zeros((2, 3)),)]),
    (lambda x: ops.zeros((3, 0)).sum() + x, [(X,)]),
    (lambda x, kind: x.astype(kind), [(X, ms.int32), (X, ms.float64), (X, ms.int32)]),
    (lambda x, op: op(x), [(X, ops.relu), (X, ops.neg), (X, ops.relu)]),
    (lambda x, s: x[s], [(X, slice(0, 2)), (X, slice(1, 3)), (X, Ellipsis), (X, 0), (X, -1)]),
    (lambda x, a: x * Tensor(a), [(X, np.float32([1, 2, 3])), (X, np.float32([3, 2, 1]))]),
    (lambda x: None, [(X,)]),
    (lambda x: (), [(X,)]),
    (lambda: ops.ones(3) * 2, [()]),
])
def test_arguments_and_results(function, calls):
    agree(function, *calls)


def test_arrays_as_arguments_are_compared_by_value():
    compiled = jit(lambda x, a: x * Tensor(a))
    for i in range(12):
        array = np.full(3, i, np.float32)
        close(compiled(X, array), X * i)
        array[0] = 100.0
        close(compiled(X, array), X * Tensor(array))


def test_keyword_arguments():
    def f(x, y=2.0, *, z=None, **more):
        return x * y + (0 if z is None else z) + sum(more.values())

    compiled = jit(f)
    for kwargs in ({}, {"y": 3.0}, {"y": W}, {"z": X}, {"z": X, "y": W}, {"other": W, "and": 1.0},
                   {"y": W, "z": X}):
        for _ in range(2):
            close(compiled(X, **kwargs), f(X, **kwargs))
            close(compiled(**{"x": W, **kwargs}), f(W, **kwargs))


def test_an_input_with_other_strides():
    compiled = ms.jit(lambda x: x.reshape(-1) * 2)
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3).copy())
    turned = ops.transpose(Tensor(np.arange(6, dtype=np.float32).reshape(3, 2).copy()), (1, 0))
    for given in (x, turned, x, turned):
        np.testing.assert_array_equal(compiled(given).asnumpy(), given.asnumpy().reshape(-1) * 2)
