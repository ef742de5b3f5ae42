import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.graph.ir.loop import loop_of

ONE = Tensor(1.0)


def both(function, *args):
    """A result, the same eagerly and compiled."""
    eager, compiled = function(*args), ms.jit(function)
    for _ in range(2):
        again = compiled(*args)
        assert str(again) == str(eager)
    return eager


def test_while_loop():
    loop = ops.WhileLoop()
    assert both(lambda v: loop(lambda v: v < 10, lambda v: v * 2, v), ONE).asnumpy() == 16
    assert ms.grad(lambda v: loop(lambda v: v < 10, lambda v: v * 2, v))(ONE).asnumpy() == 16


def test_fori_loop():
    loop = ops.ForiLoop()
    assert both(lambda v: loop(0, 4, lambda i, v: v + i, v), ONE).asnumpy() == 7
    assert both(lambda v: loop(4, 0, lambda i, v: v + i, v), ONE).asnumpy() == 1
    assert both(lambda v, n: loop(Tensor(1), n, lambda i, v: v * i, v), ONE, Tensor(5)) == 24
    assert ms.grad(lambda v: loop(0, 3, lambda i, v: v * v, v))(Tensor(2.0)).asnumpy() == 8 * 2 ** 7


@pytest.mark.parametrize("bounds", [(2, 12), (Tensor(2), Tensor(12)), (2, Tensor(12))])
def test_fori_loop_of_one_recorded_step(bounds):
    def value(x):
        y, total = ops.ForiLoop()(*bounds, lambda i, value: (value[0] * x, value[1] + value[0] * i),
                                  (ONE, ONE), False)
        return y * total

    x, compiled = Tensor(0.9), ms.jit(ms.value_and_grad(value))
    wanted = ms.value_and_grad(value)(x)
    for _ in range(3):
        found = compiled(x)
        np.testing.assert_allclose([float(f) for f in found], [float(w) for w in wanted], 1e-5)
    assert loops_of(compiled, x) == 2  # forward and backward


def test_fori_loop_to_any_bound():
    loop = ops.ForiLoop()
    steps = ms.jit(lambda x, n: loop(0, n, lambda i, v: v * x + i, ONE, False))
    for n in (10, 10, 3, 0, 20):
        value = 1.0
        for i in range(n):
            value = value * 0.5 + i
        assert float(steps(Tensor(0.5), Tensor(n))) == pytest.approx(value)
    assert steps.report()["graphs"] == 1 == loops_of(steps, Tensor(0.5), Tensor(3))
    # asks for the count, so it is recorded step by step
    assert both(lambda v: loop(0, 9, lambda i, v: v + i if i % 2 else v, v, False), ONE) == 17


def loops_of(compiled, *args):
    """How many loops there are in the only graph of a compiled function."""
    (graph,) = compiled.graphs(*args)
    return sum(loop_of(node) is not None for stage in graph.execution.plan.stages
               for node in stage.part.nodes)


def test_scan():
    scan = ops.Scan()

    def step(value, x):
        return value + x, value * x

    last, results = scan(step, Tensor(1), [Tensor(1), Tensor(2), Tensor(3)])
    assert last.asnumpy() == 7 and [r.asnumpy() for r in results] == [1, 4, 12]
    last, results = both(lambda xs: scan(step, ONE, xs), Tensor([1.0, 2.0, 3.0]))
    assert last.asnumpy() == 7 and len(results) == 3
    assert scan(step, 1, [1, 2, 3], 2) == (4, [1, 4])
    assert scan(lambda v, x: (v + 1, x), 0, None, 3) == (3, [None] * 3)
    found = ms.grad(lambda xs: scan(step, ONE, xs)[0] + scan(step, ONE, xs)[1][2])(
        Tensor([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(found.asnumpy(), [4.0, 4.0, 5.0])


@pytest.mark.parametrize("call, kind, text", [
    (lambda: ops.WhileLoop()(3, abs, ONE), TypeError, "'cond_func' must be a function"),
    (lambda: ops.WhileLoop()(abs, 3, ONE), TypeError, "'loop_func' must be a function"),
    (lambda: ops.ForiLoop()(0.0, 4, max, ONE), TypeError, "'lower' must be an int or a Tensor"),
    (lambda: ops.ForiLoop()(0, 4, ONE, ONE), TypeError, "'loop_func' must be a function"),
    (lambda: ops.Scan()(max, 1, None), ValueError, "'length' must be given"),
    (lambda: ops.Scan()(max, 1, 3), TypeError, "'xs' must be a tuple"),
    (lambda: ops.Scan()(max, 1, [1], 2), ValueError, "at most the number of elements, 1"),
    (lambda: ops.Scan()(max, 1, [1], 1.0), TypeError, "'length' must be an int"),
], ids=range(8))
def test_wrong_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
