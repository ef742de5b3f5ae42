"""`grad`, `value_and_grad`, `GradOperation`: what comes back, in which form, to any order."""

import gc
import resource
import threading

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.autodiff.reverse import trains
from lamella.core.state import state
from tests.contracts import check_gradient


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor([[2.0, 3.0, 4.0]]))

    def construct(self, x, y):
        logits = (x * self.weight).sum()
        return (logits - y) ** 2, logits


X, Y = Tensor([[1.0, 2.0, 3.0]]), Tensor(19.0)


def arrays(tree):
    if isinstance(tree, (tuple, list)):
        return [arrays(t) for t in tree]
    return tree.asnumpy().tolist()


DX, DW, DY = [[4.0, 6.0, 8.0]], [[2.0, 4.0, 6.0]], -2.0


@pytest.mark.parametrize("position, by_weights, expected", [
    (0, False, DX),
    (1, False, DY),
    ((0, 1), False, [DX, DY]),
    ((1,), False, DY),
    (None, True, [DW]),
    (0, True, [DX, [DW]]),
    ((0, 1), True, [[DX, DY], [DW]]),
])
def test_table_of_positions_and_weights(position, by_weights, expected):
    net = Net()
    weights = net.trainable_params() if by_weights else None
    gradients, aux = ms.grad(net, position, weights, has_aux=True)(X, Y)
    assert arrays(gradients) == expected
    assert isinstance(aux, tuple) and arrays(aux) == [20.0]
    value, gradients = ms.value_and_grad(net, position, weights, has_aux=True)(X, Y)
    assert arrays(gradients) == expected
    assert arrays(value) == [1.0, 20.0]


def test_a_single_parameter_gives_a_single_gradient():
    net = Net()
    gradient, _ = ms.grad(net, None, net.weight, has_aux=True)(X, Y)
    assert arrays(gradient) == DW
    _, gradient = ms.grad(net, 0, net.weight, has_aux=True)(X, Y)[0]
    assert arrays(gradient) == DW


def test_outputs_are_summed_without_aux():
    assert arrays(ms.grad(Net())(X, Y)) == [[6.0, 9.0, 12.0]]


def test_parameter_tuple_as_weights():
    net = Net()
    weights = ms.ParameterTuple(net.trainable_params())
    assert arrays(ms.grad(net, None, weights)(X, Y)) == [[[3.0, 6.0, 9.0]]]


def test_nested_outputs_and_arguments():
    def f(tree, *, scale):
        return {"a": tree["x"][0] * scale, "b": [tree["x"][1] ** 2, (tree["x"][0],)]}

    tree = {"x": [Tensor(2.0), Tensor(3.0)], "n": 5}
    gradient = ms.grad(f)(tree, scale=Tensor(10.0))
    assert arrays(gradient["x"]) == [11.0, 6.0] and gradient["n"] == 5


def test_keyword_arguments_defaults_lambdas_and_methods():
    class Thing:
        factor = 3.0

        def scaled(self, x, power=2):
            return self.factor * x**power

    assert float(ms.grad(Thing().scaled)(Tensor(2.0))) == 12.0
    assert float(ms.grad(Thing().scaled)(Tensor(2.0), power=3)) == 36.0
    assert float(ms.grad(lambda x: -x)(Tensor(2.0))) == -1.0


def assert_equal(found, wanted):
    if isinstance(wanted, tuple):
        assert isinstance(found, tuple) and len(found) == len(wanted)
        for pair in zip(found, wanted, strict=True):
            assert_equal(*pair)
    else:
        np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_inputs_given_by_name_come_after_the_others(mode):
    def f(x, *, a, b=None, scale=2.0):
        return (x * a * b * scale).sum()

    class Net(nn.Cell):
        def construct(self, x, **others):
            return f(x, **others)

    x, a, b = Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), Tensor([5.0, 6.0])
    by_x, by_a, by_b = 2 * a * b, 2 * x * b, 2 * x * a
    ms.set_context(mode=mode)
    try:
        for fn in (f, Net(), ms.jit(f)):
            for _ in range(3):
                assert_equal(ms.grad(fn, (0, 1, 2))(x, b=b, a=a), (by_x, by_b, by_a))
                assert_equal(ms.value_and_grad(fn, 2)(x, a=a, b=b), (f(x, a=a, b=b), by_b))
                assert_equal(ms.grad(fn)(x, a=a, b=b), by_x)
                assert_equal(ms.grad(fn)(a=a, x=x, b=b), by_a)
                every = ops.GradOperation(get_all=True)(fn)
                assert_equal(every(x, scale=2.0, b=b, a=a), (by_x, by_b, by_a))
                sens = ops.GradOperation(get_all=True, sens_param=True)(fn)
                assert_equal(sens(x, b=b, a=a, sens=Tensor(3.0)), (by_x * 3, by_b * 3, by_a * 3))
        assert_equal(ms.vmap(lambda x, a: ms.grad(f, (1, 0))(x, a=a, b=b))(
            ops.stack([x, x]), ops.stack([a, a])),
                     (ops.stack([by_a, by_a]), ops.stack([by_x, by_x])))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_unused_inputs_have_zero_gradient():
    gradients = ms.grad(lambda x, y: x * 2, (0, 1))(Tensor([1.0]), Tensor([[5.0, 6.0]]))
    assert arrays(gradients) == [[2.0], [[0.0, 0.0]]]
    assert arrays(ms.grad(lambda x: Tensor(3.0))(Tensor([1.0]))) == [0.0]


def test_whole_number_inputs():
    gradient = ms.grad(lambda x: x * x)(Tensor(3))
    assert gradient.dtype is ms.int64 and int(gradient) == 6
    table = Tensor([[1.0, 2.0], [3.0, 4.0]])
    by_index, by_table = ms.grad(lambda i, t: t[i] * 3.0, (0, 1))(Tensor([1, 1]), table)
    assert by_index.dtype is ms.int64 and arrays(by_index) == [0, 0]
    assert arrays(by_table) == [[0.0, 0.0], [6.0, 6.0]]


def test_return_ids_and_get_grad():
    net = Net()
    gradients = ms.grad(net, (0, 1), net.trainable_params(), return_ids=True)(X, Y)
    assert arrays(ms.get_grad(gradients, 0)) == [[6.0, 9.0, 12.0]]
    assert arrays(ms.get_grad(gradients, net.weight)) == [[3.0, 6.0, 9.0]]
    assert gradients[1][0][0] == "weight"
    with pytest.raises(RuntimeError, match="no gradient for 7"):
        ms.get_grad(gradients, 7)


@pytest.mark.parametrize("call, error, message", [
    (lambda: ms.grad(Net(), None, None), ValueError, "can not be None at the same time"),
    (lambda: ms.grad(3), TypeError, "'fn' must be a function or a Cell, but got int"),
    (lambda: ms.grad(Net(), "x"), TypeError, "'grad_position' must be an int, a tuple"),
    (lambda: ms.grad(Net(), -1), ValueError, "must be 0 or more, but got -1"),
    (lambda: ms.grad(Net(), (0, 0)), ValueError, "must not repeat"),
    (lambda: ms.grad(Net(), (0, 1.5)), TypeError, "must be an int, but got 1.5"),
    (lambda: ms.grad(Net(), 0, [X]), TypeError, "must be a Parameter, but got Tensor"),
    (lambda: ms.grad(Net(), 0, 5), TypeError, "'weights' must be a Parameter, or a tuple"),
    (lambda: ms.grad(Net(), has_aux=1), TypeError, "'has_aux' must be a bool, but got 1"),
    (lambda: ms.grad(Net(), 2)(X, Y), RuntimeError, "'grad_position' 2 is out of .*2 arguments"),
    (lambda: ms.grad(lambda x: x, has_aux=True)(X), ValueError, "must return two or more outputs"),
    (lambda: ops.GradOperation(get_all=1), TypeError, "'get_all' must be a bool, but got 1"),
])
def test_errors_say_what_was_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_grad_operation():
    net = Net()
    x, y = X, Y
    assert arrays(ops.GradOperation()(net)(x, y)) == [[6.0, 9.0, 12.0]]
    assert arrays(ops.GradOperation(get_all=True)(net)(x, y)) == [[[6.0, 9.0, 12.0]], -2.0]
    by_list = ops.GradOperation(get_by_list=True)(net, net.trainable_params())
    assert arrays(by_list(x, y)) == [[[3.0, 6.0, 9.0]]]
    both = ops.GradOperation(get_all=True, get_by_list=True)(net, net.trainable_params())
    assert arrays(both(x, y)) == [[[[6.0, 9.0, 12.0]], -2.0], [[[3.0, 6.0, 9.0]]]]
    sens = ops.GradOperation(sens_param=True)(lambda a: a * a)
    assert arrays(sens(Tensor([1.0, 2.0]), Tensor([10.0, 100.0]))) == [20.0, 400.0]
    pair = ops.GradOperation(sens_param=True)(net)
    assert arrays(pair(x, y, (Tensor(1.0), Tensor(0.0)))) == DX
    with pytest.raises(ValueError, match="must have the output's shape"):
        sens(Tensor([1.0, 2.0]), Tensor([[10.0]]))


def test_the_gradient_to_start_from():
    f = lambda x, y: x * y  # noqa: E731
    x, y, sens = Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), Tensor([10.0, 100.0])
    assert arrays(ms.grad(f, sens_param=True)(x, y, sens)) == [30.0, 400.0]
    assert arrays(ms.grad(f, (0, 1), sens_param=True)(x, y, sens=sens)) == [[30.0, 400.0],
                                                                           [10.0, 200.0]]
    value, gradient = ms.value_and_grad(f, sens_param=True)(x, y, sens)
    assert arrays(value) == [3.0, 8.0] and arrays(gradient) == [30.0, 400.0]
    with pytest.raises(ValueError, match="the last argument must be the gradient of the output"):
        ms.grad(f, None, Parameter(1.0), sens_param=True)()


def test_higher_orders():
    f = lambda x: x**4  # noqa: E731
    x = Tensor(2.0)
    for expected in (32.0, 48.0, 48.0, 24.0, 0.0):
        f = ms.grad(f)
        assert float(f(x)) == expected


def test_higher_orders_through_weights():
    w = Parameter(Tensor([2.0, 3.0]), name="w")

    def inner(x):
        return (w**3 * x**2).sum()

    def outer(x):
        return ms.grad(inner)(x).sum()

    mixed = ms.grad(outer, None, w)(Tensor([1.0, 2.0]))
    np.testing.assert_allclose(mixed.asnumpy(), 6 * np.array([4.0, 9.0]) * np.array([1.0, 2.0]))
    by_both = ms.grad(lambda x: ms.grad(inner, None, w)(x).sum(), None, w)(Tensor([1.0, 2.0]))
    np.testing.assert_allclose(by_both.asnumpy(), 6 * np.array([2.0, 3.0]) * np.array([1.0, 4.0]))


def test_finite_differences_of_a_composition():
    def f(x, w):
        return ((x @ w) ** 2 / (1 + (x * x).sum())) * w[0]

    rng = np.random.default_rng(1)
    check_gradient(f, [rng.standard_normal((3, 4)), rng.standard_normal((4, 2))], (0, 1))


def test_nothing_is_recorded_outside_a_gradient():
    net = Net()
    seen = []

    def f(x, y):
        loss, logits = net(x, y)
        seen.append(loss)
        return loss

    loss, (gradient,) = ms.value_and_grad(f, None, net.trainable_params())(X, Y)
    assert not net(X, Y)[0]._raw.requires_grad
    assert not loss._raw.requires_grad and not gradient._raw.requires_grad
    assert not net.weight._raw.requires_grad
    assert seen[0]._raw.requires_grad


def test_only_requested_derivatives_are_recorded():
    a, b = Parameter(Tensor([1.0]), name="a"), Parameter(Tensor([2.0]), name="b")
    seen = {}

    def f(x):
        seen["b"] = b * x
        seen["a"] = a * x
        return seen["a"] + seen["b"]

    ms.grad(f, None, [a])(Tensor([3.0]))
    assert seen["a"]._raw.requires_grad and not seen["b"]._raw.requires_grad


def test_a_function_trains_if_it_reaches_a_gradient_by_weights():
    net = nn.Dense(2, 1)
    by_weights = ms.value_and_grad(net, None, net.trainable_params())
    by_inputs = ms.grad(net)
    assert trains(by_weights) and trains(lambda x: by_weights(x)) and trains(ms.jit(by_weights))
    assert not any(map(trains, (by_inputs, lambda x: by_inputs(x), net.construct, abs)))


def test_nothing_is_left_behind_when_the_function_raises():
    w = Parameter(Tensor([1.0]), name="w")

    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ms.grad(f, 0, [w])(X)
    assert state.level is None and state.overlay is None
    assert torch.is_grad_enabled()


def test_a_weight_that_the_function_assigns_keeps_the_new_value():
    w = Parameter(Tensor([1.0]), name="w")

    def f(x):
        y = w * x
        w.set_data(Tensor([7.0]))
        return y

    assert arrays(ms.grad(f)(Tensor([5.0]))) == [1.0]
    assert arrays(w.value()) == [7.0]
    w.set_data(Tensor([1.0]))
    assert arrays(ms.grad(f, None, w)(Tensor([5.0]))) == [5.0]
    assert arrays(w.value()) == [7.0]


@pytest.mark.filterwarnings("ignore:.*through the assignment")  # as is said
def test_no_gradient_flows_through_an_assignment():
    w = Parameter(Tensor([2.0, 3.0]), name="w")

    def f(x):
        y = w * x
        ops.assign(w, x * 2)
        return y + w * x * 10

    # MindSpore 2.10: the gradient by a weight is by each of the values it had in the function
    dx, dw = ms.grad(f, 0, w)(Tensor([1.0, 2.0]))
    assert arrays(dx) == [22.0, 43.0] and arrays(dw) == [11.0, 22.0]
    assert arrays(w.value()) == [2.0, 4.0]
    assert arrays(ms.grad(lambda x: w * w, None, [w, w])(X)) == [[4.0, 8.0], [4.0, 8.0]]


def test_a_tensor_from_outside_changed_inside_is_cut_from_the_record():
    buffer = Tensor([0.0, 0.0])

    def f(x):
        buffer[0] = x[0] * 3
        return (buffer * x).sum()

    for value in (1.0, 2.0):
        gradient = ms.grad(f)(Tensor([value, 5.0]))
        assert arrays(gradient) == [6.0 * value, 0.0]
        assert not buffer._raw.requires_grad and arrays(buffer) == [3.0 * value, 0.0]


def test_a_frozen_weight_has_gradient_zero():
    w = Parameter(Tensor([2.0, 3.0]), name="w", requires_grad=False)
    assert arrays(ms.grad(lambda x: w * x, None, [w])(Tensor([1.0, 2.0]))) == [[0.0, 0.0]]


def test_a_function_that_returns_a_parameter():
    w = Parameter(Tensor([1.0, 2.0]), name="w")
    assert arrays(ms.grad(lambda x: w, None, w)(X)) == [1.0, 1.0]
    assert not state.overlay


def test_gradient_inside_no_grad():
    with ms._no_grad():
        assert float(ms.grad(lambda x: x * x)(Tensor(3.0))) == 6.0
        assert not torch.is_grad_enabled()


def test_stop_gradient():
    x = Tensor([2.0])
    assert arrays(ms.grad(lambda x: x * ops.stop_gradient(x))(x)) == [2.0]
    pair = ops.stop_gradient((x, [x * 2]))
    assert arrays(pair) == [[2.0], [[4.0]]]
    assert ops.stop_gradient(3.0) == 3.0
    assert arrays(ops.StopGradient()(x)) == [2.0]

    def in_place(x):
        y = x * x
        assert ops.stop_gradient_(y) is y
        return x + y

    assert arrays(ms.grad(in_place)(x)) == [1.0]
    with pytest.raises(TypeError, match="must be a Tensor, but got int"):
        ops.stop_gradient_(3)


def test_saved_tensors_pass_through_hooks():
    seen = []

    def f(x, y):
        with ms.saved_tensors_hooks(lambda t: seen.append("pack") or t + 1, lambda t: t):
            return x * y

    dx, dy = ms.grad(f, (0, 1))(Tensor(2.0), Tensor(5.0))
    assert (float(dx), float(dy)) == (6.0, 3.0) and seen == ["pack", "pack"]
    halved = ms.register_saved_tensors_hooks(lambda t: None, lambda t: Tensor(0.5))(lambda x: x * x)
    assert float(ms.grad(halved)(Tensor(2.0))) == 1.0
    with pytest.raises(TypeError, match="'pack_hook' must be a function, but got int"):
        ms.saved_tensors_hooks(1, lambda t: t)
    broken = ms.register_saved_tensors_hooks(lambda t: t, lambda t: 5)(lambda x: x * x)
    with pytest.raises(TypeError, match="'unpack_hook' must return a Tensor, but it returned int"):
        ms.grad(broken)(Tensor(2.0))


def test_complex_inputs():
    gradient = ms.grad(lambda x: (x * 2.0).sum())(Tensor(np.array([1 + 2j], np.complex64)))
    assert gradient.dtype is ms.complex64


def test_threads_differentiate_one_network_at_once():
    net = Net()
    got, errors = {}, []
    start = threading.Barrier(8)

    def work(k):
        try:
            x = Tensor([[float(k), 0.0, 0.0]])
            start.wait()
            for _ in range(200):
                gradients, _ = ms.grad(net, (0,), net.trainable_params(), has_aux=True)(x, Y)
            got[k] = (arrays(gradients[0]), arrays(gradients[1][0]))
        except Exception as error:  # noqa: BLE001  reported below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    for k in range(8):
        by_x, by_w = got[k]
        error = 2 * (2 * k - 19)
        np.testing.assert_allclose(by_x, [[error * 2, error * 3, error * 4]])
        np.testing.assert_allclose(by_w, [[error * k, 0, 0]])


def count_tensors():
    return sum(issubclass(type(o), (torch.Tensor, Tensor)) for o in gc.get_objects())


class Ruled(nn.Cell):
    """A network with every kind of rule."""

    def __init__(self):
        super().__init__()
        self.net = Net()
        self.clip = ops.InsertGradientOf(lambda g: g * 0.5)
        self.net.register_backward_hook(lambda cell, gi, go: None)
        self.net.weight.register_hook(lambda g: g * 2)

    def construct(self, x, y):
        loss, logits = self.net(self.clip(x), y)
        logits.register_hook(lambda g: None)
        return Doubled()(loss), logits


class Doubled(nn.Cell):
    def construct(self, x):
        return x * 2

    def bprop(self, x, out, dout):
        return dout * 2


@pytest.mark.parametrize("make, steps", [(Net, 10_000), (Ruled, 2_000)])
def test_memory_stays_flat(make, steps):
    net = make()
    (weight,) = net.trainable_params()
    step = ms.value_and_grad(net, None, [weight], has_aux=True)

    def run(count):
        for _ in range(count):
            (loss, _), (gradient,) = step(X, Y)
            weight.set_data(weight - gradient * 1e-4)

    run(500)
    gc.collect()
    tensors, peak = count_tensors(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gc.disable()  # what only the garbage collector would free is a leak here
    try:
        run(steps)
        assert count_tensors() <= tensors + 5
    finally:
        gc.enable()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 8 * 1024  # KiB


def test_arguments_that_are_no_tensors_have_no_gradient() -> None:
    double, product = (lambda a: a * 2), (lambda a, b: a * b)
    x = Tensor([1.0, 2.0])
    assert ms.grad(double)(3) == ms.grad(double)(3.0) == ms.grad(lambda: x * 2)() == ()
    assert ms.grad(product, 1)(x, 2.0) == ()
    assert ms.grad(product, (0, 1))(x, 2.0).tolist() == [2.0, 2.0]
    assert ms.grad(product, (0, 1))(2, x).tolist() == [2.0, 2.0]
    assert ms.value_and_grad(double)(3.0) == (6.0, ())


def test_a_cell_says_how_its_tensors_are_kept():
    net, seen = ms.nn.Dense(2, 2), []
    handle = net.register_saved_tensors_hooks(lambda t: seen.append("kept") or t * 2,
                                              lambda t: seen.append("used") or t / 2)
    x = Tensor([[1.0, 2.0]])
    found = ms.grad(lambda x: net(x).sum())(x)
    assert {"kept", "used"} == {*seen}
    handle.remove()
    assert (found == ms.grad(lambda x: net(x).sum())(x)).all()
    assert len(seen) == 2 * seen.count("kept")
    with pytest.raises(TypeError, match="must be a function"):
        net.register_saved_tensors_hooks(1, lambda t: t)
