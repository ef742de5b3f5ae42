"""Event files, read back by TensorBoard's own reader."""

import io

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray

import lamella as ms
from lamella import Tensor, dataset, nn, ops
from lamella.train import Model, SummaryCollector, SummaryRecord


def read(folder):
    found = EventAccumulator(str(folder), size_guidance={"tensors": 0, "images": 0})
    found.Reload()
    return found


def scalars(found, name):
    return [(event.step, event.value) for event in found.Scalars(name)]


def test_values_of_each_kind(tmp_path):
    image = np.random.default_rng(0).random((2, 3, 4, 5)).astype(np.float32)
    with SummaryRecord(str(tmp_path), network=nn.Dense(2, 3)) as record:
        for step in (1, 2):
            record.add_value("scalar", "loss", Tensor(9.0))
            record.add_value("scalar", "loss", Tensor(0.5 / step))  # the last one counts
            record.add_value("image", "pictures", Tensor(image))
            record.add_value("histogram", "weights", Tensor(np.arange(10.0)))
            record.add_value("tensor", "matrix", Tensor([[1.0, 2.0]]))
            assert record.record(step)
        record.add_value("scalar", "hidden", Tensor(1.0))
        record.record(3, plugin_filter=lambda plugin: plugin != "scalar")
        assert record.log_dir.startswith(str(tmp_path)) and record.log_dir.endswith("_MS")
    assert not record.record(4)
    found = read(tmp_path)
    assert scalars(found, "loss") == [(1, 0.5), (2, 0.25)] and "hidden" not in str(found.Tags())
    histogram = found.Histograms("weights")[0].histogram_value
    assert (histogram.num, histogram.min, histogram.max, histogram.sum) == (10, 0, 9, 45)
    assert found.Images("pictures")[0].height == 4
    matrix = found.Tensors("matrix")[0].tensor_proto
    np.testing.assert_array_equal(make_ndarray(matrix), [[1.0, 2.0]])
    assert "Dense" in str(found.Tensors("network/text_summary")[0].tensor_proto)


def test_values_are_those_of_the_call(tmp_path):
    """A step changes the Parameter's memory before they are written."""
    weight = ms.Parameter(Tensor([1.0]), name="w")
    with SummaryRecord(str(tmp_path)) as record:
        for plugin in ("scalar", "tensor", "histogram"):
            record.add_value(plugin, plugin, weight)
        nn.SGD([weight], 1.0)((Tensor([5.0]),))
        record.record(1)
    found = read(tmp_path)
    assert scalars(found, "scalar") == [(1, 1.0)] and weight.tolist() == [-4.0]
    assert make_ndarray(found.Tensors("tensor")[0].tensor_proto).tolist() == [1.0]
    assert found.Histograms("histogram")[0].histogram_value.max == 1


def test_images_out_of_range_are_stretched(tmp_path):
    image = np.linspace(-2, 8, 3 * 4 * 5, dtype=np.float32).reshape(1, 3, 4, 5)
    with SummaryRecord(str(tmp_path)) as record:
        record.add_value("image", "wide", Tensor(image))
        record.record(1)
    written = read(tmp_path).Images("wide")[0].encoded_image_string
    found = np.asarray(Image.open(io.BytesIO(written)))
    np.testing.assert_allclose(found, (image[0].transpose(1, 2, 0) + 2) * 25.5, atol=1)


def test_operators_in_a_network_feed_it(tmp_path):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.fc = nn.Dense(2, 1)
            self.scalar, self.histogram = ops.ScalarSummary(), ops.HistogramSummary()

        def construct(self, x):
            out = self.fc(x)
            self.scalar("mean", out.mean())
            self.histogram("out", out)
            return out

    net = Net()
    compiled = ms.jit(net)
    wanted = []
    with SummaryRecord(str(tmp_path)) as record:
        for step in range(3):
            out = compiled(ops.ones((2, 2)) * step)
            wanted.append((step, pytest.approx(float(out.mean()), rel=1e-5, abs=1e-7)))
            record.record(step)
        record.set_mode("eval")
        net(ops.ones((2, 2)))
        record.record(9)
    assert scalars(read(tmp_path), "mean") == wanted


def test_the_collector_writes_a_run(tmp_path):
    x = np.random.default_rng(0).random((12, 1, 4, 4)).astype(np.float32)
    data = [dataset.NumpySlicesDataset((x, x[:, 0, 0]), shuffle=False).batch(2) for _ in range(2)]
    net = nn.SequentialCell(nn.Flatten(), nn.Dense(16, 4))
    model = Model(net, nn.MSELoss(), nn.Adam(net.trainable_params(), 0.125), metrics={"mae"})
    losses = []
    collector = SummaryCollector(str(tmp_path), 2, custom_lineage_data={"who": "me"},
                                 collect_specified_data={"histogram_regular": ".*weight"})
    model.fit(2, data[0], data[1], callbacks=[collector, ms.train.LambdaCallback(
        on_train_step_end=lambda run: losses.append(float(run.original_args().net_outputs)))])
    found = read(tmp_path)
    assert [step for step, _ in scalars(found, "loss")] == [1, 2, 4, 6, 8, 10, 12]
    np.testing.assert_allclose([value for _, value in scalars(found, "loss")],
                               [losses[s - 1] for s in (1, 2, 4, 6, 8, 10, 12)], rtol=1e-6)
    assert {value for _, value in scalars(found, "learning_rate")} == {0.125}
    assert [step for step, _ in scalars(found, "eval/mae")] == [6, 12]
    assert found.Histograms("1.weight")[0].histogram_value.num == 64
    assert [event.step for event in found.Images("input_data")] == [1, 2, 4, 6, 8, 10, 12]
    assert "who: me" in str(found.Tensors("train_lineage/text_summary")[0].tensor_proto)


@pytest.mark.parametrize("rate, rates", [
    (0.125, {0.125}), ([0.5, 0.25, 0.125], None), (nn.ExponentialDecayLR(0.5, 0.5, 1), None)],
    ids=["a number", "a list", "a schedule"])
def test_the_collector_writes_a_rate_that_is_one_number(rate, rates, tmp_path):
    x = np.zeros((4, 2), np.float32)
    data = dataset.NumpySlicesDataset((x, x[:, :1]), shuffle=False).batch(2)
    net = nn.Dense(2, 1)
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), rate))
    collector = SummaryCollector(str(tmp_path), 1, collect_specified_data={"collect_metric": True},
                                 keep_default_action=False)
    model.train(1, data, callbacks=[collector], dataset_sink_mode=False)
    found = read(tmp_path)
    assert [step for step, _ in scalars(found, "loss")] == [1, 2]
    if rates is None:
        assert found.Tags()["scalars"] == ["loss"]
    else:
        assert {value for _, value in scalars(found, "learning_rate")} == rates


SCALARS = ["eval/loss", "eval/mae", "learning_rate", "loss"]


@pytest.mark.parametrize("chosen, keeps, tags", [
    ({"collect_metric": False}, True, {"images": ["input_data"], "text": 2}),
    ({"collect_metric": True}, False, {"scalars": SCALARS}),
    ({"collect_input_data": False, "collect_graph": False}, True, {"scalars": SCALARS, "text": 1}),
    ({"histogram_regular": "0.*"}, False, {"histograms": ["0.bias", "0.weight"]})])
def test_the_collector_writes_what_is_chosen(chosen, keeps, tags, tmp_path):
    x = np.zeros((4, 3, 2, 2), np.float32)
    data = [dataset.NumpySlicesDataset((x, x[:, :1]), shuffle=False).batch(2) for _ in range(2)]
    net = nn.SequentialCell(nn.Conv2d(3, 1, 1, has_bias=True), nn.ReLU())
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1), metrics={"mae"})
    collector = SummaryCollector(str(tmp_path), 1, collect_specified_data=chosen,
                                 keep_default_action=keeps)
    model.fit(1, data[0], data[1], callbacks=[collector], dataset_sink_mode=False)
    found = read(tmp_path).Tags()
    texts = [tag for tag in found["tensors"] if tag.endswith("text_summary")]
    assert {"images": found["images"], "scalars": sorted(found["scalars"]), "text": len(texts),
            "histograms": sorted(found["histograms"])} == {
                "images": [], "scalars": [], "text": 0, "histograms": [], **tags}


def test_what_is_flushed_is_in_the_file(tmp_path):
    with SummaryRecord(str(tmp_path)) as record:
        record.add_value("scalar", "loss", Tensor(2.0))
        record.record(1)
        record.flush()
        assert scalars(read(tmp_path), "loss") == [(1, 2.0)]
    record.flush()  # what is closed has nothing waiting
    record.close()


def test_what_is_refused(tmp_path):
    with SummaryRecord(str(tmp_path)) as record:
        with pytest.raises(ValueError, match="'plugin' must be one of"):
            record.add_value("sound", "a", Tensor(1.0))
        with pytest.raises(TypeError, match="must be a Tensor, but got float"):
            record.add_value("scalar", "a", 1.0)
        with pytest.raises(ValueError, match="must have one element"):
            record.add_value("scalar", "a", Tensor([1.0, 2.0]))
        with pytest.raises(ValueError, match=r"must have shape \(N, 1 or 3, H, W\)"):
            record.add_value("image", "a", Tensor([1.0, 2.0]))
        with pytest.raises(ValueError, match="must be one of 'train', 'eval'"):
            record.set_mode("test")
    with pytest.raises(ValueError, match="it has been closed"):
        with record:
            pass
    with pytest.raises(ValueError, match="can have collect_metric"):
        SummaryCollector(str(tmp_path), collect_specified_data={"speed": True})
