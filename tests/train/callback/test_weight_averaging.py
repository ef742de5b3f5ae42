"""WeightAveraging in `Model.fit`: evaluations use the averages, training the weights."""

import numpy as np
import pytest

import lamella as ms
from lamella import nn
from lamella.train import Callback, LambdaCallback, Model, RunCheckpoint, WeightAveraging


def made(apply_at_end):
    net = nn.Dense(1, 1, weight_init="ones", has_bias=False)
    x = np.array([[1.0], [2.0]], np.float32)
    data = ms.dataset.NumpySlicesDataset((x, 0 * x), shuffle=False).batch(1)
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.05),
                  metrics={"loss": ms.train.Loss()})
    return net, data, model, WeightAveraging(0.5, apply_at_end=apply_at_end)


@pytest.mark.parametrize("apply_at_end", [True, False])
def test_fit(apply_at_end):
    net, data, model, averaging = made(apply_at_end)
    seen = []

    class Watch(Callback):
        def on_eval_step_begin(self, run_context):
            seen.append(("eval", float(net.weight.value()[0, 0])))

        def on_train_step_begin(self, run_context):
            seen.append(("train", float(net.weight.value()[0, 0])))

    model.fit(2, data, data, callbacks=[averaging, Watch()])
    weight = average = 1.0
    expected = []
    for _ in range(2):
        for x in (1.0, 2.0):
            expected.append(("train", weight))
            weight -= 0.05 * 2 * weight * x * x
            average = 0.5 * average + 0.5 * weight
        expected += [("eval", average)] * 2
    assert [kind for kind, _ in seen] == [kind for kind, _ in expected]
    np.testing.assert_allclose([w for _, w in seen], [w for _, w in expected], rtol=1e-5)
    assert float(net.weight.value()[0, 0]) == pytest.approx(average if apply_at_end else weight)


def test_an_interrupted_evaluation_leaves_the_weights():
    net, data, model, averaging = made(True)

    class Stop(Callback):
        def on_eval_step_begin(self, run_context):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(1, data, data, callbacks=[averaging, Stop()])
    weight = 1.0 * (1 - 0.1) * (1 - 0.4)
    assert float(net.weight.value()[0, 0]) == pytest.approx(weight)


def epochs_of(averaging, net, data, model, count):
    """The weight after each of some trainings of one epoch, and the loss of an evaluation then."""
    found = []
    for _ in range(count):
        model.train(1, data, callbacks=averaging)
        weight = float(net.weight.value()[0, 0])
        found.append((weight, model.eval(data, averaging)["loss"]))
    return found


@pytest.mark.parametrize("apply_at_end", [True, False])
def test_trainings_and_evaluations_one_after_the_other(apply_at_end):
    """Averages that were given to the network are what the next training begins with."""
    net, data, model, averaging = made(apply_at_end)
    weight = average = 1.0
    expected = []
    for _ in range(3):
        for x in (1.0, 2.0):
            weight -= 0.05 * 2 * weight * x * x
            average = 0.5 * average + 0.5 * weight
        if apply_at_end:
            weight = average
        expected.append((weight, average ** 2 * 2.5))
    np.testing.assert_allclose(epochs_of(averaging, net, data, model, 3), expected, rtol=1e-5)


@pytest.mark.parametrize("warmup", [True, False])
def test_averages_of_a_run_that_was_interrupted_go_on(warmup, tmp_path):
    def run(folder, stop=None):
        net, data, model, _ = made(True)
        net.weight.set_data(ms.Tensor([[1.0 if stop else 7.0]]))
        averaging = WeightAveraging(0.9, warmup)

        def end(run_context):
            if run_context.original_args().cur_step_num == stop:
                raise KeyboardInterrupt

        keeping = RunCheckpoint(str(folder), 1)
        try:
            model.train(3, data, [keeping, averaging, LambdaCallback(on_train_step_end=end)])
        except KeyboardInterrupt:
            return None
        return float(net.weight.value()[0, 0])

    whole = run(tmp_path / "whole", stop=99)
    assert run(tmp_path / "cut", stop=3) is None
    assert run(tmp_path / "cut") == whole
