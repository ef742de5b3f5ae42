"""Model: its loops against what MindSpore 2.10 does, compiled against eager, and its errors."""

import json
import pathlib

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, context, dataset, nn
from lamella.train import (
    Callback,
    DatasetHelper,
    DynamicLossScaleManager,
    EarlyStopping,
    FixedLossScaleManager,
    History,
    LambdaCallback,
    LearningRateScheduler,
    LossMonitor,
    Model,
    ReduceLROnPlateau,
    TimeMonitor,
    data_sink,
)

RECORDED = json.loads((pathlib.Path(__file__).parent / "recorded_fit.json").read_text())
X = np.arange(24, dtype=np.float32).reshape(12, 2) / 10
Y = X @ np.array([[1.0], [-2.0]], np.float32)


def data(size=4, x=X, y=Y):
    return dataset.NumpySlicesDataset((x, y), shuffle=False).batch(size)


def model(rate=0.05, metrics=("mae", "loss"), **keywords):
    net = nn.Dense(2, 1, weight_init="zeros", bias_init="zeros")
    optimizer = nn.Momentum(net.trainable_params(), rate, 0.9)
    return Model(net, nn.MSELoss(), optimizer, metrics=set(metrics), **keywords)


def losses_into(kept):
    return LambdaCallback(on_train_step_end=lambda run: kept.append(
        float(run.original_args().net_outputs)))


@pytest.fixture
def eager():
    """As after ``set_context(mode=PYNATIVE_MODE)``."""
    context.chosen.add("mode")
    yield
    context.chosen.discard("mode")


class Watching(Callback):
    """Keeps what each hook saw."""

    def __init__(self):
        self.order, self.keys = [], {}


def _hook(name):
    def seen(self, run_context):
        params = run_context.original_args()
        self.order.append(f"{name} {params.get('cur_epoch_num')} {params.get('cur_step_num')} "
                          f"{params.get('mode')}")
        self.keys[name.removeprefix("on_")] = sorted(params)
    return seen


for _name in dir(Callback):
    if _name.startswith("on_"):
        setattr(Watching, _name, _hook(_name))


def test_fit_calls_hooks_in_the_recorded_order_with_the_recorded_parameters(capsys):
    watching, history = Watching(), History()
    made = model()
    made.fit(4, data(), data(6), valid_frequency=2, callbacks=[LossMonitor(2), watching, history])
    assert watching.order == RECORDED["order"]
    for name, keys in RECORDED["keys"].items():
        if name.startswith("train"):
            assert watching.keys[name] == keys, name
    alone = Watching()
    made.eval(data(6), alone)
    for name in ("eval_step_end", "eval_end"):
        assert alone.keys[name] == RECORDED["keys"][name], name
    lines = capsys.readouterr().out.splitlines()
    assert [line.rpartition(" ")[0] for line in lines if line.startswith("epoch")] == [
        "epoch: 1 step: 2, loss is", "epoch: 2 step: 1, loss is", "epoch: 2 step: 3, loss is",
        "epoch: 3 step: 2, loss is", "epoch: 4 step: 1, loss is", "epoch: 4 step: 3, loss is"]
    assert float(lines[0].rpartition(" ")[2]) == pytest.approx(1.4808051586151123, rel=1e-5)
    assert sum(line.startswith("Eval result: epoch ") for line in lines) == 2
    assert history.epoch == {"epoch": [1, 2, 3, 4]}
    np.testing.assert_allclose(history.history["net_output"], [
        1.3688329458236694, 6.63434362411499, 4.5702738761901855, 0.0383664146065712], rtol=1e-4)
    np.testing.assert_allclose(history.history["mae"], [0.620720386505127, 0.5791987180709839],
                               rtol=1e-5)


def test_compiled_steps_are_the_eager_ones(eager):
    runs = []
    for compiled in (False, True):
        if compiled:
            context.chosen.discard("mode")
        kept, made = [], model(loss_scale_manager=FixedLossScaleManager(8.0, False))
        # the last batch is smaller
        made.train(3, data(5), losses_into(kept))
        runs.append((kept, made.predict(Tensor(X)).asnumpy(), made.eval(data(5))))
        used = [step for _, step in made._compiled.values()]
        assert sum(step.report()["replays"] for step in used) > 0 if compiled else not used
    np.testing.assert_allclose(runs[0][0], runs[1][0], rtol=1e-6)
    np.testing.assert_allclose(runs[0][1], runs[1][1], rtol=1e-6)
    assert runs[0][2] == pytest.approx(runs[1][2], rel=1e-6)


def test_training_and_evaluation_have_their_modes():
    seen = []

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.fc = nn.Dense(2, 1)

        def construct(self, x):
            seen.append(self.training)
            return self.fc(x)

    context.chosen.add("mode")
    try:
        net = Net()
        made = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.01), metrics={"mae"})
        made.fit(2, data(12), data(12))
        made.predict(Tensor(X))
    finally:
        context.chosen.discard("mode")
    assert seen == [True, False, True, False, False]


def test_sink_mode_goes_on_in_the_dataset():
    rows = []

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(Tensor(0.0), name="w")

        def construct(self, x, y):
            return (self.w * x).sum() + y.sum()

    class Rows(Callback):
        def on_train_step_end(self, run_context):
            params = run_context.original_args()
            rows.append((params.cur_epoch_num, params.cur_step_num, params.batch_num,
                         float(params.train_dataset_element[0][0, 0])))

    net = Net()
    made = Model(net, optimizer=nn.SGD(net.trainable_params(), 0.0))
    made.train(2, data(4), Rows(), dataset_sink_mode=True, sink_size=2)
    starts = [float(X[place, 0]) for place in (0, 4, 8, 0)]
    assert rows == [(1, 1, 2, starts[0]), (1, 2, 2, starts[1]), (2, 3, 2, starts[2]),
                    (2, 4, 2, starts[3])]
    helper = DatasetHelper(data(4), dataset_sink_mode=True, sink_size=2)
    read = [float(row[0][0, 0]) for _ in range(2) for row in helper]
    assert read == starts and helper.sink_size() == 2
    step = data_sink(lambda x, y: x[0, 0], data(4), sink_size=2, jit_config=ms.JitConfig())
    assert [float(step()) for _ in range(3)] == [starts[1], starts[3], starts[2]]


def test_a_callback_stops_training():
    kept = []

    class Stop(Callback):
        def on_train_step_end(self, run_context):
            if run_context.original_args().cur_step_num == 4:
                run_context.request_stop()

    model().train(5, data(4), [losses_into(kept), Stop()])
    assert len(kept) == 4


def test_learning_rates_that_callbacks_change(capsys):
    made = model(metrics=["mae"])
    rates = []
    made.train(2, data(), [LearningRateScheduler(lambda rate, step: rate * 0.9), LambdaCallback(
        on_train_step_end=lambda run: rates.append(
            str(run.original_args().optimizer.learning_rate.value())))])
    assert [float(r) for r in rates] == pytest.approx(
        [0.045, 0.0405, 0.03645, 0.032805, 0.0295245, 0.02657205], rel=1e-6)
    worse = model(rate=0.0)  # nothing changes, so nothing improves
    worse._optimizer.learning_rate.set_data(Tensor(0.5))
    worse._network.weight.requires_grad = worse._network.bias.requires_grad = False
    stopped = EarlyStopping("mae", patience=3, verbose=True)
    worse.fit(9, data(12, X, np.full_like(Y, 1000.0)), data(12, X * 0, Y * 0 + 1), callbacks=[
        ReduceLROnPlateau("mae", patience=1, factor=0.5, mode="max", verbose=True, cooldown=1),
        stopped])
    out = capsys.readouterr().out
    assert stopped.stopped_epoch > 1 and f"Epoch {stopped.stopped_epoch:05d}: early stopping" in out
    assert "ReduceLROnPlateau reducing learning rate to" in out


def test_early_stopping_waits_and_restores_the_best():
    values = iter([3.0, 2.0, 2.5, 2.6, 1.0])

    class Given(ms.train.Metric):
        def clear(self):
            pass

        def update(self, *inputs):
            pass

        def eval(self):
            return next(values)

    net = nn.Dense(2, 1)
    made = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.01),
                 metrics={"perplexity": Given()})
    weights = []
    stop = EarlyStopping("perplexity", patience=2, restore_best_weights=True)
    made.fit(9, data(12), data(12), callbacks=[LambdaCallback(
        on_train_epoch_end=lambda run: weights.append(net.weight.asnumpy().copy())), stop])
    assert len(weights) == 4 and stop.stopped_epoch == 4
    np.testing.assert_array_equal(net.weight.asnumpy(), weights[1])  # of the epoch with 2.0
    # without patience it still goes on as long as the value improves
    values = iter([3.0, 2.0, 1.0, 1.5])
    count = []
    made.fit(9, data(12), data(12), callbacks=[EarlyStopping("perplexity"), LambdaCallback(
        on_train_epoch_end=lambda run: count.append(1))])
    assert len(count) == 4
    absent = EarlyStopping("speed")
    made = model(metrics=["mae"])
    made.fit(2, data(), data(), callbacks=absent)
    assert absent.stopped_epoch == 0


def test_the_loss_of_evaluation_is_the_mean_over_batches():
    seen = []
    made = model(metrics=["mae"])
    made.fit(1, data(), data(4), callbacks=LambdaCallback(
        on_train_epoch_end=lambda run: seen.append(run.original_args().eval_results)))
    losses = []
    Model(made._network, nn.MSELoss(), metrics={"loss"}).eval(data(4), LambdaCallback(
        on_eval_step_end=lambda run: losses.append(float(run.original_args().net_outputs[0]))))
    assert set(seen[0]) == {"mae", "eval_loss"} and len(losses) == 3
    assert seen[0]["eval_loss"] == pytest.approx(np.mean(losses), rel=1e-6)


def test_times_and_losses_are_printed_as_in_mindspore(capsys):
    import re

    model().train(1, data(), [TimeMonitor(data_time=True), LossMonitor()])
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"epoch: 1 step: 1, loss is [\d.]+", lines[0])
    assert re.fullmatch(r"Train epoch time: +[\d.]+ ms, per step time: +[\d.]+ ms "
                        r"\(data time: +[\d.]+ ms\)", lines[-1])
    with pytest.raises(ValueError, match="In epoch: 1 step: 1, loss is NAN or INF"):
        model().train(1, data(4, X, Y * np.float32(np.nan)), LossMonitor())


def test_dynamic_loss_scale():
    manager, outputs = DynamicLossScaleManager(1024, 2, 2), []
    made = model(loss_scale_manager=manager)
    made.train(2, data(), LambdaCallback(on_train_step_end=lambda run: outputs.append(
        [str(part) for part in run.original_args().net_outputs])))
    assert [o[1:] for o in outputs][:2] == [["False", "1024.0"], ["False", "1024.0"]]
    assert manager.get_loss_scale() == 1024 * 8


def test_amp_levels_train():
    for level in ("O0", "O1", "O2", "O3"):
        kept = []
        net = nn.SequentialCell(nn.Dense(2, 8), nn.ReLU(), nn.Dense(8, 1))
        made = Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.01, 0.9),
                     metrics={"mae"}, amp_level=level)
        made.train(4, data(), LambdaCallback(on_train_epoch_end=lambda run, kept=kept: kept.append(
            ms.train.callback.base._handle_loss(run.original_args().net_outputs))))
        assert float(kept[-1]) < float(kept[0]), level
        assert made.eval(data())["mae"] < 2


def test_a_model_that_builds_its_own_training_network():
    class Halved(Model):
        def _build_train_network(self):
            self._check_kwargs({"keep_batchnorm_fp32": self._keep_bn_fp32})
            assert self._loss_scale_manager_set and self._loss_scale_manager is manager
            inner = nn.WithLossCell(self._network, self._loss_fn)
            return nn.TrainOneStepCell(inner, self._optimizer, sens=0.5)

    manager = FixedLossScaleManager(1.0, drop_overflow_update=False)
    weights = []
    for kind, rate in ((Halved, 0.1), (Model, 0.05)):
        net = nn.Dense(2, 1, weight_init="zeros", bias_init="zeros")
        optimizer = nn.Momentum(net.trainable_params(), rate, 0.9)
        kind(net, nn.MSELoss(), optimizer, loss_scale_manager=manager).train(1, data())
        weights.append(net.weight.asnumpy())
    np.testing.assert_allclose(*weights, rtol=1e-5)


def test_an_evaluation_network_of_ones_own():
    net = nn.Dense(2, 1)

    class Eval(nn.Cell):
        def construct(self, x, y):
            return (x.sum(), y, y + 1)

    made = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1), metrics={"mae"},
                 eval_network=Eval(), eval_indexes=[0, 1, 2])
    assert made.eval(data()) == {"mae": pytest.approx(1.0)}
    with pytest.raises(ValueError, match="'eval_indexes' must be None or a list of three"):
        Model(net, metrics={"mae"}, eval_network=Eval(), eval_indexes=[0, 1])


def test_what_does_not_fit_is_refused(capfd):
    net, optimizer = nn.Dense(2, 1), nn.SGD(nn.Dense(2, 1).trainable_params(), 0.1)
    with pytest.raises(TypeError, match="'network' must be of type Cell"):
        Model(3)
    with pytest.raises(ValueError, match="keywords can be loss_scale_manager"):
        Model(net, speed=3)
    with pytest.raises(ValueError, match="'amp_level' needs an 'optimizer'"):
        Model(net, amp_level="O2")
    with pytest.raises(ValueError, match="'loss_scale_manager' needs an 'optimizer'"):
        Model(net, loss_scale_manager=FixedLossScaleManager())
    with pytest.raises(ValueError, match="'metrics' need an 'eval_network', or a 'loss_fn'"):
        Model(net, metrics={"mae"})
    with pytest.raises(TypeError, match="'metrics' must be None, a dict or a set"):
        Model(net, nn.MSELoss(), metrics="mae")
    made = Model(net, nn.MSELoss(), optimizer)
    with pytest.raises(ValueError, match="must be made with 'metrics'"):
        made.eval(data())
    with pytest.raises(ValueError, match="must be made with 'metrics'"):
        made.fit(1, data(), data())
    with pytest.raises(ValueError, match="'epoch' must be above 'initial_epoch', but got 2 and 2"):
        made.train(2, data(), initial_epoch=2)
    for epoch in (0, -1, 1.5):
        with pytest.raises((ValueError, TypeError), match="epoch"):
            made.train(epoch, data())
    for size in (0, -2):
        with pytest.raises(ValueError, match=f"'sink_size' must be -1 or above 0, but got {size}"):
            made.train(1, data(), sink_size=size)
        with pytest.raises(ValueError, match=f"'sink_size' must be -1 or above 0, but got {size}"):
            DatasetHelper(data(), sink_size=size)
    with pytest.raises(TypeError, match="elements must be Callbacks, but got int"):
        made.train(1, data(), [3])
    with pytest.raises(ValueError, match="must have two columns, data and label, but it has 1"):
        made.train(1, dataset.NumpySlicesDataset((X,), shuffle=False).batch(4))
    used = data()
    made.train(1, used)
    with pytest.raises(RuntimeError, match="had been used in other model"):
        model().train(1, used)
    with pytest.raises(ValueError, match="can not be an empty Tensor"):
        made.predict(Tensor(X[:0]))
    with pytest.raises(RuntimeError, match="only supports 'semi_auto_parallel'"):
        made.infer_train_layout(data())

    class Old(Callback):
        def step_end(self, run_context):
            pass

    with pytest.raises(ValueError, match=r"Old callback, \{'step_end'\} methods"):
        model().fit(1, data(), callbacks=Old())
    made.train(1, data(), Old())
    assert "Old callback, {'step_end'} methods" in capfd.readouterr().err


class Modes(nn.Cell):
    """Keeps the mode of each call: T in training, e in evaluation; small letters for its layers."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(2, 4, weight_init="ones", bias_init="zeros")
        self.norm, self.drop, self.seen = nn.BatchNorm1d(4), nn.Dropout(p=0.5), []

    def construct(self, x):
        self.seen.append("".join("T" if c.training else "e" for c in (self, self.norm, self.drop)))
        return self.drop(self.norm(self.fc(x))).sum(1, keepdims=True)


class Nested(Callback):
    """A client's callback: it evaluates or predicts after an epoch and after each second step."""

    def __init__(self, model, act):
        self.model, self.act = model, act

    def on_train_step_end(self, run_context):
        if run_context.original_args().cur_step_num % 2 == 1:
            self.act(self.model)

    def on_train_epoch_end(self, run_context):
        self.act(self.model)


@pytest.mark.parametrize("act, calls", [
    (lambda model: model.eval(data()), 3), (lambda model: model.predict(Tensor(X[:4])), 1)],
    ids=["eval", "predict"])
def test_a_step_after_a_nested_evaluation_trains(eager, act, calls):
    net = Modes()
    made = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.01), metrics={"loss"})
    made.train(2, data(), callbacks=[Nested(made, act)])
    other = ["eee"] * calls
    assert net.seen == ["TTT", *other, "TTT", "TTT", *other, *other,  # steps 1, 3, the epoch's end
                        "TTT", "TTT", *other, "TTT", *other]  # step 5, the epoch's end


def test_a_step_after_the_evaluation_of_fit_trains(eager):
    net = Modes()
    made = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.01), metrics={"loss"})
    made.fit(2, data(), data())
    assert net.seen == (["TTT"] * 3 + ["eee"] * 3) * 2
    assert made.train_network.training and not net.training  # as in 2.10 until the next step


def test_statistics_after_a_callback_that_evaluates_are_those_of_mindspore():
    """Compiled too; recorded from 2.10, where 0.75 (one step's) is what evaluation mode leaves."""
    net = nn.SequentialCell(nn.Dense(3, 4, weight_init="ones", bias_init="zeros"),
                            nn.BatchNorm1d(4), nn.Dropout(p=0.5))
    made = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.0), metrics={"loss"})
    x = np.arange(24, dtype=np.float32).reshape(8, 3)
    rows = [data(2, x, np.ones((8, 4), np.float32)) for _ in range(2)]
    made.train(2, rows[0], callbacks=[LambdaCallback(
        on_train_step_end=lambda run: made.eval(rows[1]))])
    np.testing.assert_allclose(net[1].moving_mean.asnumpy(), 20.9948, rtol=1e-5)


def test_a_layer_that_was_frozen_stays_frozen_until_the_kind_of_step_changes(eager):
    net = Modes()
    made = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.01), metrics={"loss"})
    made.train(1, data(), callbacks=[LambdaCallback(
        on_train_epoch_begin=lambda run: net.norm.set_train(False))])
    assert net.seen == ["TeT"] * 3
    made.predict(Tensor(X[:4]))
    net.set_train(True)
    made.predict(Tensor(X[:4]))  # as in MindSpore 2.10: the program has chosen the mode
    assert net.seen[3:] == ["eee", "TTT"]


def test_build_says_what_training_would():
    made = model()
    assert made.build(data()) is made.build(data(), data()) is made.build(None, data()) is None
    for given, options, error, text in (
            ((None, None), {}, ValueError, "give 'train_dataset', 'valid_dataset' or both"),
            ((data(),), {"epoch": 0}, ValueError, "epoch"),
            ((data(),), {"epoch": 1.5}, TypeError, "epoch"),
            ((data(),), {"sink_mode": 1}, TypeError, "dataset_sink_mode|sink_mode"),
            ((data(),), {"sink_size": -3}, ValueError, "sink_size")):
        with pytest.raises(error, match=text):
            made.build(*given, **options)
    unmeasured = Model(nn.Dense(2, 1), nn.MSELoss())
    assert unmeasured.build(data()) is None
    with pytest.raises(RuntimeError, match="with a 'valid_dataset' the Model must be made with"):
        unmeasured.build(data(), data())
