"""Model: which rows, epochs and results its loops take, and what callbacks see of them."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, context, dataset, nn
from lamella.train import (
    Callback,
    DynamicLossScaleManager,
    LambdaCallback,
    Metric,
    Model,
    TimeMonitor,
)

X = np.arange(24, dtype=np.float32).reshape(12, 2) / 10
Y = X @ np.array([[1.0], [-2.0]], np.float32)


@pytest.fixture(autouse=True)
def eager():
    """Nothing is compiled: what is looked at is the same."""
    context.chosen.add("mode")
    yield
    context.chosen.discard("mode")


def data(size=4, x=X, y=Y):
    return dataset.NumpySlicesDataset((x, y), shuffle=False).batch(size)


def model(metrics=("mae",), rate=0.01, **keywords):
    net = nn.Dense(2, 1, weight_init="zeros", bias_init="zeros")
    return Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), rate), metrics=set(metrics),
                 **keywords)


class Evaluations(Callback):
    """Keeps what a function finds in the parameters at the end of each evaluation."""

    def __init__(self, find):
        self.find, self.found = find, []

    def on_eval_end(self, run_context):
        self.found.append(self.find(run_context.original_args()))


class Steps(Callback):
    def __init__(self):
        self.seen, self.about = [], []

    def on_train_step_end(self, run_context):
        params = run_context.original_args()
        row = int(params.train_dataset_element[0][0, 0].asnumpy() * 5 + 0.5)  # its number
        self.seen.append((params.cur_epoch_num, params.cur_step_num, row))

    def on_train_epoch_end(self, run_context):
        params = run_context.original_args()
        self.about.append((params.epoch_num, params.batch_num, params.mode,
                           params.dataset_sink_mode, params.device_number, params.parallel_mode))


@pytest.mark.parametrize("options, wanted, epochs, size", [
    ({}, [(1, 1, 0), (1, 2, 4), (1, 3, 8), (2, 4, 0), (2, 5, 4), (2, 6, 8)], 2, 3),
    ({"initial_epoch": 1}, [(2, 1, 0), (2, 2, 4), (2, 3, 8)], 1, 3),
    ({"sink_size": 1}, [(1, 1, 0), (1, 2, 4), (1, 3, 8), (2, 4, 0), (2, 5, 4), (2, 6, 8)], 2, 3),
    ({"sink_size": 1, "dataset_sink_mode": True}, [(1, 1, 0), (2, 2, 4)], 2, 1),
    ({"dataset_sink_mode": True},
     [(1, 1, 0), (1, 2, 4), (1, 3, 8), (2, 4, 0), (2, 5, 4), (2, 6, 8)], 2, 3),
    ({"sink_size": 2, "dataset_sink_mode": True, "initial_epoch": 1}, [(2, 1, 0), (2, 2, 4)], 1, 2),
    ({"sink_size": 4, "dataset_sink_mode": True, "initial_epoch": 1},
     [(2, 1, 0), (2, 2, 4), (2, 3, 8), (2, 4, 0)], 1, 4),
])
@pytest.mark.parametrize("method", ["train", "fit"])
def test_rows_of_epochs(options, wanted, epochs, size, method):
    steps, made = Steps(), model()
    getattr(made, method)(2, data(), callbacks=steps, **options)
    assert steps.seen == wanted and made.batch_num == size
    assert steps.about == [(epochs, size, "train", False, 1, "stand_alone")] * epochs


@pytest.mark.parametrize("frequency, wanted", [
    (1, [1, 2, 3, 4]), (2, [2, 4]), (3, [3]), (5, []), ([1], [1]), ([2, 3], [2, 3]), ([], [])])
def test_epochs_that_are_evaluated(frequency, wanted):
    seen = Evaluations(lambda params: params.cur_epoch_num)
    model().fit(4, data(12), data(12), frequency, seen)
    assert seen.found == wanted


@pytest.mark.parametrize("hook, step, wanted", [
    ("on_train_step_end", 1, (1, 1)), ("on_train_step_end", 3, (3, 1)),
    ("on_train_epoch_end", None, (3, 1)), ("on_train_begin", None, (1, 1)),
    ("on_train_epoch_begin", None, (1, 1)), ("on_train_step_end", 5, (5, 2))])
@pytest.mark.parametrize("sink", [False, True])
def test_where_a_request_stops_training(hook, step, wanted, sink):
    def stop(run):
        if step in (None, run.original_args().cur_step_num):
            run.request_stop()

    ends, steps = [], Steps()
    model().train(3, data(), [steps, LambdaCallback(**{hook: stop}), LambdaCallback(
        on_train_end=lambda run: ends.append(1))], dataset_sink_mode=sink, sink_size=3)
    assert (len(steps.seen), len(steps.about)) == wanted and ends == [1]


def test_a_request_stops_evaluation_after_its_step():
    seen = []

    class Stop(Callback):
        def on_eval_step_end(self, run_context):
            seen.append(run_context.original_args().cur_step_num)
            if len(seen) == 2:
                run_context.request_stop()

        def on_eval_end(self, run_context):
            seen.append("end")

    found = model().eval(data(), Stop())
    assert seen == [1, 2, "end"] and found == {"mae": pytest.approx(np.abs(Y[:8]).mean())}


class Values(Metric):
    """Keeps what it is given."""

    def clear(self):
        self.seen = []

    def update(self, *inputs):
        self.seen.append([float(each.sum()) for each in inputs])

    def eval(self):
        return self.seen


class Sums(nn.Cell):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def construct(self, x, y):
        found = x.sum(), y.sum(), y.sum() * 2, x.sum() * 3
        return found[:self.count] if self.count else list(found) if self.count is None else found[0]


x, y = float(X.sum()), float(Y.sum())


@pytest.mark.parametrize("count, places, values, loss", [
    (4, [0, 1, 2], [y, 2 * y], x), (4, [3, 0, 1], [x, y], 3 * x), (3, [2, 1, 0], [y, x], 2 * y),
    (3, [0, 2, 1], [2 * y, y], x)], ids=range(4))
def test_places_of_loss_output_and_label(count, places, values, loss):
    seen = Evaluations(lambda params: params.eval_results)
    net = nn.Dense(2, 1)
    made = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1), eval_indexes=places,
                 metrics={"loss": ms.train.Loss(), "own": Values()}, eval_network=Sums(count))
    assert made.eval(data(12))["own"] == [pytest.approx(values)]
    assert made.eval(data(12))["loss"] == pytest.approx(loss)
    made.fit(1, data(12), data(12), callbacks=seen)
    assert seen.found[0]["eval_loss"] == pytest.approx(loss)


@pytest.mark.parametrize("count, wanted", [
    (0, [x]), (1, [x]), (2, [x, y]), (4, [x, y, 2 * y, 3 * x])], ids=[0, 1, 2, 4])
def test_without_places_a_metric_gets_all(count, wanted):
    seen = Evaluations(lambda params: (params.metrics, list(params.eval_results)))
    net = nn.Dense(2, 1)
    made = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1),
                 metrics={"own": Values()}, eval_network=Sums(count))
    made.fit(1, data(12), data(12), callbacks=seen)
    # where the loss is isn't known
    assert seen.found == [({"own": [pytest.approx(wanted)]}, ["own"])]


@pytest.mark.parametrize("count, places, text", [
    (2, [0, 1, 1], "loss, output and label, but it gave 2 values"),
    (0, [0, 1, 2], "loss, output and label, but it gave 1 values"),
    (None, [0, 1, 2], "must give a tuple, but it gave list"),
    (None, None, "must give a tuple, but it gave list")])
def test_results_of_evaluation_that_do_not_fit(count, places, text):
    made = Model(nn.Dense(2, 1), eval_network=Sums(count), eval_indexes=places,
                 metrics={"own": Values()})
    with pytest.raises(ValueError, match=text):
        made.eval(data(12))


@pytest.mark.parametrize("places", [(0, 1, 2), [0, 1], [0, 1, 2, 3], 3])
def test_places_that_are_no_list_of_three(places):
    with pytest.raises(ValueError, match="'eval_indexes' must be None or a list of three"):
        Model(nn.Dense(2, 1), eval_network=Sums(3), eval_indexes=places, metrics={"mae"})


def test_metrics_begin_anew_and_results_are_copies():
    seen, made = Evaluations(lambda params: (params.eval_results, params.metrics)), model(rate=0.0)
    made.fit(2, data(), data(), callbacks=seen)
    (first, metrics), (second, _) = seen.found
    assert first is not metrics and first == second and first["mae"] == metrics["mae"]
    assert first["mae"] == made.eval(data())["mae"] == pytest.approx(np.abs(Y).mean())


@pytest.mark.parametrize("level, wanted", [
    ("O0", ms.float16), ("O1", ms.float16), ("O2", ms.float32), ("O3", ms.float32)])
def test_results_of_evaluation_with_mixed_precision_are_of_full_precision(level, wanted):
    class Half(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(Tensor([1.0]), name="w")

        def construct(self, x):
            return (x * self.w).astype(ms.float16)

    class Loss(nn.Cell):
        def construct(self, x, y):
            return (x.astype(ms.float32) - y).sum()

    net = Half()
    made = Model(net, Loss(), nn.SGD(net.trainable_params(), 0.1), metrics={"mae"},
                 amp_level=level)
    assert made.eval_network(Tensor(X[:, :1]), Tensor(Y))[1].dtype == wanted


def test_the_scale_falls_with_an_overflow_and_weights_stay_finite():
    manager = DynamicLossScaleManager(1024, 2, 3)
    made = model(loss_scale_manager=manager)
    scales = []
    made.train(1, data(4, X, Y * np.array([[1]] * 4 + [[np.inf]] * 4 + [[1]] * 4, np.float32)),
               LambdaCallback(on_train_step_end=lambda run: scales.append(
                   (manager.get_loss_scale(), bool(run.original_args().net_outputs[1])))))
    assert scales == [(1024, False), (512, True), (512, False)]
    assert np.isfinite(made.predict_network.weight.asnumpy()).all()


@pytest.mark.parametrize("given, error, text", [
    (([1.0],), TypeError, "inputs must be Tensors, numbers, texts or None, but got list"),
    ((X,), TypeError, "but got ndarray"), ((Tensor(X), b"a"), TypeError, "but got bytes"),
    ((Tensor(X[:0]),), ValueError, "can not be an empty Tensor"),
    ((1, Tensor(X[:0])), ValueError, "can not be an empty Tensor")])
def test_inputs_that_are_not_predicted(given, error, text):
    with pytest.raises(error, match=text):
        model().predict(*given)


@pytest.mark.parametrize("given", [(1,), (1.5,), ("a",), (None,), (Tensor(1.0), None, 2, "b")])
@pytest.mark.parametrize("backend", ["lite", None])
def test_inputs_that_are_predicted(given, backend):
    class Given(nn.Cell):
        def construct(self, *inputs):
            return len(inputs)

    assert Model(Given()).predict(*given, backend=backend) == len(given)
    with pytest.raises(ValueError, match="'backend'"):
        Model(Given()).predict(*given, backend="ascend")


@pytest.mark.parametrize("call, error, text", [
    (lambda m: m.fit(1, data(), data(), valid_frequency="2"), TypeError, "valid_frequency"),
    (lambda m: m.fit(1, data(), data(), valid_frequency=(1,)), TypeError, "valid_frequency"),
    (lambda m: m.fit(1, data(), data(), valid_frequency=0), ValueError, "valid_frequency"),
    (lambda m: m.fit(1, data(), data(), valid_frequency=-1), ValueError, "valid_frequency"),
    (lambda m: m.fit(1, data(), data(), valid_dataset_sink_mode=1), TypeError,
     "valid_dataset_sink_mode"),
    (lambda m: m.eval(data(), dataset_sink_mode=1), TypeError, "'dataset_sink_mode'.*Model.eval"
     "|Model.eval.*'dataset_sink_mode'"),
    (lambda m: m.eval(3), TypeError, "'valid_dataset' must be a Dataset"),
    (lambda m: m.train(1, data(), initial_epoch=-1), ValueError, "initial_epoch"),
    (lambda m: m.train(1, 3), TypeError, "'train_dataset' must be a Dataset"),
    (lambda m: m.infer_predict_layout(), RuntimeError, "but got stand_alone")])
def test_arguments_that_do_not_fit(call, error, text):
    with pytest.raises(error, match=text):
        call(model())


def test_layouts_of_a_mode_that_slices():
    made = model()
    for mode in ("semi_auto_parallel", "auto_parallel"):
        made._parallel_mode = mode
        assert made.infer_train_layout(data()) == made.train_network.parameter_layout_dict
        assert made.infer_predict_layout(Tensor(X)) == made.train_network.parameter_layout_dict


def test_which_callbacks_an_evaluation_of_fit_calls(capsys):
    """The program's own and the clock, and none of the others."""
    model().fit(1, data(), data(), callbacks=[TimeMonitor(), ms.train.LossMonitor()])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0].split(":")[0] for line in lines] == [
        "epoch", "epoch", "epoch", "Eval epoch time", "Train epoch time", "Eval result"]


def test_after_training_the_metrics_of_an_epoch_are_gone():
    seen = []
    model().fit(2, data(), data(), [1], LambdaCallback(on_train_epoch_end=lambda run: seen.append(
        {"metrics", "eval_results"} & set(run.original_args()))))
    assert seen == [{"metrics", "eval_results"}, set()]


def test_the_settings_of_the_network_are_those_of_its_steps():
    net = nn.Dense(2, 1)
    net.set_jit_config(ms.JitConfig(jit_level="O0"))
    for loss, optimizer in ((nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1)),
                            (nn.MSELoss(), None), (None, None)):
        assert Model(net, loss, optimizer).train_network.jit_config_dict == net.jit_config_dict


def test_what_a_step_of_training_is():
    """With an optimizer an update, with a loss alone the loss, else what the network gives."""
    net, x, y = nn.Dense(2, 1), Tensor(X), Tensor(Y)
    assert Model(net).train_network is net
    alone = Model(net, nn.MSELoss()).train_network
    assert isinstance(alone, nn.WithLossCell)
    np.testing.assert_allclose(float(alone(x, y)), ((net(x) - y) ** 2).mean().asnumpy(), rtol=1e-6)
    made = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    assert isinstance(made.train_network, nn.TrainOneStepCell)
    assert made.predict_network is net and made.eval_network is None and made.batch_num == -1


def test_the_first_prediction_and_evaluation_end_training_mode_and_records():
    for call, of in ((lambda made: made.predict(Tensor(X)), "predict_network"),
                     (lambda made: made.eval(data()), "eval_network")):
        made = model()
        cell = getattr(made, of).set_grad().set_train()
        call(made)
        assert not cell.training and not cell.requires_grad, of


@pytest.mark.parametrize("hook, step, name", [
    ("on_train_step_begin", 1, "1_1"), ("on_train_step_end", 3, "1_3"),
    ("on_train_step_end", 5, "2_2"), ("on_train_epoch_end", 3, "1_3"),
    ("on_train_epoch_begin", 3, "2_0"), ("on_train_begin", 0, "0_0")])
@pytest.mark.parametrize("sink", [False, True])
def test_the_step_of_the_epoch_that_failed_names_the_file(hook, step, name, sink, tmp_path):
    def fail(run):
        if run.original_args().cur_step_num == step:
            raise KeyError("mine")

    callback = ms.train.ModelCheckpoint("net", str(tmp_path), ms.train.CheckpointConfig(
        100, exception_save=True))
    with pytest.raises(KeyError, match="mine"):
        model().train(3, data(), [callback, LambdaCallback(**{hook: fail})],
                      dataset_sink_mode=sink, sink_size=3)
    assert [path.name for path in tmp_path.iterdir()] == [f"net-{name}_breakpoint.ckpt"]


def test_datasets_have_as_many_columns_as_the_network_takes():
    one = dataset.NumpySlicesDataset((X,), shuffle=False).batch(4)
    net = nn.Dense(2, 1)
    made = Model(net, optimizer=nn.SGD(net.trainable_params(), 0.1))
    with pytest.raises(ValueError, match="has 2 columns, but Dense takes .x.: too many"):
        made.train(1, data())
    with pytest.raises(ValueError, match="must have two columns, data and label, but it has 1"):
        model().train(1, one)
    three = dataset.NumpySlicesDataset((X, Y, Y), shuffle=False).batch(4)
    with pytest.raises(ValueError, match="must have two columns, data and label, but it has 3"):
        model().train(1, three)
