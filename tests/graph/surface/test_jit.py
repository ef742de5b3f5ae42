"""`jit`: a compiled function gives what it gives eagerly, and changes what it changes eagerly."""

import threading

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops
from lamella.core.state import state


class Net(nn.Cell):
    def __init__(self, inputs=4, hidden=5, outputs=3):
        super().__init__()
        rng = np.random.default_rng(0)
        self.w1 = Parameter(Tensor(rng.standard_normal((inputs, hidden)), ms.float32))
        self.b1 = Parameter(Tensor(rng.standard_normal(hidden), ms.float32))
        self.w2 = Parameter(Tensor(rng.standard_normal((hidden, outputs)), ms.float32))

    def construct(self, x):
        return ops.relu(x @ self.w1 + self.b1) @ self.w2


def data(count=6, seed=1):
    rng = np.random.default_rng(seed)
    return (Tensor(rng.standard_normal((count, 4)), ms.float32),
            Tensor(rng.integers(0, 3, count), ms.int32))


def make_step(optimizer, rule=lambda g: None):
    net = Net()
    update = optimizer(net.trainable_params())
    bend = ops.InsertGradientOf(rule)
    forward = lambda x, y: ops.cross_entropy(bend(net(x)), y)  # noqa: E731
    gradient = ms.value_and_grad(forward, None, net.trainable_params())

    def step(x, y):
        loss, gradients = gradient(x, y)
        update(ops.clip_by_global_norm(gradients, 1.0))
        return loss

    return net, step


OPTIMIZERS = {
    "momentum": lambda p: nn.Momentum(p, 0.1, 0.9),
    "sgd": lambda p: nn.SGD(p, 0.1),
    "adam": lambda p: nn.Adam(p, 0.01),
    "adam weight decay": lambda p: nn.AdamWeightDecay(p, 0.01, weight_decay=0.1),
    "list of rates": lambda p: nn.Momentum(p, [0.1 / (i + 1) for i in range(100)], 0.9),
    "schedule": lambda p: nn.Momentum(p, nn.ExponentialDecayLR(0.1, 0.9, 2), 0.9),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_fifty_training_steps_agree_with_eager(name):
    eager_net, eager = make_step(OPTIMIZERS[name])
    net, step = make_step(OPTIMIZERS[name])
    compiled = jit(step)
    x, y = data()
    for _ in range(50):
        np.testing.assert_allclose(compiled(x, y).asnumpy(), eager(x, y).asnumpy(), rtol=1e-5)
    for a, b in zip(net.get_parameters(), eager_net.get_parameters(), strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-6)
    report = compiled.report()
    assert report["replays"] == 49 and not report["eager"]


def test_rules_with_branches_on_the_gradient():
    def rule(g):
        if ops.abs(g).max() > 0.1:
            return g * 0.5
        return g * 3.0

    _, eager = make_step(OPTIMIZERS["momentum"], rule)
    _, step = make_step(OPTIMIZERS["momentum"], rule)
    compiled = jit(step)
    x, y = data()
    for _ in range(40):
        np.testing.assert_allclose(compiled(x, y).asnumpy(), eager(x, y).asnumpy(), rtol=1e-5)
    report = compiled.report()
    assert report["traces"] == 2 and report["guard_misses"] >= 1 and not report["eager"]


def test_control_flow_on_tensors():
    @jit
    def f(x, limit):
        count = 0
        while x.sum() < limit:
            x = x * 2
            count += 1
        return x, count

    for start, want in ((1.0, (16.0, 4)), (1.0, (16.0, 4)), (5.0, (10.0, 1)), (9.0, (18.0, 1)),
                        (1.0, (16.0, 4))):
        got, count = f(Tensor([start]), Tensor(10.0))
        assert (float(got), count) == want
    assert f.report()["traces"] == 2 and f.report()["replays"] == 3


def test_gradients_of_every_order_and_form():
    def f(x, y):
        return (x**3 * ops.sin(y)).sum()

    x, y = Tensor([1.0, 2.0]), Tensor([0.5, 0.7])
    for transform in (lambda g: ms.grad(g, (0, 1)), lambda g: ms.value_and_grad(g),
                      lambda g: ms.grad(ms.grad(g)), lambda g: ms.grad(ms.grad(g), 1),
                      lambda g: ms.ops.GradOperation(get_all=True)(g)):
        eager, compiled = transform(f), jit(transform(f))
        for _ in range(3):
            for a, b in zip(_flat(compiled(x, y)), _flat(eager(x, y)), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-6)
        assert compiled.report()["replays"] == 2


def _flat(tree):
    return [a for t in tree for a in _flat(t)] if isinstance(tree, tuple) else [tree.asnumpy()]


def test_bprop_hooks_and_constants():
    class Bent(nn.Cell):
        def __init__(self):
            super().__init__()
            self.hundred = ops.InsertGradientOf(lambda g: 100.0)

        def construct(self, x):
            return self.hundred(x) * 2

    class Ruled(nn.Cell):
        def construct(self, x):
            return x * 2

        def bprop(self, x, out, dout):
            return dout * 7 if x.sum() > 0 else dout * 8

    x = Tensor([1.0, 2.0])
    bent, ruled = jit(ms.grad(Bent())), jit(ms.grad(Ruled()))
    for _ in range(3):
        assert str(bent(x)) == "100.0"
        assert ruled(x).asnumpy().tolist() == [7.0, 7.0]
        assert ruled(-x).asnumpy().tolist() == [8.0, 8.0]


def test_cells_and_their_attributes():
    class Scaled(nn.Cell):
        def __init__(self):
            super().__init__()
            self.factor = 2.0
            self.last = None
            self.count = Parameter(Tensor(0.0), requires_grad=False)

        def construct(self, x, *, bias=0.0):
            self.last = x * 10
            ops.assign(self.count, self.count + 1)
            if self.training:
                return -x
            return x * self.factor + bias

    net = Scaled()
    compiled = jit(net)
    for i in range(1, 4):
        assert compiled(Tensor([float(i)])).asnumpy().tolist() == [2.0 * i]
        assert net.last.asnumpy().tolist() == [10.0 * i] and float(net.count) == i
    net.factor = 5.0
    assert compiled(Tensor([1.0])).asnumpy().tolist() == [5.0]
    assert compiled(Tensor([1.0]), bias=1.0).asnumpy().tolist() == [6.0]
    net.set_train()
    assert compiled(Tensor([1.0])).asnumpy().tolist() == [-1.0]
    net.set_train(False)
    assert compiled(Tensor([1.0])).asnumpy().tolist() == [5.0]
    assert float(net.count) == 7.0


def test_variables_of_a_closure():
    factor = 2.0

    def f(x):
        return x * factor

    compiled = jit(f)
    assert float(compiled(Tensor(1.0))) == 2.0
    factor = 3.0
    assert float(compiled(Tensor(1.0))) == 3.0


def test_methods_are_compiled_for_each_object():
    class Thing:
        def __init__(self, factor):
            self.factor = factor

        @jit
        def scaled(self, x):
            return x * self.factor

    a, b = Thing(Tensor(2.0)), Thing(Tensor(3.0))
    for _ in range(2):
        assert float(a.scaled(Tensor(1.0))) == 2.0 and float(b.scaled(Tensor(1.0))) == 3.0
    assert a.scaled.report()["replays"] == 1
    a.factor = 5.0
    assert float(a.scaled(Tensor(1.0))) == 5.0
    a.factor = 6.0
    assert float(a.scaled(Tensor(1.0))) == 6.0


def test_containers_shapes_and_plain_arguments():
    @jit
    def f(tree, power=2, *, flag=True):
        return {"a": tree["x"][0] ** power, "b": (tree["x"][1], flag, None)}

    for x in (Tensor([2.0]), Tensor([2.0, 3.0])):
        for power in (2, 3):
            for _ in range(2):
                out = f({"x": [x, x * 2]}, power, flag=False)
                assert out["a"].asnumpy().tolist() == [v**power for v in x.asnumpy()]
                assert out["b"][0].asnumpy().tolist() == (x * 2).asnumpy().tolist()
                assert out["b"][1:] == (False, None)
    assert f.report()["traces"] == 4 and f.report()["replays"] == 4


@pytest.mark.parametrize("read", [
    lambda x, i: x[i], lambda x, i: x[:, -i], lambda x, i: x[i, i], lambda x, i: x[[1, 0]],
    lambda x, i: ms.grad(lambda x: (x[i, None] ** 2).sum())(x)])
def test_reading_at_positions_is_part_of_the_graph(read):
    x, compiled = data()[0], jit(read, fullgraph=True)
    for values in ([0, 3], [2, 2], [1, 0, 3], [3, 3, 3, 2]):
        i = Tensor(values)
        np.testing.assert_array_equal(compiled(x, i).asnumpy(), read(x, i).asnumpy())


def test_random_numbers_are_drawn_anew():
    @jit
    def f(x):
        return ops.dropout(x, 0.5, True)

    x = ops.ones((50,), ms.float32)
    ms.set_seed(3)
    f(x)
    a, b = f(x).asnumpy(), f(x).asnumpy()
    assert (a != b).any() and set(np.unique(a)) == {0.0, 2.0}


@pytest.mark.parametrize("compiled", [False, True])
def test_a_gradient_reuses_the_forward_run_of_the_loss(compiled):
    """Steps call the network for the loss, then differentiate it on the same inputs.

    That is one run of it, in which statistics change once, as in MindSpore 2.10 in both modes.
    """
    class Step(nn.TrainOneStepWithLossScaleCell):
        def construct(self, *inputs):
            loss = self.network(*inputs)
            start = ops.ones_like(loss) * self.scale_sense
            self.optimizer(self.grad(self.network, self.weights)(*inputs, start))
            return loss

    norm = nn.BatchNorm1d(2)
    net = nn.SequentialCell(norm, nn.Dense(2, 2, weight_init="ones")).set_train()
    loss = nn.WithLossCell(net, nn.MSELoss())
    step = Step(loss, nn.Momentum(net.trainable_params(), 0.0, 0.9), Tensor(2.0)).set_train()
    x, y = Tensor([[1.0, 2.0], [3.0, 6.0]]), ops.zeros((2, 2))
    loss(x, y)  # a run from outside, which the compiled step must not go on with
    run = jit(step) if compiled else step
    for number in range(2, 5):
        run(x, y)
        np.testing.assert_allclose(norm.moving_mean.numpy(), (1 - 0.9**number) * np.array([2, 4]),
                                   rtol=1e-5)
    if compiled:
        assert run.report()["traces"] == 1 and not run.report()["eager"]


def test_autotuning_draws_no_random_numbers(monkeypatch, tmp_path):
    """Rewritings that are tried, and wrong results that come of the numbers that they draw."""
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path))
    monkeypatch.setattr("lamella.graph.runtime.execution.HOT", 0.0)
    convolve = nn.Conv2d(2, 4, 3, weight_init="ones")
    x = ops.ones((2, 2, 8, 8), ms.float32)

    def f(x):
        return ops.dropout(ops.dropout(convolve(x)), seed=5).sum((0, 2, 3))

    runs = []
    for function in (f, jit(f)):
        ms.set_seed(1)
        runs.append(np.stack([function(x).numpy() for _ in range(8)]))
    np.testing.assert_allclose(runs[1], runs[0], rtol=1e-5)


@pytest.mark.parametrize("use", [print, lambda t: t.asnumpy(), repr,
                                 lambda t: ops.tile(t, (20,)).tolist()])
def test_what_no_graph_can_hold_runs_eagerly_with_one_warning(use, capsys):
    @jit
    def f(x):
        use(x * 2)
        return x + 1

    with pytest.warns(UserWarning, match="runs eagerly: it"):
        assert f(Tensor([1.0])).asnumpy().tolist() == [2.0]
    assert f(Tensor([5.0])).asnumpy().tolist() == [6.0]  # and no second warning
    assert len(f.report()["eager"]) == 1
    with pytest.raises(RuntimeError, match="can't be one graph"):
        jit(f.fn, fullgraph=True)(Tensor([1.0]))


def test_the_warning_names_the_line():
    @jit
    def f(x):
        return x * float(x.asnumpy().sum())

    with pytest.warns(UserWarning, match=r"test_jit.py:\d+"):
        f(Tensor([1.0]))


def test_too_many_recompilations_end_in_eager_runs():
    @jit
    def f(x):
        return x * float(str(int(x)))  # text needs the value

    with pytest.warns(UserWarning, match="recompilation limit is reached: 8 graphs"):
        for i in range(12):
            assert float(f(Tensor(float(i)))) == i * i


def test_a_call_that_raises_leaves_the_parameters_as_eagerly():
    found = []
    for compiled in (jit, lambda fn: fn):
        ms.set_seed(1)
        net = Net()
        update = nn.Momentum(net.trainable_params(), 0.1, 0.9)

        @compiled
        def step(x, net=net, update=update):
            update(tuple(p * 0 + 1 for p in net.trainable_params()))
            raise KeyError("mine")

        for _ in range(2):
            with pytest.raises(KeyError, match="mine"):
                step(Tensor([1.0]))
        found.append([p.asnumpy() for p in (*net.get_parameters(), *update.get_parameters())])
        assert state.trace is None
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_inside_another_compiled_function_it_runs_as_it_is():
    f = jit(lambda x: x * x)
    assert float(jit(ms.grad(f))(Tensor(3.0))) == 6.0
    assert float(jit(lambda x: f(x) + 1)(Tensor(3.0))) == 10.0
    assert f.report()["traces"] == 0


def test_parameters_set_from_outside_are_seen():
    w = Parameter(Tensor([1.0, 2.0]), name="w")
    f = jit(lambda x: x * w)
    for value in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]):
        w.set_data(Tensor(value))
        assert f(Tensor([10.0, 10.0])).asnumpy().tolist() == [10 * v for v in value]
    assert f.report()["traces"] == 1


def test_threads_may_call_one_compiled_function():
    net = Net()
    compiled = jit(net)
    xs = [data(seed=i)[0] for i in range(8)]
    want = [net(x).asnumpy() for x in xs]
    errors = []

    def work(i):
        try:
            for _ in range(30):
                np.testing.assert_allclose(compiled(xs[i]).asnumpy(), want[i], rtol=1e-6)
        except Exception as error:  # noqa: BLE001  reported below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


@pytest.mark.parametrize("call, error, message", [
    (lambda: jit(3), TypeError, "'function' must be a function or a Cell, but got int"),
    (lambda: jit(capture_mode="x"), ValueError, "'capture_mode' must be one of 'ast'.*'x'"),
    (lambda: jit(jit_level="O9"), ValueError, "'jit_level' must be one of"),
    (lambda: jit(backend="tpu"), ValueError, "'backend' must be one of"),
])
def test_errors_say_what_was_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("make, name", [
    (ms.value_and_grad, "value_and_grad of "), (ms.grad, "grad of "), (ms.ops.vmap, "vmap of "),
    (lambda fn: fn, "")])
def test_messages_name_the_differentiated_function(make, name):
    def sum_in_numpy(x):
        return x.sum() * float(x.asnumpy().shape[0])

    step = ms.jit(make(sum_in_numpy))
    assert step.name.startswith(name) and step.name.endswith("sum_in_numpy")
    assert step.name.count(" of ") == bool(name)
