"""Operations of a step, counted, and the part of a peak that it reaches."""

import re

import numpy as np
import pytest

import lamella as ms
from lamella import dataset, nn
from lamella.train import FlopsUtilizationCollector, Model


def trained(network, shape, capsys, **options):
    rows = {"x": np.ones((4, *shape), np.float32), "y": np.zeros(4, np.int32)}
    data = dataset.NumpySlicesDataset(rows, shuffle=False).batch(2)
    optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9)
    model = Model(network, nn.CrossEntropyLoss(), optimizer)
    model.train(2, data, [FlopsUtilizationCollector(**options)], dataset_sink_mode=False)
    return capsys.readouterr().out.splitlines()


def test_forward_and_backward_products_count(capsys):
    # of the first layer one product backward, of the second two
    net = nn.SequentialCell(nn.Dense(6, 8), nn.ReLU(), nn.Dense(8, 3))
    lines = trained(net, (6,), capsys, data_size=2, computility=1e6)
    first, second = 2 * 2 * 6 * 8, 2 * 2 * 8 * 3
    flops = 2 * first + 3 * second
    assert lines[0] == (f"Full model flops is {flops}, Full hardware flops is {flops}, "
                        f"Shard model flops is {flops}, Shard hardware flops is {flops}.")
    assert len(lines) == 3
    for line in lines[1:]:
        found = re.fullmatch(r"Train per step time: +([\d.]+) ms, mfu:([\d.]+)% hfu:([\d.]+)%",
                             line)
        milliseconds, model, hardware = map(float, found.groups())
        assert model == hardware == pytest.approx(100 * flops / milliseconds / 1e3, rel=0.01,
                                                  abs=0.01)


def test_convolutions_count_and_the_counting_leaves_no_trace(capsys):
    def weights(**options):
        ms.set_seed(1)
        net = nn.SequentialCell(nn.Conv2d(1, 2, 3, pad_mode="valid"), nn.Flatten(),
                                nn.Dropout(p=0.5), nn.Dense(18, 3))
        if options:
            lines = trained(net, (1, 5, 5), capsys, **options)
            assert lines[0].startswith("Shard model flops is ")
            convolution, product = 2 * 2 * 2 * 9 * 9, 2 * 2 * 18 * 3
            assert lines[0].split()[4] == f"{2 * convolution + 3 * product},"
        else:
            data = dataset.NumpySlicesDataset(
                {"x": np.ones((4, 1, 5, 5), np.float32), "y": np.zeros(4, np.int32)},
                shuffle=False).batch(2)
            Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9)).train(
                2, data, dataset_sink_mode=False)
        return [p.asnumpy() for p in net.trainable_params()]

    for counted, plain in zip(weights(data_size=9, full_flops=False), weights(), strict=True):
        np.testing.assert_array_equal(counted, plain)


@pytest.mark.parametrize("options, error, message", [
    ({"data_size": 0}, ValueError, "data_size"), ({"data_size": 1, "full_flops": 3}, TypeError,
                                                  "full_flops"),
    ({"data_size": 1, "enable_ma_collector": True}, ValueError, "must be False"),
])
def test_wrong_arguments(options, error, message):
    with pytest.raises(error, match=message):
        FlopsUtilizationCollector(**options)


@pytest.mark.parametrize("name, message", [
    ("TrainFaultTolerance", "RunCheckpoint"), ("SummaryLandscape", "TensorBoard")])
def test_what_needs_other_tools_says_what_to_use(name, message):
    with pytest.raises(RuntimeError, match=message):
        getattr(ms.train, name)("folder")
