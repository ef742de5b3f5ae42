"""summary: counts that can be worked out by hand, and no trace of the calls."""

import numpy as np
import pytest

import lamella as ms
from lamella import nn
from lamella.insight.summary import LayerSummary, Summary


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.body = nn.SequentialCell(nn.Conv2d(1, 4, 3, has_bias=True), nn.BatchNorm2d(4))
        self.twice = nn.Dense(8, 8)
        self.unused = nn.ReLU()
        self.calls = 0

    def construct(self, x):
        self.calls += 1
        y = self.twice(self.twice(self.body(x)))
        return y, {"sum": y.sum()}


def found(net, **settings):
    return ms.summary(net, ms.ops.ones((2, 1, 6, 8), ms.float32), **settings)


def test_numbers():
    layers = {layer.name: layer for layer in found(Net()).layers}
    assert list(layers) == ["", "body", "body.0", "body.1", "twice", "unused"]
    assert layers[""].shapes == [(2, 4, 6, 8), ()] and layers[""].kind == "Net"
    assert (layers["body.0"].parameters, layers["body.1"].parameters) == (40, 16)
    assert (layers["body"].trainable, layers[""].parameters) == (48, 56 + 72)
    assert layers["body.0"].flops == 2 * 2 * 4 * 6 * 8 * 9
    assert (layers["twice"].calls, layers["twice"].flops) == (2, 2 * 2 * 2 * 4 * 6 * 8 * 8)
    assert layers[""].flops == layers["body.0"].flops + layers["twice"].flops
    assert layers["body.0"].output_bytes == 2 * 4 * 6 * 8 * 4
    assert (layers["unused"].calls, layers["unused"].shapes) == (0, [])
    assert layers[""].seconds >= layers["body"].seconds >= layers["body.0"].seconds > 0


def test_leaves_no_trace():
    net = Net().set_train()
    before = {p.name: p.asnumpy().copy() for p in net.get_parameters()}
    ms.set_seed(3)
    drawn = ms.ops.randn(3).asnumpy()
    ms.set_seed(3)
    found(net)
    np.testing.assert_array_equal(ms.ops.randn(3).asnumpy(), drawn)
    assert net.calls == 0 and net.training
    for p in net.get_parameters():
        np.testing.assert_array_equal(p.asnumpy(), before[p.name])


def test_printed():
    text = str(found(Net(), depth=1))
    assert "twice Dense x 2" in text and "Conv2d" not in text
    assert "128 parameters, 120 of them trained" in text
    assert repr(found(Net())).count("\n") == 6 + 3
    whole = found(Net(), depth=0)
    assert [row[0] for row in whole.rows()] == ["layer", "Net"] and whole.layers[0].depth == 0
    assert [layer.depth for layer in whole.layers] == [0, 1, 2, 2, 1, 1]
    head, rule, row, _, _ = str(whole).splitlines()
    assert len(head) == len(rule) == len(row)


TABLE = """\
layer            output       parameters     MFLOP        ms
------------------------------------------------------------
Net              (2, 40), ()   1,234,567  2,345.68  1,500.25
  body Sequence  (2, 40)         234,567      1.25      3.50
    0 Dense x 3  (2, 40)           1,000      1.25      2.00
  10 ReLU        -                     0      0.00      0.00
------------------------------------------------------------
1,234,567 parameters, 1,000,000 of them trained; 2,345.68 MFLOP forward; results of layers take \
4.50 MiB"""


def test_the_table():
    layers = [LayerSummary("", "Net", 0, 1, [(2, 40), ()], 1234567, 1000000, 2345678901, 1.50025,
                           9 * 2**20),
              LayerSummary("body", "Sequence", 1, 1, [(2, 40)], 234567, 5, 1250000, 0.0035, 2**20),
              LayerSummary("body.0", "Dense", 2, 3, [(2, 40)], 1000, 5, 1250000, 0.002, 3 * 2**20),
              LayerSummary("10", "ReLU", 1, 0, output_bytes=3 * 2**19)]
    assert str(Summary(layers, 2)) == TABLE
    shallow = Summary(layers, 1)
    assert [row[0] for row in shallow.rows()] == ["layer", "Net", "  body Sequence", "  10 ReLU"]
    assert shallow.total() == TABLE.splitlines()[-1]  # of all layers, shown or not


def test_errors():
    with pytest.raises(TypeError, match="'network' must be a Cell, but got function"):
        ms.summary(lambda x: x)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'depth' must be 0 or more"):
        found(Net(), depth=-1)
    with pytest.raises(TypeError, match="'depth' must be an int"):
        found(Net(), depth=True)
