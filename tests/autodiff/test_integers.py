"""Derivatives by integers: the function sees integers, runs once, and has 2.10's gradients."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops

X = Tensor([1.0, 2.0, 3.0])
I = Tensor(np.array([1, 2, 3], np.int32))  # noqa: E741

# by MindSpore 2.10 in PyNative mode
RECORDED = {
    "product": (lambda i: i * i, [2, 4, 6]),
    "integer quotient": (lambda i: i // 2, [0, 0, 0]),
    "remainder": (lambda i: i % 2 * i, [2, 2, 4]),
    "cast": (lambda i: i.astype(ms.float32) * 2, [2, 2, 2]),
    "power of a cast": (lambda i: i.astype(ms.float32) ** 2 * 0.3, [0, 1, 1]),
    "product with numbers": (lambda i: (i * X * 0.7).sum(), [0, 1, 2]),
    "power": (lambda i: i ** 3, [3, 12, 27]),
    "sum": (lambda i: (i * i).sum() * i, [26, 38, 50]),
    "index": (lambda i: X[i - 1] * 2, [0, 0, 0]),
    "index and factor": (lambda i: X[i - 1] * 2 * i, [2, 4, 6]),
    "condition": (lambda i: ops.where(i > 1, X * i, X), [0, 2, 3]),
    "reshape": (lambda i: i.reshape(3, 1) * i, [12, 12, 12]),
    "type": (lambda i: i * (2 if i.dtype == ms.int32 else 3), [2, 2, 2]),
    "gather": (lambda i: ops.gather(X, i - 1, 0) * i, [1, 2, 3]),
    "index by a number": (lambda i: X[int(i[0])] * i, [2, 2, 2]),
    "sine": (lambda i: ops.sin(i * X), [0, -1, -2]),
    "absolute": (lambda i: ops.abs(i - 2) * i, [0, 0, 4]),
}


@pytest.mark.parametrize("name", RECORDED)
def test_gradients_are_mindspores(name):
    f, want = RECORDED[name]
    gradient = ms.grad(f)(I)
    assert gradient.dtype == ms.int32 and gradient.asnumpy().tolist() == want
    assert type(gradient._raw) is type(I._raw)
    assert ms.jit(lambda i: ms.grad(f)(i))(I).asnumpy().tolist() == want
    value, again = ms.value_and_grad(f)(I)
    plain = f(I)
    assert value.dtype == plain.dtype and value.asnumpy().tolist() == plain.asnumpy().tolist()
    assert again.asnumpy().tolist() == want and type(value._raw) is type(plain._raw)
    assert I.asnumpy().tolist() == [1, 2, 3]


def test_inside_of_vmap():
    rows = ops.stack([I, I + 1])
    for name in ("product", "cast", "index and factor", "gather", "type"):
        f = RECORDED[name][0]
        if name in ("index and factor", "gather"):
            rows = ops.stack([I, I])
        want = [ms.grad(f)(row).asnumpy().tolist() for row in rows]
        assert ms.vmap(ms.grad(f))(rows).asnumpy().tolist() == want


def test_second_derivatives_and_forward_mode():
    cube = lambda i: i * i * i  # noqa: E731
    assert ms.grad(ms.grad(cube))(I).asnumpy().tolist() == [6, 12, 18]
    ones = Tensor(np.ones(3, np.int32))
    value, tangent = ms.jvp(cube, I, ones)
    assert value.dtype == tangent.dtype == ms.int32
    assert value.asnumpy().tolist() == [1, 8, 27] and tangent.asnumpy().tolist() == [3, 12, 27]
    value, push = ops.linearize(cube, I)
    assert value.dtype == ms.int32 and push(ones).asnumpy().tolist() == [3, 12, 27]
    value, tangent = ms.jvp(lambda i: X[i - 1] * i, I, ones)
    assert tangent.asnumpy().tolist() == [1, 2, 3]
    assert ms.vmap(lambda i: ms.jvp(cube, i, ones)[1])(ops.stack([I, I])).asnumpy()[1, 2] == 27


def test_inner_gradients_are_by_what_is_given_alone():
    value, gradient = ms.value_and_grad(lambda i: ms.grad(lambda j: i * i * j)(i))(I)
    assert value.asnumpy().tolist() == [1, 4, 9] and gradient.asnumpy().tolist() == [2, 4, 6]


class Embedded(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table, self.dense = nn.Embedding(10, 4), nn.Dense(4, 1)
        self.calls, self.drawn = 0, []

    def construct(self, ids):
        self.calls += 1
        self.drawn.append(float(ms.numpy.rand(1)[0]))
        return self.dense(self.table(ids)).sum()


@pytest.mark.parametrize("call", [
    lambda net, ids: ms.grad(net)(ids),
    lambda net, ids: ms.value_and_grad(net, 0, net.trainable_params())(ids),
    lambda net, ids: ms.vjp(net, ids)[1](Tensor(1.0)),
    lambda net, ids: ops.GradOperation(get_all=True)(net)(ids),
    lambda net, ids: ms.jvp(net, ids, Tensor(np.ones(2, np.int32))),
    lambda net, ids: ms.ops.linearize(net, ids),
])
def test_the_program_runs_once(call):
    net = Embedded()
    ms.set_seed(5)
    for _ in range(3):
        call(net, Tensor([1, 2], ms.int32))
    ms.set_seed(5)
    assert net.calls == 3 and net.drawn == [float(ms.numpy.rand(1)[0]) for _ in range(3)]


@pytest.mark.parametrize("kind", [TypeError, IndexError, ValueError, RuntimeError])
def test_errors_of_the_program_do_not_start_it_again(kind):
    calls = []

    def f(i):
        calls.append(i.dtype)
        raise kind("by the program")

    with pytest.raises(kind, match="by the program"):
        ms.grad(f)(I)
    assert calls == [ms.int32]


def test_integers_changed_in_place():
    def f(i):
        i = i * 1
        i += 2
        i[0] = 7
        return (i * i).sum()

    value, gradient = ms.value_and_grad(f)(I)
    assert int(value) == 49 + 16 + 25 and gradient.asnumpy().tolist() == [0, 8, 10]

    def g(i):
        y = X * 1
        y += i
        y[0] = i[2] * 2
        return (y * y).sum()

    assert ms.grad(g)(I).asnumpy().tolist() == [0, 8, 12 + 24]

    def places(i):
        k = i - 1
        y = X * 1
        y[k] = 5.0
        return y * k

    value, gradient = ms.value_and_grad(places)(I)
    assert value.asnumpy().tolist() == [0, 5, 10] and gradient.asnumpy().tolist() == [5, 5, 5]


def test_booleans():
    mask = Tensor([True, False, True])
    assert ms.grad(lambda m: m * X)(mask).asnumpy().tolist() == [True, True, True]
    assert not ms.grad(lambda m: ops.where(m, X, X * 2))(mask).any()
    assert ms.grad(lambda m: X[m].sum())(mask).shape == (3,)


@pytest.mark.parametrize("kind", [ms.int64, ms.int32, ms.int16, ms.int8])
def test_integers_written_into_others(kind):
    updates, places = Tensor([-13, -3, 5], kind), Tensor([[1, 0], [1, 1], [1, 0]])
    found = ms.grad(lambda u: ops.scatter_nd(places, u, (2, 2)))(updates)
    assert found.asnumpy().tolist() == [1, 1, 1] and found.dtype == kind
    twice = ms.grad(lambda u: (ops.scatter_nd(places, u, (2, 2)) ** 2).sum())(updates)
    assert twice.asnumpy().tolist() == [-16, -6, -16]


times_10 = ops.InsertGradientOf(lambda gradient: gradient * 10)
PLACES = {
    "input": lambda i: i,
    "hook": lambda i: hooked(i * 1),
    "InsertGradientOf": lambda i: times_10(i * 1),
    "structure": lambda i: ops.InsertGradientOf(lambda g: (g[0] * 10, g[1]))((i * 1, X))[0],
    "HookBackward": lambda i: ops.HookBackward(lambda g: g[0] * 10)(i * 1),
}
WAYS = {
    "grad": lambda f, i: ms.grad(f)(i),
    "vmap": lambda f, i: ms.vmap(lambda _: ms.grad(f)(i))(ops.ones(2))[1],
    "jvp": lambda f, i: ms.jvp(f, i, ops.ones_like(i))[1],
    "jvp under vmap": lambda f, i: ms.vmap(lambda v: ms.jvp(f, i, v)[1])(ops.ones_like(i)[None])[0],
    "linearize": lambda f, i: ops.linearize(f, i)[1](ops.ones_like(i)),
}


def hooked(i):
    i.register_hook(lambda gradient: gradient * 10)
    return i


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", PLACES)
def test_hooks_of_integers(place, way):
    i = Tensor(np.array([1, 2, 3], np.int32))
    if place == "input":
        hooked(i)
    found = WAYS[way](lambda i: PLACES[place](i) * I, i)
    assert found.dtype is ms.int32 and found.asnumpy().tolist() == [10, 20, 30]


def test_hooks_leave_integers_that_are_no_inputs_alone():
    assert times_10(I) is I
    indices = Tensor([0, 2])
    found = ms.grad(lambda x: (times_10(indices) + times_10((indices, x))[0]).sum() * x)(X)
    assert found.asnumpy().tolist() == [4.0, 4.0, 4.0]


def test_a_number_for_the_gradient_of_an_integer():
    found = ms.grad(lambda i: ops.InsertGradientOf(lambda g: 7.0)(i) * 2)(I)
    assert found.dtype is ms.int32 and found.shape == () and int(found) == 7


class ByBprop(nn.Cell):
    def construct(self, i):
        return i * i

    def bprop(self, i, out, dout):
        return (20 * i * dout,)


class ByJvp(nn.Cell):
    def construct(self, i):
        return i * i

    def jvp(self, i, out, tangent):
        return 20 * i * tangent


class ByFunction(nn.Cell):
    class Square(ms._Function):
        @staticmethod
        def forward(ctx, i):
            ctx.save_for_backward(i)
            return i * i

        @staticmethod
        def backward(ctx, gradient):
            return 20 * ctx.saved_tensors[0] * gradient

    def construct(self, i):
        return self.Square.apply(i)


by_vjp = ms.custom_vjp(lambda i: i * i)
by_vjp.defvjp(lambda i: (i * i, i), lambda i, gradient: (20 * i * gradient,))
by_jvp = ms.custom_jvp(lambda i: i * i)
by_jvp.defjvp(lambda primals, tangents: (primals[0] * primals[0], 20 * primals[0] * tangents[0]))
OWN = {"bprop": ByBprop(), "jvp": ByJvp(), "_Function": ByFunction(), "custom_vjp": by_vjp,
       "custom_jvp": by_jvp}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rule", OWN)
def test_rules_of_the_users_for_integers(rule, way):
    found = WAYS[way](lambda i: OWN[rule](i * 1) * 3, I)
    assert found.dtype is ms.int32 and found.asnumpy().tolist() == [60, 120, 180]


@pytest.mark.parametrize("rule", OWN)
def test_rules_of_the_users_for_integers_are_differentiated_again(rule):
    second = ms.grad(ms.grad(OWN[rule]))
    assert second(I).asnumpy().tolist() == [20, 20, 20]
    assert ms.jit(lambda i: second(i))(I).asnumpy().tolist() == [20, 20, 20]
    # a fraction of an integer's gradient isn't lost on the way
    halves = ms.grad(lambda i: OWN[rule](i) * 0.025)(I)
    assert halves.asnumpy().tolist() == [0, 1, 1]


def test_rules_of_the_users_for_integers_and_floats():
    class Product(nn.Cell):
        """By MindSpore 2.10 these are its gradients, not those of its formula."""

        def construct(self, i, x):
            return 2 * i + x, i

        def bprop(self, i, x, out, dout):
            return 2 * dout[0] + 100 * dout[1], 2 * x

    net, two = Product(), Tensor(2, ms.int32)
    for wrap in (lambda f: f, ms.jit):
        by_i, by_x = wrap(ms.grad(lambda i, x: net(i, x)[0], (0, 1)))(two, Tensor(3.0))
        assert (int(by_i), float(by_x)) == (2, 6.0)
        by_i, by_two = wrap(ms.grad(net, (0, 1)))(two, two)
        assert (int(by_i), int(by_two)) == (102, 4)
