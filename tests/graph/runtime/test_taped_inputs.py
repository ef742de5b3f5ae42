"""What stands for the inputs of a compiled function below an eager gradient: Parameters that have
other values meanwhile, arguments that are returned, and inputs that the tape knows or not."""

import warnings

import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops
from lamella.graph.tracing.symbolic import preparation

from .taped import array, assert_alike


@pytest.fixture(scope="module", autouse=True)
def _prepared():
    preparation.begin()  # sizes vary here
    assert preparation.finished.wait(120)


class Derived(nn.Cell):
    """A Cell whose result is the gradient of a function of its weight."""

    def __init__(self, compiled, by_weight):
        super().__init__()
        self.weight = weight = Parameter(Tensor(array(3, seed=9) / 3), name="weight")

        def square(x):
            return (ops.tanh(x * weight) * x).sum()

        self.given = Tensor(array(3))
        self.gradient = ms.value_and_grad(jit(square) if compiled else square, 0,
                                          [weight] if by_weight else None)

    def construct(self, x):
        return self.gradient(self.given * x.sum().astype(ms.float32))


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("by_weight", [False, True])
@pytest.mark.parametrize("order", [(0, 1, 0, 1, 1, 0), (1, 1, 0, 0, 1, 1)])
@pytest.mark.parametrize("kind", ["values", "another type"])
def test_a_parameter_that_has_other_values_meanwhile(by_weight, order, kind):
    found = []
    for compiled in (True, False):
        net = Derived(compiled, by_weight)
        results = []
        for number, differs in enumerate(order):
            x = Tensor([float(number + 1)])
            if kind == "values":
                other = {"weight": Tensor(array(3, seed=number))} if differs else {}
                results.append(nn.functional_call(net, other, x))
            else:
                net.to_float(ms.float16 if differs else ms.float32)
                results.append(net(x))
        found.append(results)
    assert_alike(*found)


RETURNED = {
    "it": lambda x, n: (x, x * n), "twice": lambda x, n: {"a": [x, x * n], "b": x},
    "a view": lambda x, n: (x.reshape(-1), x * n), "a part": lambda x, n: (x[1:], x.sum() * n),
    "it and a view": lambda x, n: (x, x.T, x * n),
    "a result twice": lambda x, n: [(y := ops.sin(x) * n), y, (y, y * n)],
    "alone": lambda x, n: x}


@pytest.mark.parametrize("name", RETURNED)
@pytest.mark.parametrize("vary", ["values", "numbers", "sizes"])
def test_an_argument_that_is_returned(name, vary):
    """It is on the tape as it was: its gradient is the sum by all its uses."""
    def gradients(call, number):
        def loss(x):
            z = x * 1
            parts = [part for part in ms.tree.leaves(call(z, 1.5 + number * (vary == "numbers")))
                     if isinstance(part, Tensor)]
            return sum([(part * part * (i + 2)).sum() for i, part in enumerate([z, *parts])])

        size = 2 + number if vary == "sizes" else 2
        return ms.value_and_grad(loss)(Tensor(array(size, 2, seed=number)))

    call = jit(RETURNED[name])
    for number in range(6):
        assert_alike(gradients(call, number), gradients(RETURNED[name], number))
    report = call.report()
    assert report["eager"] == [] and report["traces"] == {"values": 1, "numbers": 2}.get(vary, 3)


def test_which_arguments_the_tape_knows_is_a_guard():
    call = jit(lambda x, y, z: (x * y + z, y * 2))

    def gradients(call, positions, number):
        given = [Tensor(array(3, seed=number + i)) for i in range(3)]
        return ms.value_and_grad(lambda *given: sum([part.sum() for part in call(*given)]),
                                 positions)(*given)

    choices = [0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    for number, positions in enumerate(choices * 2):
        assert_alike(gradients(call, positions, number), gradients(call.fn, positions, number))
    assert call.report()["traces"] == call.report()["replays"] == len(choices)


def test_a_tensor_found_elsewhere_that_the_tape_knows_or_not():
    held = {"a": Tensor(array(3)), "b": Tensor(array(3, seed=1))}
    call = jit(lambda x: (x * held["a"] + held["b"]).sum())

    def gradients(call, known, number):
        def loss(x):
            for name in held:
                held[name] = ops.sin(x) if name in known else Tensor(array(3, seed=number))
            return call(x)

        return ms.value_and_grad(loss)(Tensor(array(3, seed=number)))

    for number, known in enumerate(["", "a", "b", "ab", "a", "", "ab", "b"] * 2):
        assert_alike(gradients(call, known, number), gradients(call.fn, known, number))
    assert call.report()["replays"] >= 8 and call.report()["eager"] == []


@pytest.mark.parametrize("kind", [ms.int32, ms.int64, ms.float16, ms.complex64])
def test_inputs_of_another_kind(kind):
    """Integers are differentiated like real numbers; a graph for constants doesn't hold then."""
    call = jit(lambda x, y: (x * 2.5 * y + x).sum())

    def gradients(call, positions, number):
        x = Tensor(ops.arange(3) + number).astype(kind)
        return ms.grad(lambda x, y: ops.real(call(x, y)), positions)(x, Tensor(array(3)))

    for number, positions in enumerate([1, 0, (0, 1), 1, 0, (0, 1)]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = gradients(call, positions, number)
        assert_alike(found, gradients(call.fn, positions, number))


def test_an_argument_that_is_given_twice_or_found_elsewhere():
    held = {}
    call = jit(lambda x, y: (x * y * held["z"] + y).sum())

    def gradients(call, same, number):
        def loss(x):
            a, b = x * 2, x + 1
            held["z"] = {"all": a, "first": a, "held": b}.get(same, ops.sin(x))
            return call(a, a if same in ("all", "arguments") else b)

        return ms.value_and_grad(loss)(Tensor(array(3, seed=number)))

    for number, same in enumerate(["", "all", "first", "held", "arguments", ""] * 3):
        assert_alike(gradients(call, same, number), gradients(call.fn, same, number))
    assert call.report()["eager"] == []


def test_blocks_that_compute_again_and_nested_gradients_run_it_as_it_is():
    call = jit(lambda x: ops.tanh(x) * x)
    x = Tensor(array(3))
    for number in range(3):
        for bend in (lambda f: ms.grad(lambda x: ms.recompute(f, x).sum()),
                     lambda f: ms.grad(lambda x: ms.grad(f)(x).sum()),
                     lambda f: ms.grad(lambda x: f(x) * ms.vmap(f)(x))):
            assert_alike(bend(call)(x + number), bend(call.fn)(x + number))


def test_an_argument_that_the_function_changes():
    def change(x, y):
        x += y
        y[0] = 2.0
        return x * y

    def gradients(call, number):
        def loss(x):
            a, b = x * 2, x + 1
            return ((call(a, b) + a) * b).sum()

        return ms.value_and_grad(loss)(Tensor(array(3, seed=number)))

    call = jit(change)
    for number in range(4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = gradients(call, number)
        assert_alike(found, gradients(change, number))
