"""`Cell.bprop` and `_Function`: backward rules of the user's."""

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from tests.contracts import check_gradient


def make_cell(construct, bprop, **attributes):
    cell_type = type("Made", (nn.Cell,), {"construct": construct, "bprop": bprop})
    cell = cell_type()
    for name, value in attributes.items():
        setattr(cell, name, value)
    return cell


X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


def test_bprop_replaces_the_gradient():
    net = make_cell(lambda self, x, y: x * y, lambda self, x, y, out, dout: (x + out, dout * 7.0))
    dx, dy = ms.grad(net, (0, 1))(X, Y)
    np.testing.assert_allclose(dx.asnumpy(), [4.0, 10.0])
    np.testing.assert_allclose(dy.asnumpy(), [7.0, 7.0])
    np.testing.assert_allclose(net(X, Y).asnumpy(), [3.0, 8.0])


def test_bprop_sees_the_incoming_gradient():
    net = make_cell(lambda self, x: x * 2, lambda self, x, out, dout: dout * 100.0)
    np.testing.assert_allclose(ms.grad(lambda x: net(x) * 3)(X).asnumpy(), [300.0, 300.0])


def test_numbers_none_and_single_values():
    single = make_cell(lambda self, x, y: x * y, lambda self, x, y, out, dout: 100.0)
    gradient = ms.grad(single)(X, Y)
    assert gradient.shape == () and float(gradient) == 100.0
    inner = ms.grad(lambda x, y: single(x * 2, y))(X, Y)
    np.testing.assert_allclose(inner.asnumpy(), [200.0, 200.0])
    nothing = make_cell(lambda self, x: x * 2, lambda self, x, out, dout: None)
    np.testing.assert_allclose(ms.grad(nothing)(X).asnumpy(), [0.0, 0.0])
    pair = make_cell(lambda self, x, y: x * y, lambda self, x, y, out, dout: (None, dout))
    dx, dy = ms.grad(pair, (0, 1))(X, Y)
    assert dx.asnumpy().tolist() == [0.0, 0.0] and dy.asnumpy().tolist() == [1.0, 1.0]


def test_a_rule_forward_of_a_wrong_number_of_inputs_is_named():
    net_type = type("Made", (nn.Cell,), {"construct": lambda self, x, y: x * y,
                                         "jvp": lambda self, x, y, out: x})
    with pytest.raises(TypeError, match=r"jvp .*takes 3 .*\(x, y\), then 'out' and 'dinputs': 4"):
        ms.jvp(net_type(), (X, Y), (X, Y))


@pytest.mark.parametrize("construct, args, keywords", [
    (lambda self, x, tree: x * tree["a"], (), {"tree": {"a": Y}, "x": X}),
    (lambda self, x, tree: x * tree["a"], (X,), {"tree": {"a": Y}}),
    (lambda self, *both: both[0] * both[1]["a"], (X, {"a": Y}), {})])
def test_a_dict_for_a_last_input_that_is_one(construct, args, keywords):
    net = make_cell(construct, lambda self, x, tree, out, dout: (dout * 3, {"a": dout * 5}))
    value, pull = ms.vjp(lambda x, y: net(*[x if arg is X else {"a": y} for arg in args], **{
        name: x if arg is X else {"a": y} for name, arg in keywords.items()}), X, Y)
    dx, dy = pull(ops.ones(2))
    assert value.asnumpy().tolist() == [3.0, 8.0]
    assert dx.asnumpy().tolist() == [3.0, 3.0] and dy.asnumpy().tolist() == [5.0, 5.0]


def test_one_more_gradient_than_inputs_is_left_out():
    """Also where there are as many as Tensors among the inputs, or only one of these."""
    one = make_cell(lambda self, x: x * 2, lambda self, x, out, dout: (dout * 3, out))
    assert ms.grad(one)(X).asnumpy().tolist() == [3.0, 3.0]
    two = make_cell(lambda self, pair, y: pair[0] * pair[1] * y,
                    lambda self, pair, y, out, dout: ((dout * 3, dout * 5), dout * 7, out))
    (da, db), dy = ms.grad(two, (0, 1))((X, Y), X)
    assert [float(d[0]) for d in (da, db, dy)] == [3.0, 5.0, 7.0]


def test_gradients_beyond_those_of_the_inputs_are_left_out():
    net = make_cell(lambda self, x, y: x * y,
                    lambda self, x, y, out, dout: (dout * 2, dout * 3, out, dout))
    for function in (net, ms.jit(net)):
        dx, dy = ms.grad(function, (0, 1))(X, Y)
        assert dx.asnumpy().tolist() == [2.0, 2.0] and dy.asnumpy().tolist() == [3.0, 3.0]


@pytest.mark.parametrize("bprop, error, message", [
    (lambda self, x, out: x, TypeError, r"bprop .*test_custom.py:\d+.* of Made takes 2 arg.*x, y"),
    (lambda self, x, y, out: x, TypeError, r"\(x, y\), then 'out' and 'dout': 4"),
    (lambda self, x, y, out, dout: x, ValueError, "of Made must return a gradient for input 'y'"),
    (lambda self, x, y, out, dout: (Tensor([[[1.0, 2.0, 3.0]]]), y), ValueError,
     r"of Made must return a gradient of shape \(2,\).*\(1, 1, 3\)"),
    (lambda self, x, y, out, dout: ("no", y), TypeError, "of Made must return a Tensor.*str"),
    (lambda self, x, y, out, dout: (x.astype(ms.complex64), y), TypeError, "of Made.*Complex64"),
    (lambda self, x, y, out, dout: ((x, x), y), ValueError, "structure of that input.*tuple"),
    (lambda self, x, y, out, dout: (x, y, {"zz": x}), ValueError, "gradient for 'zz', which is no"),
])
def test_wrong_rules_are_named(bprop, error, message):
    net = make_cell(lambda self, x, y: x * y, bprop)
    with pytest.raises(error, match=message):
        ms.grad(net, (0, 1))(X, Y)


def test_the_type_is_converted():
    net = make_cell(lambda self, x: x * 2, lambda self, x, out, dout: dout.astype(ms.float64) * 5)
    gradient = ms.grad(net)(X)
    assert gradient.dtype is ms.float32 and gradient.asnumpy().tolist() == [5.0, 5.0]


def test_keyword_arguments_by_name():
    class Net(nn.Cell):
        def construct(self, x, *, scale=2.0):
            return x * scale

        def bprop(self, x, out, dout, *, scale=1.0):
            return dout * scale * 10

    assert ms.grad(Net())(X, scale=3.0).asnumpy().tolist() == [30.0, 30.0]
    assert ms.grad(Net())(X).asnumpy().tolist() == [20.0, 20.0]


def test_defaults_and_inputs_given_by_keyword():
    class Net(nn.Cell):
        def construct(self, x, y, z=2.0):
            return x * y * z

        def bprop(self, x, y, z, out, dout):
            return dout * z, dout * 5, 0.0

    dx, dy = ms.grad(Net(), (0, 1))(X, Y)
    assert dx.asnumpy().tolist() == [2.0, 2.0] and dy.asnumpy().tolist() == [5.0, 5.0]
    assert ms.grad(Net())(X, z=4.0, y=Y).asnumpy().tolist() == [4.0, 4.0]


def test_one_tensor_given_twice():
    net = make_cell(lambda self, x, y: x * y, lambda self, x, y, out, dout: (dout * 10, dout * 3))
    assert ms.grad(lambda x: net(x, x))(X).asnumpy().tolist() == [13.0, 13.0]
    assert ms.grad(lambda x: net(x, y=x))(X).asnumpy().tolist() == [13.0, 13.0]


def test_variable_numbers_of_inputs():
    class Net(nn.Cell):
        def construct(self, *xs):
            return xs[0] * xs[1]

        def bprop(self, *args):
            *xs, _out, dout = args
            return tuple(dout * (10.0 + i) for i in range(len(xs)))

    dx, dy = ms.grad(Net(), (0, 1))(X, Y)
    assert dx.asnumpy().tolist() == [10.0, 10.0] and dy.asnumpy().tolist() == [11.0, 11.0]


def test_gradients_of_parameters():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([2.0, 3.0]))

        def construct(self, x):
            return x * self.w

        def bprop(self, x, out, dout):
            return (dout * self.w * 100.0,), {self.w: dout * x * 10.0}

    net = Net()
    dx, (dw,) = ms.grad(net, 0, net.trainable_params())(X)
    assert dx.asnumpy().tolist() == [200.0, 300.0] and dw.asnumpy().tolist() == [10.0, 20.0]
    mixed = ms.grad(lambda x: ms.grad(net)(x), None, net.trainable_params())(X)
    assert mixed[0].asnumpy().tolist() == [100.0, 100.0]


def test_structured_inputs_and_outputs():
    class Net(nn.Cell):
        def construct(self, pair, tree):
            return {"sum": pair[0] + pair[1], "rest": (tree["a"] * 2,)}

        def bprop(self, pair, tree, out, dout):
            return (dout["sum"] * 3, None), {"a": dout["rest"][0] * 5}

    # the last dict is the gradient of an input here, so the rule gives it inside the tuple of
    # inputs
    class Wrapped(Net):
        def bprop(self, pair, tree, out, dout):
            return ((dout["sum"] * 3, None), {"a": dout["rest"][0] * 5}), {}

    (d0, d1), tree = ms.grad(Wrapped(), (0, 1))((X, Y), {"a": X})
    assert d0.asnumpy().tolist() == [3.0, 3.0] and d1.asnumpy().tolist() == [0.0, 0.0]
    assert tree["a"].asnumpy().tolist() == [5.0, 5.0]


def test_whole_number_outputs_pass_through():
    class Net(nn.Cell):
        def construct(self, x):
            return x * 2, Tensor([1, 0])

        def bprop(self, x, out, dout):
            assert out[1].dtype is ms.int64 and dout[1].shape == (2,)
            return dout[0] * 3

    assert ms.grad(Net())(X).asnumpy().tolist() == [3.0, 3.0]


def test_second_order_goes_through_the_rule():
    class Cube(nn.Cell):
        def construct(self, x):
            return x**3

        def bprop(self, x, out, dout):
            return 3 * x**2 * dout

    check_gradient(Cube(), [np.array([0.5, -1.5, 2.0])], (0,))
    assert float(ms.grad(ms.grad(ms.grad(Cube())))(Tensor(2.0))) == 6.0


def test_second_order_through_the_output():
    class Exp(nn.Cell):
        def construct(self, x):
            return ops.exp(x)

        def bprop(self, x, out, dout):
            return out * dout

    check_gradient(Exp(), [np.array([0.5, -1.5])], (0,))


def test_a_gradient_inside_the_rule():
    class Net(nn.Cell):
        def construct(self, x):
            return x * 1.0

        def bprop(self, x, out, dout):
            return ms.grad(lambda v: v**2)(x) * dout

    assert float(ms.grad(Net())(Tensor(3.0))) == 6.0
    assert float(ms.grad(ms.grad(Net()))(Tensor(3.0))) == 2.0


def test_bprop_wins_over_insert_gradient_of():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.clip = ops.InsertGradientOf(lambda g: g * 0)

        def construct(self, x):
            return self.clip(x) * 2

        def bprop(self, x, out, dout):
            return dout * 9

    assert ms.grad(Net())(X).asnumpy().tolist() == [9.0, 9.0]


def test_recorded_run_is_reused_after_set_grad():
    calls = []

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([2.0, 3.0]))

        def construct(self, x):
            calls.append(1)
            self.count, self.last = len(calls), x * 1
            return x * self.w

    net = Net().set_grad()
    net(X)
    net.count, net.last = 0, None  # the run has assigned them itself
    dx, (dw,) = ms.grad(net, 0, net.trainable_params())(X)
    assert len(calls) == 1
    assert dx.asnumpy().tolist() == [2.0, 3.0] and dw.asnumpy().tolist() == [1.0, 2.0]
    ms.grad(net)(X)
    assert len(calls) == 2  # a recorded run serves once
    out = net(X)
    assert not out._raw.requires_grad
    ms.grad(net)(Y)
    assert len(calls) == 4  # other inputs
    net(X)
    net.w.set_data(Tensor([5.0, 5.0]))
    assert ms.grad(net)(X).asnumpy().tolist() == [5.0, 5.0]  # other weights
    net.set_grad(False)
    net(X)
    assert ms.grad(net)(X).asnumpy().tolist() == [5.0, 5.0]


class Double(nn.Cell):
    def construct(self, x):
        return x * 2


def doubled(cell, inputs, output):
    return output * 2


@pytest.mark.parametrize("change, expected", [
    (lambda net: None, 1.0),
    (lambda net: net.set_train(False), 10.0),
    (lambda net: net.frozen.set_data(Tensor(4.0)), 4.0),
    (lambda net: net.frozen.assign_value(Tensor(5.0)), 5.0),
    (lambda net: net.kept.copy_(Tensor(6.0)), 6.0),
    (lambda net: setattr(net, "kept", Tensor(7.0)), 7.0),
    (lambda net: setattr(net, "factor", 3.0), 3.0),
    (lambda net: net.plain.copy_(Tensor(8.0)), 8.0),
    (lambda net: net.inner.append(Double()), 2.0),
    (lambda net: net.inner.register_forward_hook(doubled), 2.0),
])
def test_recorded_run_is_left_when_the_network_has_changed(change, expected):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.frozen = Parameter(Tensor(1.0), requires_grad=False)
            self.register_buffer("kept", Tensor(1.0))
            self.plain, self.factor = Tensor(1.0), 1.0
            self.inner = nn.SequentialCell()

        def construct(self, x):
            y = self.inner(x) * self.frozen * self.kept * self.plain * self.factor
            return y if self.training else y * 10

    net = Net().set_grad().set_train()
    net(X)
    change(net)
    assert ms.grad(net)(X).asnumpy().tolist() == [expected] * 2


needs = []


class Square(ms._Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        needs.append(ctx.needs_input_grad)
        return x * x * factor

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x * 2 * ctx.factor, None


def test_function_with_forward_and_backward():
    f = lambda x: Square.apply(x, 3.0)  # noqa: E731
    needs.clear()
    ms.grad(f)(X)
    assert needs == [(True, False)]
    check_gradient(f, [np.array([1.0, -2.0])], (0,))


def test_function_must_return_a_gradient_for_each_input():
    class Bad(ms._Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, grad):
            return grad

    with pytest.raises(RuntimeError, match=r"backward .*Bad.backward.* must return 2 gradients"):
        ms.grad(Bad.apply)(X, Y)


class Scaled(nn.Cell):
    """As the tutorial's: a rule that gives the gradient of its own weight, by its own name."""

    def __init__(self, inner: bool = False):
        super().__init__()
        self.weight = Parameter(Tensor([2.0, 3.0]), name="weight")
        if inner:
            self.below = nn.Dense(2, 1, weight_init="ones", has_bias=False)

    def construct(self, x):
        return x * self.weight

    def bprop(self, x, out, dout):
        given = {"weight": 10 * x * dout}
        if hasattr(self, "below"):
            given["below.weight"] = ops.ones((1, 2))
        return dout * self.weight, given


def test_gradients_of_parameters_are_named_by_the_cells_own_attributes():
    x = Tensor([1.0, 4.0])
    for inner in (False, True):
        class Around(nn.Cell):
            def __init__(self):
                super().__init__()
                self.first = nn.SequentialCell(Scaled(inner))  # noqa: B023
                self.second = Scaled(inner)  # noqa: B023

            def construct(self, x):
                return self.second(self.first(x))

        for net in (Scaled(inner), nn.SequentialCell(Scaled(inner), Scaled(inner)), Around()):
            net(x)
            last = [p for p in net.trainable_params() if p.name.endswith("weight")
                    and "below" not in p.name][-1]
            found = ms.grad(net, None, [last])(x)
            want = 10 * (x if isinstance(net, Scaled) else x * Tensor([2.0, 3.0]))
            np.testing.assert_array_equal(found[0].asnumpy(), want.asnumpy())


def test_a_name_that_is_none_of_the_cells_is_refused_with_its_paths():
    class Wrong(Scaled):
        def bprop(self, x, out, dout):
            return dout, {"wieght": dout}

    net = nn.SequentialCell(Wrong(True))
    with pytest.raises(ValueError, match=r"'wieght'.* it has \['below.weight', 'weight'\]"):
        ms.grad(net, None, net.trainable_params())(Tensor([1.0, 4.0]))


@pytest.mark.parametrize("returned, text", [
    (lambda g: (g, 4), "Gradient should be none or tensor"),
    (lambda g: (g, g), "Input is not tensor, but gradient is not none"),
    (lambda g: g, "Function backward return a wrong number of gradients"),
], ids=range(3))
def test_gradients_that_a_function_may_not_return(returned, text):
    class Bad(ms._Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return returned(g)

    other = ms.Tensor([3.0]) if "none or tensor" in text else 3
    with pytest.raises(RuntimeError, match=text):
        ms.grad(lambda x: Bad.apply(x, other))(ms.Tensor([2.0]))


@pytest.mark.parametrize("batched", [False, True])
def test_a_functions_gradient_takes_the_shape_and_type_of_its_input(batched):
    class Add(ms._Function):
        @staticmethod
        def forward(ctx, x, y, z):
            return x + y * z

        @staticmethod
        def backward(ctx, gradient):
            return (Tensor([[1, 1, 1], [2, 2, 2]], ms.int64), gradient,
                    Tensor([[1.0], [2.0]], ms.float64))

    x, y, z = Tensor([3.0, 3, 3]), Tensor([[1.0, 2, 3], [4, 5, 6]]), Tensor([[2.0] * 3] * 2)
    by = ms.grad(Add.apply, (0, 1, 2))
    found = by(x, y, z)
    if batched:
        found = [g[1] for g in ms.vmap(by)(*(ops.stack([t, t]) for t in (x, y, z)))]
    for gradient, given, wanted in zip(found, (x, y, z), (
            [3, 3, 3], [[1, 1, 1]] * 2, [[1, 1, 1], [2, 2, 2]]), strict=True):
        assert gradient.dtype == given.dtype
        assert gradient.tolist() == wanted


def test_a_functions_gradient_of_another_shape_is_an_error():
    class Bad(ms._Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return ops.ones((2,))

    with pytest.raises(RuntimeError, match=r"grad tensor should be broadcast to the input.*\(3,\)"):
        ms.grad(Bad.apply)(ops.ones((3,)))


@pytest.mark.parametrize("batched", [False, True])
def test_outputs_that_are_no_tensors_have_no_gradient(batched):
    seen = []

    class Several(ms._Function):
        @staticmethod
        def forward(ctx, x, y):
            x.double = x * 2
            ctx.save_for_backward(x)
            return x * y, 4, (x, y)

        @staticmethod
        def backward(ctx, first, number, x, y):
            seen.append(number)
            kept, = ctx.saved_tensors
            return first * (1 if batched else kept.double) + x, y

    def f(x, y):
        product, number, (x, y) = Several.apply(x, y)
        return product * number + x * 3 + y * 5

    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    by = ms.grad(f, (0, 1))
    by_x, by_y = ms.vmap(by)(x, y) if batched else by(x, y)
    assert by_x.tolist() == ([7, 7] if batched else [11, 19]) and by_y.tolist() == [5, 5]
    assert seen == [None]
