"""Callbacks of pipelines: when they are called, and with what numbers (recorded from MindSpore)."""

import numpy as np
import pytest

import lamella as ms
import lamella.dataset as ds
from lamella import nn


def numbers(context):
    return context.cur_epoch_num, context.cur_step_num_in_epoch, context.cur_step_num


class Recorder(ds.DSCallback):
    def __init__(self, step_size):
        super().__init__(step_size)
        self.calls = []

    def ds_begin(self, context):
        self.calls.append(("begin", *numbers(context)))

    def ds_epoch_begin(self, context):
        self.calls.append(("epoch", *numbers(context)))

    def ds_epoch_end(self, context):
        self.calls.append(("end", *numbers(context)))

    def ds_step_begin(self, context):
        self.calls.append(f"step {context.cur_step_num_in_epoch} of {context.cur_step_num}")

    def ds_step_end(self, context):
        self.calls.append("over")


@pytest.mark.parametrize("step_size, steps", [(1, range(5)), (2, (0, 2, 4)), (7, (0,))])
def test_calls(step_size, steps):
    recorder = Recorder(step_size)
    data = ds.GeneratorDataset(list(range(5)), "col", shuffle=False)
    data = data.map(lambda x: x, callbacks=recorder)
    iterator = data.create_tuple_iterator(num_epochs=2)
    assert [len(list(iterator)) for _ in range(2)] == [5, 5]
    expected = [("begin", 0, 0, 0)]
    for epoch in range(2):
        expected.append(("epoch", epoch + 1, 0, 5 * epoch))
        for step in steps:
            expected += [f"step {step + 1} of {5 * epoch + step + 1}", "over"]
        expected.append(("end", epoch + 1, 5, 5 * epoch + 5))
    assert recorder.calls == expected


class Waiting(ds.WaitedDSCallback):
    def __init__(self, step_size):
        super().__init__(step_size)
        self.calls = []

    def sync_epoch_begin(self, train_run_context, ds_run_context):
        trained = train_run_context.original_args()
        self.calls.append(("epoch", ds_run_context.cur_epoch_num, trained.cur_step_num))

    def sync_step_begin(self, train_run_context, ds_run_context):
        trained = train_run_context.original_args()
        self.calls.append(("step", ds_run_context.cur_step_num, trained.cur_step_num))


@pytest.mark.parametrize("step_size", [1, 2])
def test_a_step_or_epoch_begins_after_the_network_s_before(step_size):
    """No call comes before the first; each other one knows what training has done."""
    data = ds.NumpySlicesDataset((np.ones((4, 3), np.float32), np.ones((4, 2), np.float32)),
                                 ["x", "y"], shuffle=False)
    waiting = Waiting(step_size)
    data = data.map(lambda x: x, "x", callbacks=waiting).batch(1)
    net = nn.Dense(3, 2)
    model = ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    model.train(2, data, callbacks=[waiting], dataset_sink_mode=False)
    begins = range(1 + step_size, 9, step_size)
    assert [call for call in waiting.calls if call[0] == "step"] == [
        ("step", n, n - 1) for n in begins]
    assert [call for call in waiting.calls if call[0] == "epoch"] == [("epoch", 2, 4)]
