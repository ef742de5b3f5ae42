"""Rows by key: against a dict, with gradients, copies and steps of an optimizer."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn
from lamella.experimental import MapParameter
from lamella.experimental import map_parameter as primitives


def keys(*numbers):
    return Tensor(np.array(numbers, np.int32))


def test_as_a_dict():
    rng, kept = np.random.default_rng(0), {}
    found = MapParameter(ms.int32, ms.float32, (2,), default_value="ones", name="m")
    for _ in range(60):
        chosen = rng.integers(0, 12, rng.integers(1, 6))
        action = rng.integers(3)
        if action == 0:
            rows = rng.standard_normal((len(chosen), 2)).astype(np.float32)
            found.put(keys(*chosen), Tensor(rows))
            kept.update({int(k): row for k, row in zip(chosen, rows, strict=True)})
        elif action == 1:
            found.erase(keys(*chosen))
            for key in chosen:
                kept.pop(int(key), None)
        else:
            got = found.get(keys(*chosen)).asnumpy()
            for key in chosen:
                kept.setdefault(int(key), np.ones(2, np.float32))
            np.testing.assert_array_equal(got, [kept[int(key)] for key in chosen])
        listed, rows = found.get_data()
        assert listed.tolist() == list(kept) and listed.dtype is ms.int32
        np.testing.assert_array_equal(rows.asnumpy().reshape(-1, 2),
                                      np.array(list(kept.values())).reshape(-1, 2))


def test_rows_that_are_not_kept():
    found = MapParameter(value_shape=1, default_value=3, name="m")
    get = primitives.MapTensorGet(False)
    assert get(found, keys(5)).tolist() == [[3.0]] and found.shape == (0, 1)
    put, erase = primitives.MapTensorPut(), primitives.MapTensorErase()
    assert put(found, keys(5, 6), Tensor([[1.0], [2.0]])) is found
    assert primitives.MapTensorGetData()(erase(found, keys(5)))[0].tolist() == [6]
    assert primitives.MapTensorGetKeys()(found).tolist() == [6]
    assert primitives.MapTensorGetValues()(found).tolist() == [[2.0]]
    sums = primitives.MapTensorGetGrad()(found, keys(4, 2, 4), 0, Tensor([[1.0], [2.0], [4.0]]))
    assert sums.get(keys(2, 4)).tolist() == [[2.0], [5.0]]


def test_trained_by_an_optimizer():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.rows = MapParameter(key_tensor=keys(3, 8), value_tensor=Tensor([[1.0], [2.0]]))

        def construct(self, chosen):
            return (self.rows.get(chosen) ** 2).sum()

    net = Net()
    assert [p.name for p in net.trainable_params()] == ["rows"]
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))
    step(keys(8, 8))
    np.testing.assert_allclose(net.rows.get(keys(3, 8)).asnumpy(), [[1.0], [1.2]], rtol=1e-6)
    with pytest.raises(RuntimeError, match="inside of a gradient none can be made"):
        step(keys(1))
    assert net.rows.get_keys().tolist() == [3, 8]


def test_copies_texts_and_wrong_arguments():
    found = MapParameter(ms.int32, ms.float32, 2, default_value="ones", name="m")
    found[keys(1)] = Tensor([[5.0, 6.0]])
    assert str(found) == ("MapParameter(MapTensor(key_dtype=Int32, value_dtype=Float32, "
                          "value_shape=[2], default_value=ones, permit_filter=1, "
                          "evict_filter=9223372036854775807))")  # as 2.10 prints it
    other = found.clone()
    other.import_data(found.export_data())
    assert other[keys(1)].tolist() == [[5.0, 6.0]]
    assert found.clone("zeros").get(keys(1)).tolist() == [[0.0, 0.0]]
    for call, error in ((lambda: MapParameter(ms.float32), TypeError),
                        (lambda: MapParameter(key_tensor=keys(1)), ValueError),
                        (lambda: found.put(keys(1), Tensor([[1.0]])), ValueError),
                        (lambda: found.get(Tensor([1.5])), TypeError)):
        with pytest.raises(error):
            call()
