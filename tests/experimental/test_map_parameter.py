"""Rows by key: against a dict, with gradients, copies and steps of an optimizer."""

from __future__ import annotations

import copy
import pickle

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


@pytest.mark.parametrize("given, what", [
    ({"key_dtype": ms.int64}, None), ({"key_dtype": ms.int16}, "'key_dtype' must be int32 or"),
    ({"key_dtype": ms.int32, "value_dtype": ms.float32, "key_tensor": keys(1, 2),
      "value_tensor": Tensor([[1.0], [2.0]])}, None),
    ({"key_dtype": ms.int64, "key_tensor": keys(1), "value_tensor": Tensor([[1.0]])},
     "'key_dtype' must be that of the Tensor"),
    ({"value_dtype": ms.float16, "key_tensor": keys(1), "value_tensor": Tensor([[1.0]])},
     "'value_dtype' must be that of the Tensor"),
    ({"value_tensor": Tensor([[1.0]])}, "must be given together"),
    ({"key_tensor": keys(1, 2), "value_tensor": Tensor([[1.0]])}, r"must have the shape \(2, 1\)"),
])
def test_types_of_keys_and_rows(given, what):
    if what is not None:
        with pytest.raises((TypeError, ValueError), match=what):
            MapParameter(**given, name="m")
        return
    found = MapParameter(**given, name="m")
    assert found.key_dtype is given["key_dtype"] and found.get_keys().dtype is given["key_dtype"]
    assert found.shape == (2 if "key_tensor" in given else 0, 1)


@pytest.mark.parametrize("kind", [ms.float16, ms.float32, ms.float64])
@pytest.mark.parametrize("shape, wanted", [(None, (1,)), (3, (3,)), ((2, 3), (2, 3)), ((), ())])
def test_rows_of_any_shape_and_type(kind, shape, wanted):
    found = MapParameter(ms.int64, kind, shape, default_value="ones", name="m")
    many = Tensor(np.array([5, 3, 5], np.int64))
    assert found.value_shape == wanted and found.get(many).shape == (3, *wanted)
    assert found.shape == (2, *wanted) and found.dtype is kind and found.requires_grad
    rows = Tensor(np.arange(3 * np.prod(wanted)).reshape(3, *wanted), ms.float64)
    found.put(many, rows)
    np.testing.assert_array_equal(found.get(many).asnumpy(), rows.asnumpy()[[2, 1, 2]])
    assert found.get(many).dtype is kind
    copy = found.clone()
    assert copy.value_dtype is kind and copy.key_dtype is ms.int64
    np.testing.assert_array_equal(copy.get(many).asnumpy(), rows.asnumpy()[[2, 1, 2]])
    copy.put(many, rows * 0)
    np.testing.assert_array_equal(found.get(many).asnumpy(), rows.asnumpy()[[2, 1, 2]])


def test_rows_that_are_only_given_stand_beside_those_that_are_kept():
    found = MapParameter(ms.int32, ms.float32, 2, default_value=7, name="m", requires_grad=False,
                         permit_filter_value=3, evict_filter_value=9)
    found.put(keys(4, 2), Tensor([[1.0, 2.0], [3.0, 4.0]]))
    got = found.get(keys(2, 9, 4, 8, 9), False)
    assert got.tolist() == [[3, 4], [7, 7], [1, 2], [7, 7], [7, 7]]
    assert found.get_keys().tolist() == [4, 2] and not found.requires_grad
    assert "permit_filter=3, evict_filter=9)" in repr(found)
    assert primitives.MapTensorGet(True)(found, keys(8)).tolist() == [[7, 7]]
    assert found.get_keys().tolist() == [4, 2, 8]
    assert not found.clone().requires_grad
    found.erase(keys(1, 3))
    assert found.get_keys().tolist() == [4, 2, 8]
    found.erase(keys(2, 4, 8))
    assert found.shape == (0, 2) and found.get_keys().tolist() == []
    listed, rows, status = found.export_data()
    assert listed.shape == (0,) and rows.shape == (0, 2) and status.shape == (0,)
    found.import_data((listed, rows, status))
    assert found.get_keys().tolist() == []


def test_what_is_exported_has_a_status_for_each_key():
    found = MapParameter(key_tensor=keys(6, 1, 9), value_tensor=Tensor([[1.0], [2.0], [3.0]]))
    listed, rows, status = found.export_data(True)
    assert listed.dtype == status.dtype == np.int32 and rows.dtype == np.float32
    assert listed.tolist() == [6, 1, 9] and rows.tolist() == [[1], [2], [3]]
    assert status.tolist() == [0, 0, 0]


def test_keys_in_error_messages_are_five_at_most():
    found = MapParameter(ms.int32, value_shape=1, name="m")
    with pytest.raises(RuntimeError, match=r"keys \[1, 2, 3, 4, 5\], and"):
        ms.grad(lambda x: (found.get(keys(1, 2, 3, 4, 5, 6)) * x).sum())(Tensor(1.0))
    with pytest.raises(TypeError, match="key_tensor"):
        found.get(Tensor([1]))  # int64


def test_gradients_by_rows_of_more_dimensions_are_summed_by_key():
    found = MapParameter(ms.int32, value_shape=(2, 2), default_value="zeros", name="m")
    grad = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    sums = primitives.MapTensorGetGrad()(found, keys(7, 3, 7), 0, Tensor(grad))
    assert sums.get_keys().tolist() == [3, 7]
    np.testing.assert_array_equal(sums.get(keys(3, 7)).asnumpy(), [grad[1], grad[0] + grad[2]])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda m: m.clone(),
                                    lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_has_rows_of_its_own(copied):
    found = MapParameter(key_tensor=keys(7, 3), value_tensor=Tensor([[1.0], [2.0]]), name="m")
    twin = copied(found)
    twin.put(keys(9, 7), Tensor([[5.0], [6.0]]))
    assert (twin.get_keys().tolist(), twin.tolist()) == ([7, 3, 9], [[6.0], [2.0], [5.0]])
    assert found.get_keys().tolist() == [7, 3] and found.shape == (2, 1)
    found.put(keys(4), Tensor([[8.0]]))
    assert found.get(keys(4, 3)).tolist() == [[8.0], [2.0]]
    assert twin.get_keys().tolist() == [7, 3, 9]


def test_a_checkpoint_does_not_lose_keys(tmp_path):
    found = MapParameter(key_tensor=keys(7), value_tensor=Tensor([[1.0]]), name="m")
    with pytest.raises(TypeError, match="'m' is a table whose rows have keys"):
        ms.save_checkpoint([found], str(tmp_path / "m"))
    ms.save_checkpoint([found, ms.Parameter(1.0, name="w")], str(tmp_path / "w"),
                       choice_func=lambda name: name != "m")
    assert list(ms.load_checkpoint(str(tmp_path / "w.ckpt"))) == ["w"]
