"""`Model` compiles by its own choice, so it computes what the network computes when it is called.

Where MindSpore's graphs mean something else than its eager mode, that holds for `jit` and
GRAPH_MODE alone. The expected numbers are those of MindSpore 2.10, in PYNATIVE_MODE unless named.
"""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.autodiff.tree import tensors
from lamella.insight.gradcheck import check_grads
from lamella.train import Model

A = np.array([[1, 5, 3], [4, 2, 0]], np.float32)


def write_into_copy(x):
    y = x + 0
    part = y[Tensor([0, 1])]
    part[0] = 100
    return y.sum()


def write_into_temporary(x):
    y = x + 0
    y[Tensor([0, 1])][:, 0] = 7
    return y


def write_into_masked(x):
    y = x + 0
    part = y[y > 2]
    part[0] = 50
    return y


def write_into_view(x):
    y = x + 0
    rows, columns = y[0], y.T
    rows[1], columns[0, 0] = 9, 8
    return y


def add_in_place(x):
    y = x + 0
    z = y
    z += 1
    return y


def items_of_list(x):
    y = x + 0
    both = [y, y]
    both[0][0] = 3
    return y


BOTH = {  # what each means eagerly
    "max, first": (lambda x: x.max(-1)[0], [[5, 4]]),
    "max": (lambda x: x.max(-1), [[5, 4], [1, 0]]),
    "min": (lambda x: x.min(1), [[1, 0], [0, 2]]),
    "max, keepdims": (lambda x: x.max(1, True), [[[5], [4]], [[1], [0]]]),
    "max, dim": (lambda x: x.max(dim=1), [[5, 4], [1, 0]]),
    "max, axis": (lambda x: x.max(axis=1), [[5, 4]]),
    "copy": (write_into_copy, [306]),
    "temporary": (write_into_temporary, [[[7, 5, 3], [7, 2, 0]]]),
    "masked": (write_into_masked, [[[1, 50, 3], [4, 2, 0]]]),
    "view": (write_into_view, [[[8, 9, 3], [4, 2, 0]]]),
    "in place": (add_in_place, [[[1, 5, 3], [4, 2, 0]]]),
    "list": (items_of_list, [[[3, 3, 3], [4, 2, 0]]]),
}
GRAPHS = {  # the two kinds that mean something else in graphs
    "max, first": [5], "max": [[5, 4]], "min": [[1, 0]], "max, keepdims": [[[5], [4]]],
    "copy": [15.0], "masked": [[[1, 5, 3], [4, 2, 0]]]}


class Net(nn.Cell):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def construct(self, x):
        return self.function(x)


def same(got: Any, want: Any) -> None:
    found = list(tensors(got))
    assert len(found) == len(want)
    for value, expected in zip(found, want, strict=True):
        np.testing.assert_array_equal(value.asnumpy(), expected)


@pytest.fixture(autouse=True)
def no_mode_chosen():
    """As in a program that has called no ``set_context``."""
    ms.context.chosen.discard("mode")


@pytest.fixture
def graph_mode():
    ms.set_context(mode=ms.GRAPH_MODE)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)
    ms.context.chosen.discard("mode")


@pytest.mark.parametrize("case", BOTH)
def test_prediction_means_what_the_network_means(case):
    function, want = BOTH[case]
    net, made = Net(function), Model(Net(function))
    same(net(Tensor(A)), want)
    for _ in range(3):  # recorded, then replayed
        same(made.predict(Tensor(A)), want)
    (compiled,) = [found for _, found in made._compiled.values()]
    assert compiled.report()["replays"] == 2


@pytest.mark.parametrize("case", GRAPHS)
def test_what_the_program_asks_to_compile_means_what_graphs_mean(case, graph_mode):
    function, _ = BOTH[case]
    net = Net(function)
    same(Model(net).predict(Tensor(A)), GRAPHS[case])
    for _ in range(3):
        same(net(Tensor(A)), GRAPHS[case])


@pytest.mark.parametrize("case", GRAPHS)
def test_jit_means_what_graphs_mean_wherever_it_is_called(case):
    function, eager = BOTH[case]
    step = ms.jit(function)
    for call in (step, pickle.loads(pickle.dumps(ms.jit(write_into_copy)))
                 if case == "copy" else step, Model(Net(step)).predict):
        for _ in range(3):
            same(call(Tensor(A)), GRAPHS[case])
    same(function(Tensor(A)), eager)  # and eager code around it means what it meant


def test_jit_that_runs_eagerly_after_all_means_what_graphs_mean():
    def step(x):
        x.asnumpy()  # no graph can hold this
        return x.max(-1)[0]

    function = ms.jit(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            same(function(Tensor(A)), [5])
            same(Model(Net(step)).predict(Tensor(A)), [[5, 4]])


def test_training_means_what_the_network_means():
    class Trained(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor(np.ones(3, np.float32)))

        def construct(self, x):
            y = x * self.w
            part = y[Tensor([0, 1])]
            part[0] = part[0] * 10
            return y.max(-1)[0].sum() + y.sum()

    def trained(run):
        net = Trained()
        run(net, nn.SGD(net.trainable_params(), 0.01), ms.dataset.NumpySlicesDataset(
            [np.stack([A, A + 1])] * 1, shuffle=False))
        return net.w.asnumpy()

    def by_model(net, optimizer, data):
        Model(net, optimizer=optimizer).train(3, data)

    def by_hand(net, optimizer, data):
        step = ms.value_and_grad(net, None, optimizer.parameters)
        for _ in range(3):
            for (x,) in data.create_tuple_iterator():
                optimizer(step(x)[1])

    np.testing.assert_allclose(trained(by_model), trained(by_hand), rtol=1e-6)


class Raising(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = Parameter(Tensor(0.0))

    def construct(self, x):
        ops.assign_add(self.count, Tensor(1.0))
        if x.sum() > 0:
            raise KeyError("positive")
        return x * self.count


def test_a_step_that_raises_keeps_what_it_has_assigned():
    for called in (lambda net: Model(net).predict, ms.jit):
        net = Raising()
        step = called(net)
        for x in (A, -A, -A, A):
            try:
                step(Tensor(x))
            except KeyError:
                assert x.sum() > 0
        assert float(net.count) == 4


def test_the_check_of_gradients_compares_one_meaning():
    check_grads(lambda x: (x.max(-1)[0] ** 2).sum(), Tensor(A))


@pytest.mark.parametrize("options, keeps, level, full", [
    ({}, False, "O1", False), ({}, True, "O0", False), ({"jit_level": "O1"}, True, "O0", False),
    ({"jit_level": "O0"}, False, "O0", False), ({"jit_level": "O0"}, True, "O0", False),
    ({"jit_level": "O1"}, False, "O1", False), ({"jit_syntax_level": "STRICT"}, False, "O1", True),
    ({"jit_syntax_level": "LAX"}, False, "O1", False)])
def test_how_steps_are_compiled(options, keeps, level, full):
    """A run that goes on bit for bit after a kill takes no way that was found by timing."""
    net = nn.Dense(3, 1)
    if options:
        net.set_jit_config(ms.JitConfig(**options))
    made: Any = Model(net)
    made._keeper = object() if keeps else None
    step = made._runner(net)
    assert (step.level, step.fullgraph) == (level, full) and made._runner(net) is step
    made._keeper = None if keeps else object()
    assert made._runner(net) is not step
    assert made._runner(nn.Dense(3, 1)) is not made._runner(net)
