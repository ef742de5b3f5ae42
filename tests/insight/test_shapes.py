"""`eval_shape` beside what functions give."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops


def check(fn, *args, **kwargs):
    found = ms.eval_shape(fn, *args, **kwargs)
    real = fn(*args, **kwargs)
    for a, b in zip(ms.tree.leaves(found), ms.tree.leaves(real), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype) if isinstance(b, Tensor) else a == b


def test_shapes_of_functions_and_cells():
    x = Tensor(np.ones((2, 3, 8, 8), np.float32))
    net = nn.SequentialCell(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2, 2),
                            nn.Flatten(), nn.Dense(64, 5)).set_train()
    check(lambda x: {"a": (ops.sum(x, 0), x.astype(ms.int32)), "b": 3}, x)
    check(net, x)
    check(ms.value_and_grad(lambda x: net(x).sum(), 0, net.trainable_params()), x)
    check(ms.vmap(ms.grad(lambda x: (x**2).sum())), x)
    check(ms.jit(lambda x, y: x @ y.T), Tensor(np.ones((2, 3))), Tensor(np.ones((4, 3))))
    check(lambda x, scale: ops.dropout(x) * scale, x, scale=2.0)


def test_nothing_changes_and_nothing_is_computed():
    net = nn.BatchNorm1d(3).set_train()
    mean, state = net.moving_mean.asnumpy().copy(), ms.get_rng_state()
    w = ms.Parameter(Tensor([1.0]), name="w")

    def step(x):
        ops.assign_add(w, Tensor([1.0]))
        return ops.dropout(net(x)) * w

    assert ms.eval_shape(step, Tensor(shape=(4, 3), dtype=ms.float32)).shape == (4, 3)
    assert (net.moving_mean.asnumpy() == mean).all() and w.asnumpy() == [1.0]
    assert (ms.get_rng_state() == state).all()
    huge = Tensor(shape=(10**6, 10**6), dtype=ms.float32)
    assert ms.eval_shape(lambda x: x @ x, huge).shape == (10**6, 10**6)


def test_what_has_no_shape_is_refused():
    x = Tensor([1.0, -1.0])
    with pytest.raises(RuntimeError, match="For 'eval_shape'.*depends on values"):
        ms.eval_shape(lambda x: x if x.sum() > 0 else -x, x)
    with pytest.raises(RuntimeError, match="For 'eval_shape'.*depends on values"):
        ms.eval_shape(ops.nonzero, x)
    with pytest.raises(TypeError, match="'fn' must be a function"):
        ms.eval_shape(3)
    with pytest.raises(ValueError, match="must have known shapes"):
        ms.eval_shape(ops.sin, Tensor(shape=[None, 2], dtype=ms.float32))
