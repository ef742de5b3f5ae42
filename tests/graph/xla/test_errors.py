"""XLA's code raises no errors; a call for which a kernel would is run by PyTorch's kernels."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.graph.runtime.compiled import Compiled

from .forced import engine, forced  # noqa: F401  (a fixture for all tests here)


def integers(*values):
    return Tensor(np.array(values, np.int32))


def numbers(*values):
    return Tensor(np.array(values, np.float32))


def of_a_loop(x, i):
    return ops.ForiLoop()(0, 3, lambda n, total: total + x[i[0] + n], x.sum())


def of_loops_in_loops(x, i):
    def step(n, total):
        return ops.ForiLoop()(0, 2, lambda m, s: s * 0.5 + x[i[0] + n + m], total)

    return ops.ForiLoop()(0, 2, step, x.sum())


def of_a_loop_of_python(x, i):
    total = x[0]
    for n in range(8):
        total = total * 0.5 + x[i[0] + n]
    return total


def written(x, i):
    y = x * 1
    y[i] = 3
    return y


LONG = numbers(*range(12))
CASES = {
    "read": (lambda x, i: x[i] * 2, (LONG, integers(0, -1)), (LONG, integers(0, 12))),
    "gathered": (lambda x, i: ops.gather(x, i, 0) * 2, (LONG, integers(0)), (LONG, integers(99))),
    "written": (written, (LONG, integers(3)), (LONG, integers(12))),
    "added": (lambda x, i: ops.index_add(x * 1, i, x[:1], 0), (LONG, integers(3)),
              (LONG, integers(12))),
    "classes": (lambda x, i: ops.cross_entropy(x.reshape(4, 3), i), (LONG, integers(0, 1, 2, 0)),
                (LONG, integers(0, 1, 3, 0))),
    "gradient": (lambda x, i: ms.grad(lambda w: ops.embedding(i, w.reshape(6, 2)).sum())(x),
                 (LONG, integers(0, 5)), (LONG, integers(0, 6))),
    "clamped": (lambda x, i: x[i.clamp(-12, 12)] * 2, (LONG, integers(3)), (LONG, integers(99))),
    "best of more": (lambda x, i: x[:8][ops.topk(x + i, 1)[1]] * 2, (-LONG, integers(0)),
                     (LONG, integers(0))),
    "divided": (lambda x, i: (i + 7) // i + (i + 7) % i, (LONG, integers(3)),
                (LONG, integers(0))),
    "probabilities": (lambda x, i: ops.binary_cross_entropy(x, x * 0, x * 0 + 1) + i,
                      (LONG / 12, integers(0)), (LONG, integers(0))),
    "singular values": (lambda x, i: ops.svd((x * x).reshape(3, 4), compute_uv=False) + i,
                        (LONG, integers(0)), (LONG / 0, integers(0))),
    "loop": (of_a_loop, (LONG, integers(0)), (LONG, integers(10))),
    "loops in loops": (of_loops_in_loops, (LONG, integers(0)), (LONG, integers(10))),
    "Python's loop": (of_a_loop_of_python, (LONG, integers(0)), (LONG, integers(10))),
}


def outcome(fn, args):
    try:
        return np.asarray(fn(*args)).tolist()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", CASES)
def test_values_for_which_a_kernel_fails(name):
    fn, right, wrong = CASES[name]
    compiled = Compiled(fn)
    for _ in range(3):
        np.testing.assert_allclose(compiled(*right).asnumpy(), fn(*right).asnumpy(), 1e-5)
    assert engine(compiled) == ["xla"]
    assert outcome(compiled, wrong) == outcome(fn, wrong)
    np.testing.assert_allclose(compiled(*right).asnumpy(), fn(*right).asnumpy(), 1e-5)
    assert compiled.statistics.traces == 1
