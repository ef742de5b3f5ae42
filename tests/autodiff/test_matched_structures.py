"""What a program gives for a structure: dicts in any order of keys, None, and what is no Tensor."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops

A, B = Tensor(2.0), Tensor(3.0)
TREE = {"a": A, "b": B}  # of a * b**2: the derivatives are 9 and 12
MIXED = {"n": 7, "a": A, "rest": ("x", [B])}


def product(tree):
    return tree["a"] * tree["b"] ** 2


def slopes(tree, factor):
    return {"b": factor * 2 * tree["a"] * tree["b"], "a": factor * tree["b"] ** 2}


def both(x):
    return {"s": x * 2, "q": x * x}


def tangent(x, along):
    return {"q": 2 * x * along, "s": 2 * along}


class Product(nn.Cell):
    def construct(self, tree):
        return product(tree)

    def bprop(self, tree, out, dout):
        return (slopes(tree, dout),)


class Both(nn.Cell):
    def construct(self, x):
        return both(x)

    def jvp(self, x, out, along):
        return tangent(x, along)


class Function(ms._Function):
    @staticmethod
    def forward(ctx, tree):
        ctx.tree = tree
        return product(tree)

    @staticmethod
    def backward(ctx, gradient):
        return slopes(ctx.tree, gradient)


def by_vjp(fn, rule):
    made = ms.custom_vjp(fn)
    made.defvjp(lambda tree: (fn(tree), tree), lambda tree, gradient: (rule(tree, gradient),))
    return made


def by_jvp(fn, rule):
    made = ms.custom_jvp(fn)
    made.defjvp(lambda primals, tangents: (fn(*primals), rule(*primals, *tangents)))
    return made


def floats(tree):
    return ms.tree.map(float, tree)


@pytest.mark.parametrize("fn", [
    Product(), Function.apply, by_vjp(product, slopes),
    lambda tree: product(ops.InsertGradientOf(lambda g: {"b": g["b"], "a": g["a"]})(tree))])
@pytest.mark.parametrize("bend", [lambda f: f, ms.jit, lambda f: lambda tree: ms.tree.map(
    lambda t: t[1], ms.vmap(f)(ms.tree.map(lambda t: ops.stack([t * 0, t]), tree)))])
def test_gradients_of_a_rule_may_come_in_another_order(fn, bend):
    assert floats(bend(ms.grad(fn))(TREE)) == {"a": 9.0, "b": 12.0}


@pytest.mark.parametrize("fn", [Both(), by_jvp(both, tangent)])
def test_tangents_of_a_rule_may_come_in_another_order(fn):
    assert floats(ms.jvp(fn, B, Tensor(1.0))[1]) == {"s": 2.0, "q": 6.0}
    assert float(ms.grad(lambda x: fn(x)["s"] * 10 + fn(x)["q"])(B)) == 26.0


@pytest.mark.parametrize("bend", [lambda f: f, ms.jit, lambda f: lambda x: ms.vmap(f)(
    ops.stack([x, x]))[1]])
@pytest.mark.parametrize("start", [{"q": Tensor(1.0), "s": Tensor(10.0)},
                                   {"s": Tensor(10.0), "q": Tensor(1.0)},
                                   (Tensor(10.0), Tensor(1.0))], ids=range(3))
def test_a_gradient_to_start_from_may_come_in_another_order(bend, start):
    assert float(bend(lambda x: ms.vjp(both, x)[1](start)[0])(B)) == 26.0
    assert float(bend(lambda x: ms.grad(both, sens_param=True)(x, start))(B)) == 26.0
    within = bend(lambda x: ms.grad(lambda x: [both(x), x], sens_param=True)(
        x, [start, Tensor(100.0)]))
    assert float(within(B)) == 126.0


class Mixed(nn.Cell):
    def __init__(self, given):
        super().__init__()
        self.given = given

    def construct(self, tree):
        return tree["a"] * tree["rest"][1][0]

    def bprop(self, tree, out, dout):
        return (self.given(dout),)


class MixedFunction(Function):
    given = None

    @staticmethod
    def forward(ctx, tree):
        return tree["a"] * tree["rest"][1][0]

    @classmethod
    def backward(cls, ctx, gradient):
        return cls.given(gradient)


FORMS = [
    (lambda g: {"n": None, "a": g * 5, "rest": (None, [g * 7])}, (5.0, 7.0)),
    (lambda g: {"rest": ["x", (g * 7,)], "a": 5.0, "n": 7}, (5.0, 7.0)),
    (lambda g: {"n": None, "a": None, "rest": ("x", [g * 7])}, (0.0, 7.0)),
    (lambda g: {"n": 0, "a": g * 5, "rest": None}, (5.0, 0.0)),
    (lambda g: {"n": 0, "a": g * 5, "rest": (None, None)}, (5.0, 0.0)),
    (lambda g: {"a": g * 5, "rest": (None, [g * 7])}, None),
    (lambda g: {"n": 0, "a": (g, g), "rest": (None, [g])}, None),
    (lambda g: {"n": 0, "a": g, "rest": (None, [g, g])}, None),
    (lambda g: {"n": 0, "a": g, "rest": g}, None),
    (lambda g: [g * 5, g * 7, g, g], None)]


@pytest.mark.parametrize("make", ["bprop", "function", "custom_vjp"])
@pytest.mark.parametrize("form", range(len(FORMS)))
def test_what_is_no_tensor_has_a_place_in_gradients(make, form):
    """And None stands for zeros, of a part with several Tensors too."""
    given, wanted = FORMS[form]
    fn = {"bprop": lambda: Mixed(given), "custom_vjp": lambda: by_vjp(
        lambda tree: tree["a"] * tree["rest"][1][0], lambda tree, g: given(g)),
        "function": lambda: type("Made", (MixedFunction,), {"given": staticmethod(given)}).apply
    }[make]()
    if wanted is None:
        with pytest.raises((ValueError, RuntimeError), match="structure|number of gradients"):
            ms.grad(fn)(MIXED)
        return
    found = ms.grad(fn)(MIXED)
    assert (float(found["a"]), float(found["rest"][1][0])) == wanted
    assert found["n"] == 7 and found["rest"][0] == "x"


PAIRS = [
    ((A, B), lambda g: (g * 5, g * 7), (5.0, 7.0)), ((A, B), lambda g: [g * 5, 7.0], (5.0, 7.0)),
    ((A, B), lambda g: ((g * 5, g * 7),), (5.0, 7.0)), ((7, B), lambda g: (None, g), (1.0,)),
    (((A, B), A), lambda g: ((g * 5, g * 7), g * 9), (5.0, 7.0, 9.0)),
    (((A, B), A), lambda g: ((g * 5, None), None), (5.0, 0.0, 0.0)),
    ((A, {"b": B}), lambda g: (g * 5, {"b": g * 7}), (5.0, 7.0)),
    ((A, {"b": B}), lambda g: ((g * 5, {"b": g * 7}), {}), (5.0, 7.0)),
    ((A, B), lambda g: ((g * 5, g * 7), g * 9), (5.0, 7.0)),
    ((A,), lambda g: (g * 5,), (5.0,)), (A, lambda g: (g * 5, g * 7, g), (5.0,))]


@pytest.mark.parametrize("call", [lambda net, pair: net(pair), lambda net, pair: net(pair=pair)])
@pytest.mark.parametrize("number", range(len(PAIRS)))
def test_the_gradient_of_one_structure_needs_no_tuple_around_it(number, call):
    pair, given, wanted = PAIRS[number]

    class Net(nn.Cell):
        def construct(self, pair):
            return sum(t * t for t in ms.tree.leaves(pair))

        def bprop(self, pair, out, dout):
            return given(dout)

    net, leaves = Net(), [t for t in ms.tree.leaves(pair) if isinstance(t, Tensor)]

    def of_leaves(*leaves):
        flow = iter(leaves)
        return call(net, ms.tree.map(lambda t: next(flow) if isinstance(t, Tensor) else t, pair))

    found = ms.grad(of_leaves, tuple(range(len(leaves))))(*leaves)
    assert tuple(map(float, found if len(leaves) > 1 else [found])) == wanted


@pytest.mark.parametrize("given, wanted", [
    ((5, None), 0.0), ((None, 6.0), 6.0), ([None, Tensor(7.0)], 7.0), (Tensor(7.0), None),
    ((None, (7.0,)), None), ((7.0,), None)], ids=range(6))
def test_what_is_no_tensor_has_a_place_in_tangents(given, wanted):
    class Pushed(nn.Cell):
        def construct(self, x):
            return 5, x * x

        def jvp(self, x, out, along):
            return given

    class Function(ms._Function):
        @staticmethod
        def forward(ctx, x):
            return 5, x * x

        @staticmethod
        def backward(ctx, number, gradient):
            return gradient

        @staticmethod
        def jvp(ctx, along):
            return given

    for fn in (Pushed(), by_jvp(lambda x: (5, x * x), lambda x, along: given), Function.apply):
        if wanted is None:
            with pytest.raises((ValueError, RuntimeError), match="structure"):
                ms.jvp(fn, B, Tensor(1.0))
        else:
            value, found = ms.jvp(fn, B, Tensor(1.0))
            assert (value[0], float(value[1]), float(found[1])) == (5, 9.0, wanted)


def test_a_linear_system_in_another_order():
    right = {"u": Tensor([2.0, 4.0]), "v": Tensor([3.0])}

    def times(x, k):
        return {"v": 3 * x["v"] + x["u"][:1], "u": 2 * x["u"] * k}

    def solved(right, k, **options):
        return ms.custom_linear_solve(times, right, k, **options)

    def reordered(matvec, right):
        x = ms.custom_linear_solve(matvec, right)
        return {"v": x["v"], "u": x["u"]}

    for solver in ("direct", "gmres", reordered):
        found = solved(right, Tensor(1.0), solver=solver)
        np.testing.assert_allclose(found["u"].asnumpy(), [1.0, 2.0], 1e-5)
        np.testing.assert_allclose(found["v"].asnumpy(), [2 / 3], 1e-5)
        by_right, by_k = ms.grad(lambda right, k: solved(right, k, solver=solver)["v"].sum(),  # noqa: B023
                                 (0, 1))(right, Tensor(1.0))
        np.testing.assert_allclose(by_right["v"].asnumpy(), [1 / 3], 1e-5)
        np.testing.assert_allclose(by_right["u"].asnumpy(), [-1 / 6, 0.0], 1e-5, 1e-7)
        np.testing.assert_allclose(float(by_k), 1 / 3, 1e-5)
        along = ms.jvp(lambda k: solved(right, k, solver=solver), Tensor(1.0), Tensor(1.0))[1]  # noqa: B023
        np.testing.assert_allclose(along["u"].asnumpy(), [-1.0, -2.0], 1e-5)
        np.testing.assert_allclose(along["v"].asnumpy(), [1 / 3], 1e-5)


@pytest.mark.parametrize("equation", [
    dict(residual=lambda x, a: {"v": x["v"] - a * a, "u": x["u"] - 2 * a * ops.ones(2)}),
    dict(fixed_point=lambda x, a: {"v": a * a + 0 * x["v"], "u": 2 * a * ops.ones(2)})],
    ids=["residual", "fixed point"])
def test_an_equation_in_another_order(equation):
    root = ms.implicit(lambda a: {"u": 2 * a * ops.ones(2), "v": a * a}, **equation)
    assert float(ms.grad(lambda a: root(a)["u"].sum() + 10 * root(a)["v"])(B)) == 64.0
    found = ms.jvp(root, B, Tensor(1.0))[1]
    assert found["u"].asnumpy().tolist() == [2.0, 2.0] and float(found["v"]) == 6.0


def test_a_dict_as_the_last_of_several_more_inputs():
    class Net(nn.Cell):
        def construct(self, x, *rest):
            return x * rest[0] * rest[1]["a"]

        def bprop(self, *given):
            *_, dout = given
            return dout * 3, dout * 5, {"a": dout * 7}

    found = ms.grad(Net(), (0, 1, 2))(A, B, {"a": A})
    assert floats(list(found)) == [3.0, 5.0, {"a": 7.0}]


@pytest.mark.parametrize("given", [
    lambda g: (g * 3, g * 5), lambda g: ((g * 3, g * 5),), lambda g: [[g * 3, 5.0]],
    lambda g: ((g * 3, g * 5), {}), lambda g: (g * 3, g * 5, {}), lambda g: (g * 3, g * 5, g, g)])
def test_gradients_of_two_inputs_in_one_tuple_more(given):
    class Net(nn.Cell):
        def construct(self, x, y):
            return x * y

        def bprop(self, x, y, out, dout):
            return given(dout)

    assert floats(list(ms.grad(Net(), (0, 1))(A, B))) == [3.0, 5.0]


def test_one_input_of_which_a_list_is_returned():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(Tensor(4.0), name="w")

        def construct(self, x):
            return x * self.w

        def bprop(self, x, out, dout):
            return [dout * 3], {"w": dout * 5}

    net = Net()
    by_x, by_w = ms.grad(net, 0, net.w)(A)
    assert (float(by_x), float(by_w)) == (3.0, 5.0)
