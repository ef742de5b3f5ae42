"""`check_grads`: right derivatives pass, wrong ones are named."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import GradientError, Tensor, check_grads, nn, ops
from lamella.insight.gradcheck import check
from lamella.tensors.random import kept


class Scaled(nn.Cell):
    """x * x with a backward rule that is off by a factor."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return self.factor * 2 * x * dout


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Dense(3, 4), nn.BatchNorm1d(4), nn.Dense(4, 2)

    def construct(self, x):
        return self.last(ops.tanh(self.norm(self.first(x))))


def told(fn, *args, **options):
    with pytest.raises(GradientError) as caught:
        check_grads(fn, *args, **options)
    return str(caught.value)


X = Tensor([1.0, -2.0, 0.5])


@pytest.mark.parametrize("fn, args", [
    (lambda x: ops.sin(x) * x, (X,)),
    (lambda x, y: (x @ y, ops.exp(x).sum()), (Tensor([[1.0, 2.0]]), Tensor([[0.5], [0.1]]))),
    (lambda pair: {"a": pair["x"] * pair["y"][0], "n": 3}, ({"x": X, "y": (X + 1,)},)),
    (lambda x, i: x[i] ** 3, (X, Tensor([0, 2]))),
    (lambda x: (x * x).abs(), (Tensor([1 + 2j, 0.5 - 1j], ms.complex64),)),
    (lambda x: ops.matmul(x, x.T), (Tensor(np.eye(2), ms.float32),)),
], ids=["one", "two", "structures", "index", "complex", "matmul"])
def test_right_derivatives_pass(fn, args):
    check_grads(fn, *args)


def test_third_order():
    check_grads(lambda x: x ** 4, X, order=3)


@pytest.mark.parametrize("point", [0.0, 1e-6, -3e-7])
def test_at_and_near_kinks_any_slope_between_is_right(point):
    for function, x, order in ((ops.relu, [point, 1.0, -1.0], 2), (ops.abs, [point, 2.0], 1),
                               (lambda x: ops.maximum(x[0], x[1]), [point, 0.0], 1)):
        check_grads(function, Tensor(x), order=order, compiled=False)


def test_a_slope_outside_of_a_kinks_sides_is_wrong():
    class Relu(nn.Cell):
        def construct(self, x):
            return ops.relu(x)

        def bprop(self, x, out, dout):
            return dout * (x >= 0) * 1.5

    assert "by 'x'" in told(Relu(), Tensor([0.0]))


def test_both_modes_choose_one_slope_at_a_kink():
    class Relu(nn.Cell):
        def construct(self, x):
            return ops.relu(x)

        def bprop(self, x, out, dout):
            return dout * (x >= 0)

        def jvp(self, x, out, dx):
            return dx * (x > 0)

    check_grads(Relu(), Tensor([0.5, -1.0]))
    check_grads(Relu(), Tensor([0.0]), modes="rev", order=1)
    text = told(Relu(), Tensor([0.0]), order=1)
    assert "disagree: by 'x'" in text and "forward mode  0" in text


@pytest.mark.parametrize("factor", [2.0, 0.5, 0.0, -1.0, 1.001])
@pytest.mark.parametrize("mode", ["rev", "fwd"])
def test_a_wrong_rule_is_found(factor, mode):
    text = told(Scaled(factor), X, modes=(mode,), order=1)
    assert f"mode  {mode}" in text and "by 'x'" in text and "expected" in text
    check_grads(Scaled(1.0), X)


def test_a_rule_wrong_in_second_order_only_is_found():
    class Square(nn.Cell):
        def construct(self, x):
            return x * x

        def bprop(self, x, out, dout):
            return 2 * ops.stop_gradient(x) * dout

    check_grads(Square(), X, order=1)
    text = told(Square(), X)
    assert "of order 2" in text and "of the derivative in reverse mode" in text


def test_input_and_output_are_named():
    wrong = Scaled(3.0)

    def fn(data, scale):
        return {"fine": data["a"] * scale, "off": [wrong(data["b"][0]) * scale]}

    text = told(fn, {"a": X, "b": (X, X)}, Tensor(2.0))
    assert "of output['off'][0] by 'data['b'][0]'" in text
    assert "(3,) float64" in text and "step" in text and "tolerance" in text


def test_the_element_is_named_in_forward_mode():
    hook = ops.InsertGradientOf(lambda g: g * Tensor([1.0, 1.0, 2.0], ms.float64))
    assert "at [2]" in told(lambda x: hook(x) * 1.0, X, modes="fwd", order=1)


@pytest.mark.parametrize("mode", ["rev", "fwd"])
def test_expected_and_got_are_numbers_of_the_derivative(mode):
    text = told(lambda x: ops.InsertGradientOf(lambda g: 2 * g)(x) * 3, Tensor(1.0), order=1,
                modes=mode)
    expected, got = (float(line.split()[1]) for line in text.splitlines()
                     if line.split()[0] in ("expected", "got"))
    assert got == pytest.approx(2 * expected, rel=1e-4)


def test_weights_are_checked_and_named():
    class Layer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.weight = ms.Parameter(Tensor([1.0, 2.0]), name="weight")
            self.square = Scaled(1.5)

        def construct(self, x):
            return x + self.square(self.weight)

    net = Layer()
    assert "by weight 'weight'" in told(net, Tensor([1.0, 1.0]))
    check_grads(net, Tensor([1.0, 1.0]), weights=())
    assert "by weight 'weight'" in told(lambda x: net(x), Tensor(1.0), weights=[net.weight])


@pytest.mark.parametrize("training", [True, False])
def test_a_cell_is_as_it_was_afterwards(training):
    net = Net().set_train(training)
    before = {p.name: (p._data, p.asnumpy().copy()) for p in net.get_parameters()}
    check_grads(net, Tensor(np.random.default_rng(0).standard_normal((5, 3)), ms.float32),
                order=1 + training, compiled=training)
    for p in net.get_parameters():
        raw, values = before[p.name]
        assert p._data is raw and p.dtype is ms.float32
        np.testing.assert_array_equal(p.asnumpy(), values)


def test_restored_also_when_the_function_raises():
    net = Net()
    numbers = ms.get_rng_state().asnumpy().copy()

    def fn(x):
        ops.rand(3)
        net.first.weight.set_data(net.first.weight * 2)
        raise KeyError("mine")

    before = net.first.weight.asnumpy().copy()
    with pytest.raises(KeyError, match="mine"):
        check_grads(fn, X)
    np.testing.assert_array_equal(net.first.weight.asnumpy(), before)
    assert net.first.weight.dtype is ms.float32
    np.testing.assert_array_equal(ms.get_rng_state().asnumpy(), numbers)


@pytest.mark.parametrize("random", [
    lambda: nn.Dropout(p=0.5).set_train(),
    lambda: lambda x: ops.dropout(x, p=0.5, training=True, seed=3),
    lambda: lambda x: x * ops.uniform((3,), Tensor(0.0), Tensor(1.0), seed=5),
    lambda: (lambda draw: lambda x: x * draw((3,)))(ops.UniformReal(seed=2)),
    lambda: lambda x: x * Tensor(np.random.rand(3)),
], ids=["dropout", "op seed", "uniform", "primitive", "numpy"])
def test_random_operators_draw_the_same_each_time(random):
    numbers = np.random.get_state()[1].copy()
    check_grads(random(), X, compiled=False)
    np.testing.assert_array_equal(np.random.get_state()[1], numbers)


def test_dropout_compiled_too():
    check_grads(nn.Dropout(p=0.5).set_train(), X)


def test_a_function_that_changes_by_itself_is_refused():
    class Counter:
        calls = 0.0

    def fn(x):
        Counter.calls += 1
        return x * Counter.calls

    assert "gives two values for the same inputs, at output" in told(fn, X)


def test_compiled_must_be_as_eager():
    def fn(x):
        factor = 1.0 if ms.core.state.state.trace is None else 2.0
        return x * factor

    assert "compiled is not what it is eagerly" in told(fn, X)
    check_grads(fn, X, compiled=False)


def test_compiled_gives_as_many_tensors_of_the_same_shapes():
    def fn(x, change):
        return x if ms.core.state.state.trace is None else change(x)

    for change, words in ((lambda x: (x, x), "eagerly: 2 Tensors, not 1, when the graph was reco"),
                          (lambda x: x[None], "eagerly: output, when the graph was recorded")):
        assert words in told(lambda x, change=change: fn(x, change), X, order=1)
    check_grads(lambda x: (fn(x, lambda x: x), x > 0, x.astype(ms.int32), x[:0]), X, order=1)


class Hooked(nn.Cell):
    """Compiled it gives the same value, but twice the derivative of one of its inputs."""

    def __init__(self, which):
        super().__init__()
        self.which = which
        self.weight = ms.Parameter(Tensor([1.0, 2.0, 4.0]), name="weight")

    def construct(self, x, pair):
        hook = ops.InsertGradientOf(
            lambda g: g if ms.core.state.state.trace is None else 2 * g)
        given = {"x": x, "pair[1]": pair[1], "weight": self.weight}
        given[self.which] = hook(given[self.which])
        return given["x"] * given["pair[1]"] * pair[0], given["weight"] * 3


@pytest.mark.parametrize("which, told_by", [
    ("x", "by x"), ("pair[1]", "by pair[1]"), ("weight", "by weight 'weight'")])
@pytest.mark.parametrize("modes", ["rev", "fwd"])
def test_compiled_derivatives_must_be_as_eager(which, told_by, modes):
    net, pair = Hooked(which), (Tensor([1, 2, 3]), X + 1)
    if (which, modes) == ("weight", "fwd"):  # tangents are those by the inputs
        check_grads(net, X, pair, order=1, modes=modes)
        return
    text = told(net, X, pair, order=1, modes=modes)
    what = "gradient" if modes == "rev" else "tangent"
    assert f"The {what} of 'Hooked' compiled is not what it is eagerly: " in text
    assert "when the graph was recorded" in text and (modes == "fwd" or f": {told_by}, " in text)
    check_grads(net, X, pair, order=1, modes=modes, compiled=False)


def test_compiled_functions_are_graphs_that_are_replayed(monkeypatch):
    made, kind = [], check.Compiled

    def compiled(function):
        made.append(kind(function))
        return made[-1]

    monkeypatch.setattr(check, "Compiled", compiled)
    check_grads(lambda x, i: ops.sin(x) * i, X, Tensor([1, 2, 3]), order=1)
    assert [(graph.report()["graphs"], graph.report()["replays"]) for graph in made] == [(1, 1)] * 3


def test_weights_that_hold_integers_are_no_inputs():
    net = Hooked("x")
    net.places = ms.Parameter(Tensor([0, 1]), name="places")
    check_grads(net, X, (Tensor([1, 2, 3]), X), order=1, compiled=False)
    with pytest.raises(TypeError, match="must have a floating input or weight"):
        check_grads(lambda: 3.0, weights=[net.places])


def test_tolerance_and_step_can_be_chosen():
    check_grads(Scaled(1.001), X, rtol=1e-2, order=1)
    assert "rtol 1e-06" in told(Scaled(1.001), X, rtol=1e-6, order=1)
    assert "step       0.001" in told(Scaled(2.0), X, eps=1e-3)


def test_results_in_less_precision_get_longer_steps():
    check_grads(lambda x: ops.cast(x * x, ms.float32), X, order=1)
    assert "order 1" in told(lambda x: ops.cast(Scaled(2.0)(x), ms.float32), X, order=1)


def test_seeds_choose_the_directions():
    same = [told(Scaled(2.0), X, seed=s) for s in (1, 1, 2)]
    assert same[0] == same[1] != same[2]


def test_what_is_not_finite_is_said():
    assert "not finite" in told(ops.sqrt, Tensor([0.0]), order=1)


@pytest.mark.parametrize("call, error, text", [
    (lambda: check_grads(3, X), TypeError, "must be a function or a Cell, but got int"),
    (lambda: check_grads(ops.sin, X, order=0), ValueError, "'order' must be an int of 1 or more"),
    (lambda: check_grads(ops.sin, X, modes=("up",)), ValueError, "must hold 'rev', 'fwd' or both"),
    (lambda: check_grads(ops.sin, X, weights=3), TypeError, "'weights' must be a Parameter"),
    (lambda: check_grads(lambda x: x, Tensor([1])), TypeError, "must have a floating input"),
])
def test_arguments_are_checked(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_kept_numbers_come_back():
    generator = ms.Generator()
    back = kept()
    first = ops.rand(2), ms.ops.rand(2, seed=4), np.random.rand()
    state = generator.get_state().asnumpy()
    generator.manual_seed(9)
    back()
    again = ops.rand(2), ms.ops.rand(2, seed=4), np.random.rand()
    np.testing.assert_array_equal(first[0].asnumpy(), again[0].asnumpy())
    assert first[2] == again[2] and (generator.get_state().asnumpy() == state).all()


@pytest.mark.parametrize("cell, shape", [
    (lambda: nn.BatchNorm2d(2).set_train(), (2, 2, 2, 2)), (lambda: nn.LayerNorm((4,)), (3, 4)),
    (lambda: nn.GroupNorm(2, 4), (2, 4, 3, 3)),
    (lambda: nn.InstanceNorm2d(2).set_train(), (2, 2, 2, 2)),
    (lambda: lambda x: ops.layer_norm(x, (2, 4)), (3, 2, 4)),
], ids=["batch", "layer", "group", "instance", "function"])
def test_normalizations_in_every_order_of_modes(cell, shape):
    # the reverse derivative of PyTorch's forward derivative of these kernels is wrong
    check_grads(cell(), Tensor(np.random.default_rng(0).standard_normal(shape), ms.float32),
                compiled=False)


@pytest.mark.parametrize("function", [
    ops.mish, lambda x: ops.huber_loss(x, 0.5 * x, "sum", 0.3),
    lambda x: ops.huber_loss(x, 0.5 * x, "none", 0.3),
], ids=["mish", "huber", "huber by element"])
def test_functions_whose_gradient_kernels_have_no_forward_derivative(function):
    check_grads(function, Tensor([[0.3, -1.2], [0.9, 2.5]], ms.float64))


# -- its parts -------------------------------------------------------------------------------------


def outside(got, behind, ahead, tolerance=0.5):
    return check._outside(*(torch.tensor(v) for v in (got,)),
                          (torch.tensor(behind), torch.tensor(ahead)), tolerance)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("got, behind, ahead, place", [
    ([1.5, 2.5], [2.0, 1.0], [3.0, 2.0], None),  # exactly at the tolerance, below and above
    ([1.4, 2.0], [2.0, 1.0], [3.0, 2.0], 0), ([2.0, 2.6], [2.0, 2.0], [2.0, 1.0], 1),
    ([2.0, NAN], [2.0, NAN], [2.0, NAN], None), ([2.0, NAN], [2.0, 1.0], [2.0, 1.0], 1),
    ([2.0, 1.0], [2.0, NAN], [2.0, NAN], 1), (3.0, 1.0, 2.0, 0), (2.5, 2.0, 1.0, None),
    ([[1.0, 2.0], [9.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], 2),
    ([1 + 1j, 2 + 9j], [1 + 1j, 2 + 1j], [1 + 1j, 2 + 1j], 1),
    ([1 + 1j, 9 + 1j, 9j], [1 + 1j, 2 + 1j, 0j], [1 + 1j, 2 + 1j, 0j], 1)], ids=range(11))
def test_the_first_element_that_is_not_between_two_slopes(got, behind, ahead, place):
    assert outside(got, behind, ahead) == place


@pytest.mark.parametrize("raw, place, told", [
    (torch.ones(()), 0, ""), (torch.ones(3), 2, " at [2]"), (torch.ones(2, 3), 4, " at [1, 1]"),
    (torch.ones(2, 3, 4), 23, " at [1, 2, 3]")])
def test_where_an_element_is(raw, place, told):
    assert check._element(raw, place) == told


@pytest.mark.parametrize("values, told", [
    ([1.0], "[1]"), ([1.0, 2.0, 3.0, 0.25], "[1, 2, 3, 0.25]"),
    ([1.0, 2.0, 3.0, 1 / 3, 5.0], "[1, 2, 3, 0.3333, ...]"), ([1 + 2j], "[1+2j]"), ([], "[]")])
def test_how_numbers_are_shown(values, told):
    assert check._shown(torch.tensor(values)) == told


@pytest.mark.parametrize("raw, size", [
    (torch.tensor([1.0, -3.0]), 3.0), (torch.tensor([3 + 4j]), 5.0), (torch.ones(0), 0.0),
    (torch.tensor([1.0, INF]), 0.0), (torch.tensor([1.0, NAN]), 0.0)], ids=range(5))
def test_the_size_of_numbers(raw, size):
    assert check._largest(raw) == pytest.approx(size)


def test_names_and_products():
    assert check._quoted("x") == "'x'" and check._quoted("x['a']") == "'x['a']'"
    assert check._quoted("weight 'w'") == "weight 'w'" and check._quoted("weight") == "'weight'"
    a, b = torch.tensor([1 + 2j, 3j]), torch.tensor([4 - 5j, 1 + 1j])
    assert check._dot(a, b) == pytest.approx(float((a * b.conj()).real.sum()))
    assert check._number(torch.tensor(1 / 3)) == "0.333333"
    assert check._number(torch.tensor(1 + 0.5j)) == "1+0.5j"


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.complex64, torch.complex128])
def test_random_numbers_are_about_one(kind):
    checks = check._Check(None, (), (), np.random.default_rng(0))  # type: ignore[arg-type]
    drawn = checks.random(torch.empty(100, 50, dtype=kind))
    assert drawn.dtype is kind and drawn.shape == (100, 50)
    for part in ((drawn.real, drawn.imag) if kind.is_complex else (drawn,)):
        assert abs(float(part.mean())) < 0.06 and abs(float(part.var()) - 1) < 0.1
    if kind.is_complex:  # the parts don't depend on each other
        assert abs(float((drawn.real * drawn.imag).mean())) < 0.06


def test_messages_about_numbers_that_are_not_finite_and_jumps():
    assert "may end here, as sqrt at 0" in told(ops.sqrt, Tensor([0.0, 1.0]), order=1)
    jump = told(lambda x: ops.sign(x) * 1e3, Tensor([0.0, 0.5]), order=1)
    assert "seems to jump here" in jump and "not finite" not in jump
    assert "jump" not in told(Scaled(2.0), X, order=1)


@pytest.mark.parametrize("options, words", [
    ({"order": 0}, "1 or more, but got 0"), ({"order": True}, "'order' must be an int"),
    ({"order": 1.0}, "'order' must be an int"), ({"modes": ()}, "'modes' must hold"),
    ({"modes": "both"}, "'modes' must hold"), ({"modes": ("rev", "back")}, "'modes' must hold")])
def test_options_that_mean_nothing(options, words):
    with pytest.raises(ValueError, match=words):
        check_grads(ops.sin, X, **options)


def test_tolerances_that_are_given():
    """By them a derivative that is off by a tenth is right, by smaller ones wrong."""
    check_grads(Scaled(1.1), X, order=1, rtol=0.2)
    check_grads(Scaled(1.1), X, order=1, rtol=0.0, atol=2.0)
    text = told(Scaled(1.1), X, order=1, rtol=0.01, atol=0.0, eps=1e-4)
    assert "(rtol 0.01, atol 0)" in text and "step       0.0001 along" in text
    cut = make_cut()
    second = told(cut, X, order=2, modes="rev", rtol=0.01)
    assert "(rtol 0.01, atol" in second and "of order 2, in reverse mode, of the deriv" in second
    assert check.BY_PRECISION[64][1] * 10 == pytest.approx(float(
        told(cut, X, order=2, modes="rev").partition("(rtol ")[2].partition(",")[0]))


def make_cut():
    return type("Cut", (Scaled,), {"bprop": lambda self, x, out, dout: 2 * ops.stop_gradient(
        x) * dout})(1.0)
