"""GRAPH_MODE: what is called at top level runs compiled, with the same results."""

import copy
import gc
import pickle
import threading
import warnings
import weakref

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, context, nn, ops

from ...zygote import run as python

X = ops.ones((4, 3))
Y = ops.zeros((4, 2))


@pytest.fixture(autouse=True)
def graph_mode():
    with context._settings.kept():
        ms.set_context(mode=ms.GRAPH_MODE)
        yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def eagerly(function, *args):
    ms.set_context(mode=ms.PYNATIVE_MODE)
    try:
        return function(*args)
    finally:
        ms.set_context(mode=ms.GRAPH_MODE)


def ran(compiled, traces, replays):
    report = compiled.report()
    assert not report["eager"], report
    assert (report["traces"], report["replays"]) == (traces, replays), report


def only(fn):
    """The one compiled gradient that a function keeps."""
    (compiled,) = fn.__dict__["_compiled_gradients"].values()
    return compiled


def dense(**kwargs):
    return nn.Dense(3, 2, weight_init="ones", bias_init="zeros", **kwargs)


def test_a_cell_called_at_top_level_is_compiled():
    net = nn.SequentialCell(dense(), nn.ReLU())
    want = eagerly(net, X).asnumpy()
    assert "_compiled_whole" not in net.__dict__
    for _ in range(3):
        assert (net(X).asnumpy() == want).all()
    ran(net._compiled_whole, 1, 2)
    assert "_compiled_whole" not in net[0].__dict__  # part of the whole
    net(X[:2])
    ran(net._compiled_whole, 2, 2)


def test_functions_run_eagerly_and_cells_inside_compiled():
    net, calls = dense(), []

    def f(x):
        calls.append(1)
        return net(x) + net(x * 2)

    for _ in range(3):
        f(X)
    assert len(calls) == 3
    ran(net._compiled_whole, 1, 5)


@pytest.mark.parametrize("make", [
    lambda net: ms.grad(net), lambda net: ms.value_and_grad(net, None, net.trainable_params()),
    lambda net: ops.GradOperation(get_all=True)(net),
    lambda net: ops.GradOperation(get_by_list=True)(net, net.trainable_params()),
    lambda net: ms.grad(net.construct),
])
def test_gradients_at_top_level_are_compiled(make):
    net = dense()
    gradient = make(net)
    want = eagerly(gradient, X)
    for _ in range(3):
        got = gradient(X)
    assert str(got) == str(want)
    ran(only(net), 1, 2)


def test_a_gradient_function_made_in_each_step_is_one_graph():
    net = dense()

    def loss(x):
        return (net(x) ** 2).sum()

    for _ in range(3):
        ms.value_and_grad(loss, None, net.trainable_params())(X)
        ops.GradOperation()(loss)(X)
    compiled = loss.__dict__["_compiled_gradients"]
    assert len(compiled) == 2
    for one in compiled.values():
        ran(one, 1, 2)
    assert "_compiled_whole" not in net.__dict__


def test_gradients_of_gradients_are_one_graph():
    def cube(x):
        return x * x * x

    second = ms.grad(ms.grad(cube))
    for _ in range(3):
        assert float(second(Tensor(2.0))) == 12.0
    assert "_compiled_gradients" not in cube.__dict__


def test_training_by_functions():
    def train(steps):
        ms.set_seed(1)
        net = nn.Dense(3, 2)
        update = nn.Adam(net.trainable_params(), 0.1)
        gradient = ms.value_and_grad(lambda x, y: ((net(x) - y) ** 2).mean(), None,
                                     update.parameters)
        losses = []
        for _ in range(steps):
            loss, gradients = gradient(X, Y)
            update(gradients)
            losses.append(float(loss))
        return losses, update

    want, _ = eagerly(train, 5)
    losses, update = train(5)
    np.testing.assert_allclose(losses, want, rtol=1e-5)
    ran(update._compiled_whole, 1, 4)


def loss_cells(net):
    with_loss = nn.WithLossCell(net, nn.MSELoss())
    sgd = nn.SGD(net.trainable_params(), 0.1)
    return {
        "WithLossCell": with_loss,
        "WithEvalCell": nn.WithEvalCell(net, nn.MSELoss()),
        "WithGradCell": nn.WithGradCell(net, nn.MSELoss()),
        "ForwardValueAndGrad": nn.ForwardValueAndGrad(with_loss, net.trainable_params(),
                                                      get_by_list=True),
        "TrainOneStepCell": nn.TrainOneStepCell(with_loss, sgd),
        "TrainOneStepCell with gradients": nn.TrainOneStepCell(with_loss, sgd, return_grad=True),
        "TrainOneStepWithLossScaleCell": nn.TrainOneStepWithLossScaleCell(
            with_loss, sgd, nn.DynamicLossScaleUpdateCell(1024.0, 2, 2)),
        "fixed scale": nn.TrainOneStepWithLossScaleCell(with_loss, sgd, Tensor(8.0)),
    }


@pytest.mark.parametrize("name", loss_cells(dense()))
def test_cells_around_a_network_compile_as_a_whole(name):
    eager_net, net = dense(), dense()
    eager_cell, cell = loss_cells(eager_net)[name], loss_cells(net)[name]
    for _ in range(4):
        assert str(cell(X, Y)) == str(eagerly(eager_cell, X, Y))
    for a, b in zip(net.get_parameters(), eager_net.get_parameters(), strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6)
    ran(cell._compiled_whole, 1, 3)
    assert "_compiled_whole" not in net.__dict__


def test_the_mode_may_change_at_any_time():
    net = dense()
    gradient = ms.grad(net)
    want = [net(X).asnumpy(), gradient(X).asnumpy()]
    for mode, replays in ((ms.GRAPH_MODE, 2), (ms.PYNATIVE_MODE, 2), (ms.GRAPH_MODE, 4)):
        ms.set_context(mode=mode)
        for _ in range(2):
            for got, wanted in zip((net(X), gradient(X)), want, strict=True):
                np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-6)
        assert net.__dict__["_compiled_whole"].statistics.replays == replays
    assert net.__dict__["_compiled_whole"].statistics.traces == 1


@pytest.mark.parametrize("first", [context.PYNATIVE_MODE, context.GRAPH_MODE])
def test_a_call_that_a_program_assigns_stays_in_both_modes(first, monkeypatch):
    ms.set_context(mode=first)
    calls, own = [], nn.Cell.__call__

    def noted(cell, *args):
        calls.append(type(cell).__name__)
        return own(cell, *args)

    monkeypatch.setattr(nn.Cell, "__call__", noted)
    net = nn.ReLU()
    for mode in (context.GRAPH_MODE, context.PYNATIVE_MODE, context.GRAPH_MODE):
        ms.set_context(mode=mode)
        assert net(Tensor([-1.0, 1.0])).asnumpy().tolist() == [0.0, 1.0]
    assert calls == ["ReLU"] * 3
    ms.set_context(mode=first)  # where `own` is what stands there


def test_what_cannot_be_one_graph_runs_eagerly_as_a_whole():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.layer = dense()

        def construct(self, x):
            return self.layer(x) * float(x.asnumpy().sum())

    net = Net()
    with pytest.warns(UserWarning, match="'Net' runs eagerly: it hands a tensor to NumPy"):
        net(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert net(X).asnumpy().tolist() == [[36.0, 36.0]] * 4
    assert "_compiled_whole" not in net.layer.__dict__
    strict = Net()
    ms.set_context(jit_syntax_level=ms.STRICT)
    with pytest.raises(RuntimeError, match="'Net' can't be one graph"):
        strict(X)


def test_each_cell_says_how_it_is_compiled():
    first, second, third = dense(), dense(), dense()
    first.set_jit_config(ms.JitConfig(jit_level="O0"))
    first(X)
    second.set_jit_config(ms.JitConfig(jit_level="O1", jit_syntax_level="STRICT"))
    second(X)
    ms.set_context(jit_level="O1")
    third(X)
    assert [c._compiled_whole.level for c in (first, second, third)] == ["O0", "O1", "O1"]
    assert [c._compiled_whole.fullgraph for c in (first, second, third)] == [False, True, False]
    ms.set_context(jit_level="", jit_config={"jit_level": "O1"})
    fourth = dense()
    fourth(X)
    assert fourth._compiled_whole.level == "O1"


def test_declared_inputs_are_handed_on():
    net = dense()
    net.set_inputs(Tensor(shape=[None, 3], dtype=ms.float32))
    net(X)
    assert net._compiled_whole.dynamic == [(None, 3)]
    net.set_inputs(x=Tensor(shape=[None, None], dtype=ms.float32))
    assert "_compiled_whole" not in net.__dict__
    net(X), net(X[:2])
    assert net._compiled_whole.dynamic == [(None, None)]
    gradient = ms.grad(net)
    gradient(X)
    assert only(net).dynamic == [(None, None)]


def test_recorded_runs_and_own_call():
    class Shouting(nn.Cell):
        def __call__(self, x):
            return super().__call__(x) * 2

        def construct(self, x):
            return x + 1

    net = Shouting()
    assert float(net(Tensor(1.0))) == 4.0 and float(net(Tensor(2.0))) == 6.0
    ran(net._compiled_whole, 1, 1)
    trained = dense().set_grad()
    trained(X)
    assert str(ms.grad(trained)(X)) == str(eagerly(ms.grad(trained), X))
    assert "_run_of_set_grad" not in trained.__dict__


def test_cells_with_graphs_are_copied_pickled_and_freed():
    net = dense()
    net(X), ms.grad(net)(X), ms.grad(net.construct)(X)
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        twin.weight.set_data(Tensor(np.full((2, 3), 2.0), ms.float32))
        for _ in range(2):
            assert twin(X).asnumpy().tolist() == [[6.0, 6.0]] * 4
            assert net(X).asnumpy().tolist() == [[3.0, 3.0]] * 4
            assert ms.grad(twin)(X).asnumpy().tolist() == [[4.0] * 3] * 4
    twin = copy.copy(net)
    twin.training = True
    twin(X), ms.grad(twin)(X)
    assert twin._compiled_whole is not net._compiled_whole
    alive = weakref.ref(net), weakref.ref(net.weight)
    del net, twin
    gc.collect()
    assert alive[0]() is None and alive[1]() is None


def test_threads():
    nets = [dense() for _ in range(3)]
    errors = []

    def work(net):
        try:
            for n in (1, 2, 3) * 4:
                x = ops.ones((n, 3)) * n
                assert net(x).asnumpy().tolist() == [[3.0 * n] * 2] * n
                assert ms.grad(net)(x).asnumpy().tolist() == [[2.0] * 3] * n
        except BaseException as error:  # noqa: BLE001  reported below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(net,)) for net in nets * 2]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_errors_are_those_of_eager_calls():
    net = dense()
    with pytest.raises(ValueError, match=r"For 'Dense'|For 'dense'|shape|matmul"):
        net(ops.ones((2, 5)))
    with pytest.raises(TypeError):
        net()
    with pytest.raises(RuntimeError, match="'grad_position' 3 is out of range"):
        ms.grad(net, 3)(X)
    assert net(X).asnumpy().tolist() == [[3.0, 3.0]] * 4


def test_a_program_that_starts_in_graph_mode(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import mindspore as ms\n"
        "ms.set_context(mode=ms.GRAPH_MODE, device_target='CPU', save_graphs=False,\n"
        "               jit_config={'jit_level': 'O0'})\n"
        "net = ms.nn.Dense(2, 1, weight_init='ones')\n"
        "for i in range(3): print(net(ms.ops.ones((1, 2))))\n"
        "print(net._compiled_whole.report()['replays'])\n")
    done = python("-m", "lamella", "run", program)
    assert done.stdout.split("\n")[3] == "2", done.stderr
    assert done.stderr == ""


def test_gradients_of_several_methods_of_an_object_have_a_graph_each():
    class Both(nn.Cell):
        def __init__(self):
            super().__init__()
            self.scale = ms.Parameter(Tensor(2.0))

        def first(self, x):
            return (x * self.scale).sum()

        def second(self, x):
            return (x * x * self.scale).sum()

    net, other = Both(), Both()
    for _ in range(3):
        for one in (net, other):
            assert ms.grad(one.first)(X).tolist() == [[2.0] * 3] * 4
            assert ms.grad(one.second)(X).tolist() == [[4.0] * 3] * 4
    for one in (net, other):
        kept = one.__dict__["_compiled_gradients"].values()
        assert {compiled.name.rpartition(".")[2] for compiled in kept} == {"first", "second"}
        for compiled in kept:
            ran(compiled, 1, 2)
