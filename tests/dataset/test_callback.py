"""Callbacks of pipelines: when they are called, and with what numbers (recorded from MindSpore)."""

import pytest

import lamella.dataset as ds


class Recorder(ds.DSCallback):
    def __init__(self, step_size):
        super().__init__(step_size)
        self.calls = []

    def ds_begin(self, context):
        self.calls.append("begin")

    def ds_epoch_begin(self, context):
        self.calls.append(f"epoch {context.cur_epoch_num}")

    def ds_epoch_end(self, context):
        self.calls.append(f"end {context.cur_epoch_num} after {context.cur_step_num}")

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
    expected = ["begin"]
    for epoch in range(2):
        expected.append(f"epoch {epoch + 1}")
        for step in steps:
            expected += [f"step {step + 1} of {5 * epoch + step + 1}", "over"]
        expected.append(f"end {epoch + 1} after {5 * epoch + 5}")
    assert recorder.calls == expected
