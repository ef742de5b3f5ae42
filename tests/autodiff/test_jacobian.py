"""Jacobians, Hessians, their products with vectors, gradients by example; eager and compiled."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.core.state import state

RNG = np.random.default_rng(3)
X, Y = RNG.standard_normal(3), RNG.standard_normal((2, 3))
V = RNG.standard_normal(3)
STEP = 1e-5


def finite(function, *arrays, by=0):
    """The Jacobian of a function of NumPy arrays, by differences in float64."""
    base = arrays[by]
    columns = []
    for place in np.ndindex(base.shape):
        step = np.zeros_like(base)
        step[place] = STEP
        up, down = (function(*(a + s * step if i == by else a for i, a in enumerate(arrays)))
                    for s in (1, -1))
        columns.append((np.asarray(up) - np.asarray(down)) / (2 * STEP))
    return np.moveaxis(np.array(columns), 0, -1).reshape(np.shape(columns[0]) + base.shape)


def arrays(tree):
    if isinstance(tree, (tuple, list)):
        return [arrays(t) for t in tree]
    if isinstance(tree, dict):
        return {key: arrays(t) for key, t in tree.items()}
    return tree.asnumpy() if isinstance(tree, Tensor) else tree


def same(got, want, rtol=1e-8, atol=1e-8):
    if isinstance(want, dict):
        assert got.keys() == want.keys()
        for key in want:
            same(got[key], want[key], rtol, atol)
    elif isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            same(g, w, rtol, atol)
    else:
        got = got.asnumpy() if isinstance(got, Tensor) else got
        assert got.shape == np.shape(want)
        np.testing.assert_allclose(got, np.asarray(want), rtol=rtol, atol=atol)


def eager(function):
    return function


def compiled(function):
    """The function compiled: the result of its replay."""
    fast = ms.jit(function)

    def call(*args):
        fast(*args)
        return fast(*args)

    return call


modes = pytest.mark.parametrize("mode", [eager, compiled])
jacobians = pytest.mark.parametrize("jacobian", [ms.jacfwd, ms.jacrev])


def mixed(x, y):
    return ops.sin(x) * (y * y).sum(0) + ops.cumsum(x, 0) * y[1, 0]


def mixed_np(x, y):
    return np.sin(x) * (y * y).sum(0) + np.cumsum(x) * y[1, 0]


# what comes back


@modes
@jacobians
def test_by_one_input_and_by_several(jacobian, mode):
    by_x, by_y = finite(mixed_np, X, Y), finite(mixed_np, X, Y, by=1)
    same(mode(jacobian(mixed))(Tensor(X), Tensor(Y)), by_x, 1e-6)
    same(mode(jacobian(mixed, 1))(Tensor(X), Tensor(Y)), by_y, 1e-6)
    same(mode(jacobian(mixed, (0, 1)))(Tensor(X), Tensor(Y)), (by_x, by_y), 1e-6)
    same(mode(jacobian(mixed, (1, 0)))(Tensor(X), Tensor(Y)), (by_y, by_x), 1e-6)
    same(mode(jacobian(mixed, (1,)))(Tensor(X), Tensor(Y)), by_y, 1e-6)
    want = torch.func.jacrev(lambda x, y: torch.sin(x) * (y * y).sum(0) + x.cumsum(0) * y[1, 0],
                             argnums=(0, 1))(torch.tensor(X), torch.tensor(Y))
    same(mode(jacobian(mixed, (0, 1)))(Tensor(X), Tensor(Y)), tuple(w.numpy() for w in want), 1e-12)


@modes
@jacobians
def test_containers_in_and_out(jacobian, mode):
    def f(given):
        a, b = given["a"], given["rest"][0]
        return {"sum": (a * b).sum(), "parts": [a * 2, (ops.exp(b),)]}

    given = {"a": Tensor(X), "rest": [Tensor(V)]}
    got = mode(jacobian(f))(given)
    eye, zero = np.eye(3), np.zeros((3, 3))
    same(got, {"sum": {"a": V, "rest": [X]},
               "parts": [{"a": 2 * eye, "rest": [zero]},
                         ({"a": zero, "rest": [np.diag(np.exp(V))]},)]})


@modes
@jacobians
def test_other_outputs(jacobian, mode):
    def f(x):
        return x**3, (x * 2, ops.argmax(x))

    rows, aux = mode(jacobian(f, has_aux=True))(Tensor(X))
    same(rows, np.diag(3 * X**2))
    same(aux, (2 * X, X.argmax()))
    rows, aux = mode(jacobian(lambda x: (x**3, x, x.sum()), has_aux=True))(Tensor(X))
    same(rows, np.diag(3 * X**2))
    same(aux, (X, X.sum()))


@modes
@jacobians
def test_shapes_and_types(jacobian, mode):
    single = Tensor(2.0, ms.float64)
    same(mode(jacobian(lambda x: x**2))(single), 4.0)
    same(mode(jacobian(lambda x: ops.stack((x, x * x))))(single), [1.0, 4.0])
    same(mode(jacobian(lambda y: (y**2).sum(0)))(Tensor(Y)),
         finite(lambda y: (y**2).sum(0), Y), 1e-6)
    same(mode(jacobian(lambda y: y.T))(Tensor(Y)), finite(lambda y: y.T, Y), 1e-6)
    for dtype in (ms.float16, ms.bfloat16, ms.float32):
        got = mode(jacobian(lambda x: x * 2))(Tensor(X, dtype))
        assert got.dtype is dtype and got.shape == (3, 3)
    types = mode(jacobian(lambda x: (x.astype(ms.float32), x.astype(ms.int32), x)))(Tensor(X))
    assert [g.dtype for g in types] == ([ms.float32, ms.int32, ms.float64]
                                        if jacobian is ms.jacfwd else [ms.float64] * 3)
    same(types, (np.eye(3), np.zeros((3, 3)), np.eye(3)))
    same(mode(jacobian(lambda x: ops.stack((x[0], x[0] * x[2]))))(Tensor(X)),
         [[1, 0, 0], [X[2], 0, X[0]]])
    same(mode(jacobian(lambda x: ops.ones(2, ms.float64)))(Tensor(X)), np.zeros((2, 3)))
    empty = jacobian(lambda x: x * 2)(ops.zeros((0,), ms.float64))
    assert empty.shape == (0, 0)


@jacobians
def test_in_chunks(jacobian):
    whole = jacobian(mixed, (0, 1))(Tensor(X), Tensor(Y))
    for size in (1, 2, 100):
        same(jacobian(mixed, (0, 1), chunk_size=size)(Tensor(X), Tensor(Y)),
             tuple(arrays(w) for w in whole))


@pytest.mark.parametrize("call, error, message", [
    (lambda j: j(3), TypeError, "'fn' must be a function or a Cell, but got int"),
    (lambda j: j(mixed, "0"), TypeError, "'grad_position'"),
    (lambda j: j(mixed, None), TypeError, "'grad_position'"),
    (lambda j: j(mixed, has_aux=1), TypeError, "'has_aux' must be a bool, but got 1"),
    (lambda j: j(mixed, chunk_size=0), ValueError, "'chunk_size' must be an int of 1 or more"),
    (lambda j: j(mixed, 2)(Tensor(X), Tensor(Y)), ValueError, "'grad_position' 2 is out of range"),
    (lambda j: j(mixed)(2.0, Tensor(Y)), TypeError, "must be a Tensor or hold Tensors, but got f"),
    (lambda j: j(lambda x: x * 2)(Tensor([1, 2])), TypeError, "of a floating type, but got Int64"),
    (lambda j: j(lambda x: x, has_aux=True)(Tensor(X)), ValueError, "must return two or more"),
    (lambda j: j(lambda x: {}["mine"])(Tensor(X)), KeyError, "mine"),
])
@jacobians
def test_errors_say_what_was_wrong(jacobian, call, error, message):
    with pytest.raises(error, match=message):
        call(jacobian)
    assert state.level is None and state.overlay is None and torch.is_grad_enabled()


# Hessians and their products with vectors


class Net(nn.Cell):
    """A small network in double precision."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(0)
        self.first = Parameter(Tensor(rng.standard_normal((4, 3))), name="first")
        self.second = Parameter(Tensor(rng.standard_normal(4)), name="second")

    def construct(self, x):
        return (ops.tanh(ops.matmul(x, self.first.T)) * self.second).sum(-1)


net = Net()


def net_np(x, first=None, second=None):
    first = net.first.asnumpy() if first is None else first
    second = net.second.asnumpy() if second is None else second
    return (np.tanh(x @ first.T) * second).sum(-1)


class Ruled(nn.Cell):
    """Its rule is not the derivative."""

    def construct(self, x):
        return x**2

    def bprop(self, x, out, dout):
        return x**3 * dout


ruled = Ruled()
halved = ops.InsertGradientOf(lambda g: g / 2)


def spied(x):
    y = x**2
    y.register_hook(lambda g: g * 3)
    return y * x


# scalar functions of three numbers, each with its Hessian; a rule holds for every derivative
SCALARS = {
    "operators": (lambda x: (ops.sin(x) * x * x.sum()).sum(), lambda x: finite(
        lambda x: finite(lambda x: (np.sin(x) * x * x.sum()).sum(), x), x)),
    "a Cell": (net, lambda x: finite(lambda x: finite(net_np, x), x)),
    "a bprop": (lambda x: (ruled(x) * x).sum(), lambda x: np.diag(5 * x**3)),
    "InsertGradientOf": (lambda x: (halved(ops.sin(x)) * x[0]).sum(), lambda x: (
        np.diag(-np.sin(x) * x[0]) + np.outer(np.eye(3)[0], np.cos(x))
        + np.outer(np.cos(x), np.eye(3)[0])) / 2),
    "a hook": (lambda x: spied(x).sum(), lambda x: np.diag(18 * x)),
}
HESSIANS = {
    "hessian": ms.autodiff.hessian, "fwd over rev": lambda f: ms.jacfwd(ms.jacrev(f)),
    "rev over fwd": lambda f: ms.jacrev(ms.jacfwd(f)),
    "rev over rev": lambda f: ms.jacrev(ms.jacrev(f)),
    "fwd over fwd": lambda f: ms.jacfwd(ms.jacfwd(f)),
    "fwd over grad": lambda f: ms.jacfwd(ms.grad(f)),
    "rev over grad": lambda f: ms.jacrev(ms.grad(f)),
    "linearized": lambda f: lambda x: ms.vmap(ops.linearize(ms.grad(f), x)[1], 0, 1)(
        ops.eye(3, 3, ms.float64)),
    "pulled": lambda f: lambda x: ms.vmap(ms.vjp(ms.grad(f), x)[1])(
        ops.eye(3, 3, ms.float64))[0],
}
PRODUCTS = {
    "fwd over rev": lambda f, x, v: ms.jvp(ms.grad(f), x, v)[1],
    "fwd over vjp": lambda f, x, v: ms.jvp(
        lambda t: ms.vjp(f, t)[1](Tensor(1.0, ms.float64))[0], x, v)[1],
    "rev over fwd": lambda f, x, v: ms.grad(lambda t: ms.jvp(f, t, v)[1])(x),
    "rev over rev": lambda f, x, v: ms.grad(lambda t: (ms.grad(f)(t) * v).sum())(x),
    "vjp over rev": lambda f, x, v: ms.vjp(ms.grad(f), x)[1](v)[0],
    "linearize over rev": lambda f, x, v: ops.linearize(ms.grad(f), x)[1](v),
    "rev over linearize": lambda f, x, v: ms.grad(lambda t: ops.linearize(f, t)[1](v))(x),
    "by example": lambda f, x, v: ms.vmap(lambda v: ms.jvp(ms.grad(f), x, v)[1])(
        ops.stack((v * 2, v)))[1],
}


@modes
@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.parametrize("way", HESSIANS)
def test_hessians(way, name, mode):
    function, hessian = SCALARS[name]
    got = arrays(mode(HESSIANS[way](function))(Tensor(X)))
    same(got, hessian(X), 1e-4, 1e-4)
    np.testing.assert_allclose(got, got.T, rtol=1e-10, atol=1e-12)


@modes
@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.parametrize("way", PRODUCTS)
def test_products_of_the_hessian_and_a_vector(way, name, mode):
    function, hessian = SCALARS[name]
    got = mode(lambda x, v: PRODUCTS[way](function, x, v))(Tensor(X), Tensor(V))
    same(got, hessian(X) @ V, 1e-4, 1e-4)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # torch.func's own
@modes
def test_hessians_by_several_inputs_and_with_other_outputs(mode):
    def f(x, y):
        return (ops.sin(x) * y[0]).sum() * y[1].sum()

    def f_np(x, y):
        return (np.sin(x) * y[0]).sum() * y[1].sum()

    got = mode(ms.autodiff.hessian(f, (0, 1)))(Tensor(X), Tensor(Y))
    want = torch.func.hessian(lambda x, y: (torch.sin(x) * y[0]).sum() * y[1].sum(), (0, 1))(
        torch.tensor(X), torch.tensor(Y))
    same(got, [[w.numpy() for w in row] for row in want], 1e-12)
    same(got[0][0], finite(lambda x, y: finite(f_np, x, y), X, Y), 1e-3, 1e-3)
    both = ms.autodiff.hessian(lambda x: ((x**3).sum(), x * 2), has_aux=True)
    second, aux = mode(both)(Tensor(X))
    same(second, np.diag(6 * X))
    same(aux, 2 * X)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # torch.func's own
@modes
def test_third_order(mode):
    def cubic(x):
        return (x[0] * x[1] * x[2] + x**3 / 6).sum()

    want = torch.func.jacrev(torch.func.hessian(
        lambda x: (x[0] * x[1] * x[2] + x**3 / 6).sum()))(torch.tensor(X)).numpy()
    for a in (ms.jacfwd, ms.jacrev):
        for b in (ms.jacfwd, ms.jacrev):
            for c in (ms.jacfwd, ms.jacrev):
                same(mode(a(b(c(cubic))))(Tensor(X)), want, 1e-10, 1e-10)


# by weights


@modes
def test_products_by_weights(mode):
    weights = net.trainable_params()
    values = tuple(w.value() for w in weights)
    vectors = tuple(Tensor(RNG.standard_normal(w.shape)) for w in weights)
    x = Tensor(Y)

    def loss(first, second):
        return (nn.functional_call(net, {"first": first, "second": second}, x) ** 2).sum()

    def flat(*parts):
        return np.concatenate([np.asarray(p).reshape(-1) for p in parts])

    def loss_np(w):
        return (net_np(Y, w[:12].reshape(4, 3), w[12:]) ** 2).sum()

    hessian = finite(lambda w: finite(loss_np, w), flat(*arrays(values)))
    want = hessian @ flat(*arrays(vectors))
    by_values = ms.grad(loss, (0, 1))
    products = {
        "fwd over rev": lambda v: ms.jvp(by_values, values, v)[1],
        "rev over fwd": lambda v: ms.grad(lambda *w: ms.jvp(loss, w, v)[1], (0, 1))(*values),
        "rev over rev": lambda v: ms.grad(lambda *w: sum(
            (g * d).sum() for g, d in zip(by_values(*w), v, strict=True)), (0, 1))(*values),
        "weights": lambda v: ms.grad(lambda x: sum((g * d).sum() for g, d in zip(
            ms.grad(lambda x: (net(x) ** 2).sum(), None, weights)(x), v, strict=True)),
            None, weights)(x),
        "vjp by weights": lambda v: ms.vjp(
            lambda x: ms.grad(lambda x: (net(x) ** 2).sum(), None, weights)(x), x,
            weights=weights)[1](*v)[1],
    }
    for product in products.values():
        same(flat(*arrays(mode(product)(vectors))), want, 1e-3, 1e-2)
    assert not any(w._raw.requires_grad for w in weights)


@modes
@jacobians
def test_jacobians_by_weights(jacobian, mode):
    def outputs(first):
        return nn.functional_call(net, {"first": first}, Tensor(Y))

    want = finite(lambda first: net_np(Y, first), net.first.asnumpy())
    same(mode(jacobian(outputs))(net.first.value()), want, 1e-6)
    same(mode(jacobian(outputs))(net.first), want, 1e-6)  # a Parameter as an argument


# by example


class Classifier(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3, pad_mode="pad", padding=1, has_bias=True)
        self.norm, self.pool = nn.LayerNorm([3, 6, 6], 1, 1), nn.MaxPool2d(2, 2)
        self.dense = nn.Dense(27, 4)

    def construct(self, x):
        x = self.pool(ops.relu(self.norm(self.conv(x))))
        return self.dense(x.reshape(x.shape[0], -1))


@modes
def test_gradients_by_example(mode):
    cell = Classifier()
    images = Tensor(RNG.standard_normal((5, 2, 6, 6)).astype(np.float32))
    labels = Tensor(np.arange(5) % 4, ms.int32)
    weights = cell.trainable_params()

    def loss(image, label):
        return ops.cross_entropy(cell(image[None]), label[None])

    gradient = ms.grad(loss, None, weights)
    alone = [gradient(images[i], labels[i]) for i in range(5)]
    by_weights = mode(lambda x, y: ms.vmap(gradient)(x, y))(images, labels)
    for got, *rows in zip(by_weights, *alone, strict=True):
        same(got, np.stack(arrays(list(rows))), 1e-3, 1e-5)

    by_both = mode(lambda x, y: ms.vmap(ms.value_and_grad(loss, 0, weights))(x, y))(images, labels)
    same(by_both[0], [float(loss(images[i], labels[i])) for i in range(5)], 1e-4)
    same(by_both[1][0], np.stack([arrays(ms.grad(loss)(images[i], labels[i])) for i in range(5)]),
         1e-3, 1e-5)

    def by_values(values, image, label):
        logits = nn.functional_call(cell, values, image[None])
        return ops.cross_entropy(logits, label[None])

    values = {p.name: p.value() for p in weights}
    found = mode(lambda v, x, y: ms.vmap(ms.grad(by_values), (None, 0, 0))(v, x, y))(
        values, images, labels)
    for weight, got in zip(weights, by_weights, strict=True):
        same(found[weight.name], arrays(got), 1e-4, 1e-5)
    # as rows of a Jacobian by weights
    losses = mode(ms.jacrev(lambda v: ops.stack([by_values(v, images[i], labels[i])
                                                 for i in range(5)])))(values)
    for weight, got in zip(weights, by_weights, strict=True):
        same(losses[weight.name], arrays(got), 1e-3, 1e-5)


@modes
def test_gradients_by_example_through_rules(mode):
    seen = []

    class Clipping(nn.Cell):
        """Clipping the gradient of each example differs from clipping that of the batch."""

        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([1.0, -2.0, 3.0]), name="w")

        def construct(self, x):
            y = x * self.w
            return clip(y).sum()

    clip = ops.InsertGradientOf(
        lambda g: seen.append(g.shape) or g * ops.minimum(1.0, 1 / (g.norm() + 1e-12)))
    cell = Clipping()
    x = Tensor(RNG.standard_normal((4, 3)).astype(np.float32))
    got = mode(lambda x: ms.vmap(ms.grad(lambda r: cell(r) * 5, None, cell.w))(x))(x)
    same(got, x.asnumpy() / np.sqrt(3), 1e-5)
    assert set(seen) == {(3,)}


# linearize


@modes
def test_a_function_as_a_linear_map(mode):
    jacobian = finite(mixed_np, X, Y)

    def rows(x, y, v):
        value, push = ops.linearize(lambda x: mixed(x, y), x)
        return value, push(v), push(v * 2), ms.vmap(push)(ops.stack((v, -v)))

    value, once, twice, many = mode(rows)(Tensor(X), Tensor(Y), Tensor(V))
    same(value, mixed_np(X, Y))
    same(once, jacobian @ V, 1e-6)
    same(twice, jacobian @ V * 2, 1e-6)
    same(many, [jacobian @ V, -jacobian @ V], 1e-6)
    # its transpose is the vjp
    _, pull = ms.vjp(lambda x: mixed(x, Tensor(Y)), Tensor(X))
    push = ops.linearize(lambda x: mixed(x, Tensor(Y)), Tensor(X))[1]
    same(ms.vjp(push, Tensor(V))[1](Tensor(X))[0], arrays(pull(Tensor(X))[0]), 1e-12)


# inside rules


@pytest.mark.parametrize("inner", ["grad", "jvp", "vjp", "jacrev", "jacfwd", "vmap", "linearize"])
@modes
def test_a_rule_that_differentiates_by_itself(mode, inner):
    slope = {
        "grad": lambda x: ms.grad(ops.sin)(x), "vmap": lambda x: ms.vmap(ms.grad(ops.sin))(x),
        "jvp": lambda x: ms.jvp(ops.sin, x, ops.ones_like(x))[1],
        "vjp": lambda x: ms.vjp(ops.sin, x)[1](ops.ones_like(x))[0],
        "jacrev": lambda x: ms.jacrev(ops.sin)(x).sum(0),
        "jacfwd": lambda x: ms.jacfwd(ops.sin)(x).sum(0),
        "linearize": lambda x: ops.linearize(ops.sin, x)[1](ops.ones_like(x)),
    }[inner]

    class Inner(nn.Cell):
        def construct(self, x):
            return ops.sin(x)

        def bprop(self, x, out, dout):
            return slope(x) * dout

    function = lambda x: (Inner()(x) * Tensor(V)).sum()  # noqa: E731
    x = Tensor(X)
    same(mode(ms.grad(function))(x), np.cos(X) * V)
    same(mode(ms.jacrev(Inner()))(x), np.diag(np.cos(X)))
    same(mode(ms.jacfwd(Inner()))(x), np.diag(np.cos(X)))
    same(mode(ms.autodiff.hessian(function))(x), np.diag(-np.sin(X) * V))
    same(mode(lambda x: ms.jvp(ms.grad(function), x, x)[1])(x), -np.sin(X) * V * X)
    same(mode(lambda y: ms.vmap(ms.grad(function))(y))(Tensor(Y)), np.cos(Y) * V)
    same(mode(lambda y: ms.grad(lambda y: ms.vmap(function)(y).sum())(y))(Tensor(Y)),
         np.cos(Y) * V)
    same(mode(lambda y: ms.vmap(ms.grad(lambda r: ms.grad(function)(r).sum()))(y))(Tensor(Y)),
         -np.sin(Y) * V)
