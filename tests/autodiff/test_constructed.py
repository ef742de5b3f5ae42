"""Gradients through Tensors and Parameters that a differentiated function makes of Tensors."""

import copy

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

POINT = [1.0, 2.0, 3.0]

# each is twice its argument
MAKERS = {
    "Tensor": lambda x: Tensor(x * 2),
    "tensor": lambda x: ms.tensor(x * 2),
    "Tensor of a type": lambda x: Tensor(x * 2, ms.float32),
    "Tensor of another type": lambda x: Tensor(x * 2, ms.float64).astype("float32"),
    "Tensor of a Tensor": lambda x: Tensor(Tensor(x * 2)),
    "Tensor of a list": lambda x: Tensor([x[0] * 2, x[1] * 2, x[2] * 2]),
    "Tensor of nested lists": lambda x: Tensor([[x[0] * 2], (x[1] * 2,), [x[2] * 2]]).reshape(3),
    "Tensor of numbers and Tensors": lambda x: Tensor([x * 2, [0, 0.0, 0]]).sum(0),
    "stack": lambda x: ops.stack([Tensor(v * 2) for v in x]),
    "copy": lambda x: Tensor(x).copy() * 2,
    "copied by Python": lambda x: copy.copy(x * 2),
    "deep copy": lambda x: copy.deepcopy(x * 2),
    "Parameter": lambda x: ms.Parameter(x * 2, name="p") * 1,
    "Parameter itself": lambda x: ms.Parameter(x * 2, name="p"),
    "Parameter of a Tensor": lambda x: ms.Parameter(Tensor(x * 2), name="p", requires_grad=False),
    "value of a Parameter": lambda x: ms.Parameter(x * 2, name="p").value(),
    "mutable": lambda x: ms.mutable(x * 2),
    "numpy.array": lambda x: ms.numpy.array(x * 2),
    "numpy.asarray": lambda x: ms.numpy.asarray(x * 2),
    "numpy.array of a list": lambda x: ms.numpy.array([x * 2])[0],
    "numpy.full_like": lambda x: ms.numpy.full_like(x, x * 2),
    "mint.tensor of a Tensor": lambda x: Tensor(x, dtype=ms.float32) + x,
    "set_": lambda x: ops.zeros(3).set_(x * 2),
    "COOTensor": lambda x: ms.COOTensor(Tensor([[0, 0], [1, 1], [2, 2]]), x * 2, (3, 3)).values,
    "CSRTensor": lambda x: ms.CSRTensor(Tensor([0, 3], ms.int32), Tensor([0, 1, 2], ms.int32),
                                        x * 2, (1, 3)).values,
    "RowTensor": lambda x: ms.RowTensor(Tensor([0, 1, 2]), x * 2, (3,)).values,
    "PyTorch's": lambda x: Tensor((x * 2).to_torch()),
}


def product(name):
    def f(x):
        return (MAKERS[name](x) * x).sum()

    return f


@pytest.mark.parametrize("name", MAKERS)
def test_gradients_pass(name):
    x, f = Tensor(POINT), product(name)
    np.testing.assert_array_equal(ms.grad(f)(x).asnumpy(), [4, 8, 12])
    value, gradient = ms.value_and_grad(f)(x)
    assert value == 28 and gradient.asnumpy().tolist() == [4, 8, 12]
    np.testing.assert_array_equal(ms.vjp(f, x)[1](Tensor(1.0))[0].asnumpy(), [4, 8, 12])


@pytest.mark.parametrize("name", MAKERS)
def test_in_other_transformations(name):
    x, f = Tensor(POINT), product(name)
    assert ms.jvp(f, x, Tensor([1.0, 0.5, 0.0]))[1] == 8
    second = ms.grad(lambda x: (ms.grad(f)(x) * x).sum())(x)
    np.testing.assert_array_equal(second.asnumpy(), [8, 16, 24])
    np.testing.assert_array_equal(ms.jacfwd(ms.grad(f))(x).asnumpy(), np.eye(3) * 4)
    np.testing.assert_array_equal(ms.jacrev(f)(x).asnumpy(), [4, 8, 12])
    np.testing.assert_array_equal(ms.vmap(ms.grad(f))(ops.stack([x, x * 2])).asnumpy(),
                                  [[4, 8, 12], [8, 16, 24]])


@pytest.mark.parametrize("name", MAKERS)
def test_compiled(name):
    x, f = Tensor(POINT), product(name)
    step = ms.jit(lambda x: ms.grad(f)(x))
    for scale in (1.0, 2.0, 3.0, 4.0):
        np.testing.assert_array_equal(step(x * scale).asnumpy(), np.array([4, 8, 12]) * scale)


@pytest.mark.filterwarnings("ignore:.*is recorded again and again")  # one function, many makers
@pytest.mark.parametrize("name", MAKERS)
def test_in_graph_mode(name):
    x = Tensor(POINT)
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        gradient = ms.grad(product(name))
        for scale in (1.0, 2.0, 3.0):
            np.testing.assert_array_equal(gradient(x * scale).asnumpy(),
                                          np.array([4, 8, 12]) * scale)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_by_weights():
    w, x = ms.Parameter(Tensor(POINT), name="w"), Tensor([1.0, 1.0, 1.0])
    gradient = ms.grad(lambda x: (Tensor(w) * Tensor([w[0], w[1], w[2]]) * x).sum(), None, w)(x)
    np.testing.assert_array_equal(gradient.asnumpy(), [2, 4, 6])


def test_a_parameter_made_inside_is_a_weight_of_inner_gradients():
    def f(x):
        w = ms.Parameter(x * 2, name="w")
        by_w = ms.grad(lambda y: (w * w * y).sum(), None, w)(x)  # 2 w x = 4 x^2
        return by_w.sum()

    np.testing.assert_array_equal(ms.grad(f)(Tensor(POINT)).asnumpy(), [8, 16, 24])


def test_a_parameter_made_inside_keeps_its_data_afterwards():
    made = []

    def f(x):
        made.append(ms.Parameter(x * 2, name="w"))
        return (made[0] * x).sum()

    ms.grad(f)(Tensor(POINT))
    assert made[0].asnumpy().tolist() == [2, 4, 6] and not made[0]._raw.requires_grad
    made[0].set_data(ops.ones(3))
    assert made[0].asnumpy().tolist() == [1, 1, 1]


def test_memory_is_shared_outside_of_gradients():
    x = Tensor(POINT)
    y = Tensor(x)
    y[0] = 10.0
    assert x[0] == 10 and not Tensor(x)._raw.requires_grad


def test_lists_of_tensors_have_numpys_types():
    assert Tensor([Tensor(1), 2]).dtype == ms.int64
    assert Tensor([Tensor(1, ms.int32), 2.5]).dtype == ms.float32
    assert Tensor([Tensor(1.0, ms.float16), Tensor(True)]).dtype == ms.float16
    assert Tensor([Tensor([True]), [False]]).asnumpy().tolist() == [[True], [False]]
    assert Tensor([Tensor(1.0), 2.0], ms.int32).asnumpy().tolist() == [1, 2]
    with pytest.raises(TypeError, match="one shape"):
        Tensor([Tensor([1.0]), [2.0, 3.0]])
    with pytest.raises(TypeError, match="numbers or booleans"):
        Tensor([Tensor(1.0), "a"])
