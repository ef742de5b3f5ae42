"""Branches, loops, recursion and generators, compiled as eagerly."""


import pytest

import lamella as ms
from lamella import Tensor, jit, ops

from .agreement import W, X, agree, close


def early(x):
    if x.sum() < 0:
        return -x
    for i in range(3):
        if x[i] > 2:
            return x * i
    return x


def collatz(x):
    steps = 0
    while x != 1 and steps < 40:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        steps += 1
    return x, steps


def over_rows(x):
    total = ops.zeros(())
    for row in x:
        total = total + (row.max() if row.sum() > 0 else row.min())
    return total


def searched(x, limit):
    found = -1
    for i, value in enumerate(x):
        if value > limit:
            found = i
            break
    else:
        return found
    return found * 2


@pytest.mark.parametrize("function, calls", [
    (early, [(X,), (-X,), (W,), (Tensor([9.0, 9.0, 9.0]),), (Tensor([0.0, 9.0, 9.0]),)]),
    (collatz, [(Tensor(6, ms.int32),), (Tensor(7, ms.int32),), (Tensor(1, ms.int32),)]),
    (over_rows, [(Tensor([[1.0, 2.0], [-3.0, 1.0]]),), (Tensor([[-1.0, -2.0], [3.0, 1.0]]),)]),
    (searched, [(X, Tensor(0.0)), (X, Tensor(2.0)), (X, Tensor(5.0))]),
    (lambda x: x * int(x.sum()), [(X,), (W,)]),
    (lambda x: [1, 2, 3][int(x.argmax())] * x, [(X,), (W,)]),
    (lambda x: x * len(x) + x.shape[0] + bool(x.all()), [(X,), (W,), (X[:2],)]),
    (ms.grad(lambda x: (early(x) ** 2).sum()), [(X,), (-X,), (W,)]),
    (lambda x: (x if x.min() > 0 else -x) if x.max() > 1 else x * 0, [(X,), (W,), (X * 0.1,)]),
    (lambda x: x * 2 if 2 in x else x, [(X,), (W,), (-X,)]),
    (lambda n: ops.ones(tuple(n.tolist())), [(Tensor([2, 3]),), (Tensor([3, 1]),)]),
    (lambda n: [X * i for i in range(n)], [(Tensor(2),), (Tensor(3),)]),
    (lambda x, n: x[n], [(X, Tensor(2)), (X, Tensor(0))]),
])
def test_control_flow(function, calls):
    agree(function, *calls)


def test_recursion_and_generators():
    def power(x, n):
        return x if n <= 1 else x * power(x, n - 1)

    def doubled(xs):
        for x in xs:
            yield x * 2

    agree(power, (X, 3), (X, 5), (W, 3))
    agree(lambda x: sum(doubled([x, x + 1, x - 1])), (X,), (W,))
    agree(lambda x: [d for d in doubled(x) if d > 0], (X,), (W,))

    @jit
    def fib(x, n):
        return x if n < 2 else fib(x, n - 1) + fib(x, n - 2)

    for _ in range(2):
        close(fib(X, 6), X * 13)
