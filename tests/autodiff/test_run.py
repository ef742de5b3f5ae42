"""A recorded run: the gradient of the output that it starts from."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops


def arrays(tree):
    return [arrays(t) for t in tree] if isinstance(tree, tuple) else tree.asnumpy().tolist()


@pytest.mark.parametrize("shape, starts", [((), [(1,), (1, 1)]), ((1,), [(), (1, 1)]),
                                           ((3,), [(1, 3), (3, 1)]), ((1, 3), [(3,), (3, 1)])])
def test_a_gradient_to_start_from_may_differ_in_lengths_of_1(shape, starts):
    """As a loss scale of one element beside a loss without dimensions."""
    x = Tensor([1.0, 2.0, 3.0])

    def f(x):
        return (x * x if 3 in shape else (x * x).sum()).reshape(shape)

    for start in starts:
        sens = ops.full(start, 5.0)
        call = ops.GradOperation(sens_param=True)(f)
        assert arrays(call(x, sens)) == arrays(ms.jit(call)(x, sens)) == [10.0, 20.0, 30.0]
        assert arrays(ms.vjp(f, x)[1](sens)) == [[10.0, 20.0, 30.0]]
        # the derivative by the start itself has its shape
        assert ms.grad(lambda s: call(x, s).sum())(sens).shape == start  # noqa: B023
    assert arrays(ops.GradOperation(sens_param=True)(f)(x, np.float32(5))) == [10.0, 20.0, 30.0]


@pytest.mark.parametrize("start", [(), (1,), (2,), (3, 3)])
def test_a_gradient_to_start_from_is_not_broadcast(start):
    with pytest.raises(ValueError, match="must have the output's shape"):
        ops.GradOperation(sens_param=True)(lambda x: x * x)(Tensor([1.0, 2.0, 3.0]),
                                                            ops.ones(start))


def test_one_tensor_returned_twice_has_two_gradients_to_start_from():
    def f(x):
        y = x * x
        return y, [y]

    x, sens = Tensor([1.0, 2.0]), (Tensor([1.0, 2.0]), [Tensor([10.0, 20.0])])
    by_x = ms.grad(f, sens_param=True)
    assert arrays(by_x(x, sens)) == [22.0, 88.0]
    assert arrays(ms.vjp(f, x)[1](*sens)[0]) == [22.0, 88.0]
    rows = [ops.stack([t, t]) for t in (x, sens[0], sens[1][0])]
    assert arrays(ms.vmap(lambda x, a, b: by_x(x, (a, [b])))(*rows)) == [[22.0, 88.0]] * 2
    pulled = ms.vmap(lambda x, a, b: ms.vjp(f, x)[1](a, [b])[0])(*rows)
    assert arrays(pulled) == [[22.0, 88.0]] * 2
    first = ms.vmap(ms.grad(lambda x: (f(x)[0],) * 2, has_aux=True))(rows[0])[0]
    assert arrays(first) == [[2.0, 4.0]] * 2


@pytest.mark.parametrize("jacobian", [ms.jacrev, ms.jacfwd])
def test_one_tensor_as_first_and_as_other_output(jacobian):
    def f(x):
        y = x * x
        return y, {"same": y}

    x = Tensor([1.0, 2.0])
    rows, other = jacobian(f, has_aux=True)(x)
    assert arrays(rows) == [[2.0, 0.0], [0.0, 4.0]] and arrays(other["same"]) == [1.0, 4.0]
    both = jacobian(lambda x: (f(x)[0],) * 2)(x)
    assert arrays(both) == [[[2.0, 0.0], [0.0, 4.0]]] * 2


def test_a_tensor_that_is_not_to_be_trained_has_gradient_zero_inside_of_another():
    def inner(y):
        y.requires_grad_(False)
        return ms.grad(lambda y: y * y)(y)

    x = Tensor([1.0, 2.0])
    assert arrays(inner(x * 2)) == [0.0, 0.0]
    assert arrays(ms.grad(lambda x: inner(x * 2) + x * x)(x)) == [2.0, 4.0]
    assert arrays(ms.grad(lambda x: _product(x * 2))(x)) == [8.0, 16.0]
    assert arrays(ms.vmap(ms.grad(lambda x: _product(x * 2)))(x[None])) == [[8.0, 16.0]]


def _product(y):
    """The gradient by `x` of the square of a factor that isn't trained: this stays connected."""
    y.requires_grad_(False)
    value, gradient = ms.value_and_grad(lambda y: y * y)(y)
    return value + gradient


def test_parameters_among_several_results():
    w, x = ms.Parameter(Tensor([1.0, 2.0]), name="w"), Tensor([3.0, 4.0])
    value, (by_x, by_w) = ms.value_and_grad(lambda x: (w, {"x": x * w}), 0, w)(x)
    assert type(value[0]) is Tensor and arrays(value[0]) == [1.0, 2.0]
    assert arrays(by_x) == [1.0, 2.0] and arrays(by_w) == [4.0, 5.0]
    assert arrays(ms.grad(lambda x: (w, Tensor([5.0]), x), None, w)(x)) == [1.0, 1.0]


def test_what_an_unrecorded_gradient_gives_is_constant():
    def f(x):
        y = x * x
        with ms._no_grad():
            slope = ms.grad(lambda y: y * y)(y)
        return slope * x

    x = Tensor([1.0, 2.0])
    assert arrays(ms.grad(f)(x)) == [2.0, 8.0] and arrays(f(x)) == [2.0, 16.0]
    assert arrays(ms.grad(lambda x: ms.grad(lambda y: y * y)(x * x) * x)(x)) == [6.0, 24.0]


def test_a_pull_under_vmap_may_be_called_again():
    def f(x, v):
        pull = ms.vjp(lambda x: ops.sin(x) * x, x)[1]
        return pull(v)[0] + pull(v * 10)[0]

    x, v = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[1.0, 2.0], [5.0, 7.0]])
    wanted = (ops.sin(x) + x * ops.cos(x)) * v * 11
    np.testing.assert_allclose(ms.vmap(f)(x, v).asnumpy(), wanted.asnumpy(), rtol=1e-5)
