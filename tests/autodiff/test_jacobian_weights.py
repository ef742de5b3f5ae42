"""`weights=` of Jacobians and Hessians: derivatives by Parameters."""

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn, ops

from .test_jacobian import X, Y, finite, same


@pytest.mark.parametrize("transform", [ms.jacfwd, ms.jacrev], ids=["jacfwd", "jacrev"])
@pytest.mark.parametrize("compiled", [False, True])
def test_jacobians_by_parameters(transform, compiled):
    w, b = Parameter(Tensor(Y), name="w"), Parameter(Tensor(Y[:, 0]), name="b")

    def fn(x):
        return {"y": ops.tanh(w @ x) * b, "s": (b * b).sum() * x[:2]}

    def plain(x, w, b):
        return np.tanh(w @ x) * b

    x = Tensor(X)
    made = ms.jit if compiled else lambda f: f
    for _ in range(3):
        by_x, (by_w, by_b) = made(transform(fn, weights=[w, b]))(x)["y"]
        for place, got in enumerate((by_x, by_w, by_b)):
            same(got, Tensor(finite(plain, X, Y, Y[:, 0], by=place)), 1e-6, 1e-8)
        only = made(transform(fn, None, weights=b))(x)
        same(only["y"], by_b)
        same(only["s"], Tensor(2 * X[:2, None] * Y[:, 0]))
    np.testing.assert_array_equal(w.asnumpy(), Y)


def test_a_hessian_by_inputs_and_weights():
    net = nn.SequentialCell(nn.Dense(3, 2, dtype=ms.float64), nn.Tanh())
    weights = net.trainable_params()
    x = Tensor(X)
    found = ms.hessian(lambda x: (net(x) ** 2).sum(), weights=weights)(x)
    (xx, (xw, _)), ((wx, (ww, wb)), (bx, (bw, _))) = found
    assert xx.shape == (3, 3) and ww.shape == (2, 3, 2, 3) and wb.shape == (2, 3, 2)
    same(xw.transpose(1, 2, 0), wx)
    same(wb.transpose(2, 0, 1), bw)

    def by_weight(x):
        return ms.grad(lambda x: (net(x) ** 2).sum(), None, weights)(x)

    want = ms.jacfwd(by_weight)(x)
    same(wx, want[0])
    same(bx, want[1])


def test_wrong_weights():
    w = Parameter(Tensor(X), name="w")
    with pytest.raises(TypeError, match="each of 'weights' must be a Parameter, but got Tensor"):
        ms.jacfwd(lambda x: x, weights=[Tensor(X)])
    with pytest.raises(TypeError, match="'grad_position' must be an int"):
        ms.jacrev(lambda x: x, None)
    with pytest.raises(ValueError, match="'grad_position' 1 is out of range"):
        ms.jacrev(lambda x: x * w, 1, weights=w)(Tensor(X))

    def assigns(x):
        ops.assign(w, x)
        return w * x

    with pytest.raises(ValueError, match="must not assign one of 'weights', but it assigns 'w'"):
        ms.jacrev(assigns, weights=w)(Tensor(X))
    np.testing.assert_array_equal(w.asnumpy(), X)


@pytest.mark.parametrize("jacobian", [ms.jacfwd, ms.jacrev])
def test_hooks_of_weights(jacobian):
    w, x = Parameter(Tensor([2.0, 3.0]), name="w"), Tensor([1.0, 2.0])
    handle = w.register_hook(lambda gradient: gradient * 10)
    by_w = jacobian(lambda x: x * w, None, weights=w)
    assert by_w(x).asnumpy().tolist() == [[10.0, 0.0], [0.0, 20.0]]
    handle.remove()
    assert by_w(x).asnumpy().tolist() == [[1.0, 0.0], [0.0, 2.0]]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("jacobian", [ms.jacfwd, ms.jacrev])
def test_derivatives_by_frozen_weights_are_zero(jacobian, compiled):
    w = Parameter(Tensor([2.0, 3.0]), name="w", requires_grad=False)
    b, x = Parameter(Tensor([5.0, 7.0]), name="b"), Tensor([1.0, 2.0])
    made = ms.jit if compiled else lambda f: f
    by_w, by_b = made(jacobian(lambda x: x * w * b, None, weights=[w, b]))(x)
    assert by_w.asnumpy().tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert by_b.asnumpy().tolist() == [[2.0, 0.0], [0.0, 6.0]]
    (ww, wb), (bw, bb) = ms.hessian(lambda x: (x * w * w * b * b).sum(), None, weights=[w, b])(x)
    assert not (ww.any() or wb.any() or bw.any())
    assert bb.asnumpy().tolist() == [[8.0, 0.0], [0.0, 36.0]]


def test_a_frozen_weight_as_an_argument_does_not_move():
    w, v = Parameter(Tensor([2.0, 3.0]), name="w", requires_grad=False), Tensor([1.0, 10.0])

    def along(w):
        return ms.jvp(lambda w: w * w, w, v)[1]

    assert not along(w).any() and not ms.grad(lambda w: w * w)(w).any()
    assert not ms.ops.linearize(lambda w: w * w, w)[1](v).any()
    assert not ms.jvp(lambda x: along(w) * x, v, v)[1].any()
    assert not ms.vmap(lambda v: ms.jvp(lambda w: w * w, w, v)[1])(v[None]).any()
    value, tangent = ms.jvp(lambda w, x: w * x, (w, v), (v, v))
    assert value.asnumpy().tolist() == [2.0, 30.0] and tangent.asnumpy().tolist() == [2.0, 30.0]
    w.requires_grad = True
    assert along(w).asnumpy().tolist() == [4.0, 60.0]


@pytest.mark.parametrize("jacobian", [ms.jacfwd, ms.jacrev])
def test_several_inputs_beside_weights(jacobian):
    w, x, y = (kind([2.0, 3.0]) for kind in (lambda v: Parameter(Tensor(v), name="w"), Tensor,
                                            Tensor))
    (by_x, by_y), by_w = jacobian(lambda x, y: x * x * y * w, (0, 1), weights=w)(x, y)
    assert by_x.tolist() == [[16.0, 0.0], [0.0, 54.0]]
    assert by_y.tolist() == by_w.tolist() == [[8.0, 0.0], [0.0, 27.0]]
