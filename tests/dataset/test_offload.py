"""Operations that iterators run on batches: which, in what order, and MindSpore's numbers."""

import numpy as np
import pytest

import lamella as ms
import lamella.dataset as ds
from lamella.dataset import transforms, vision

IMAGES = np.arange(36).reshape(2, 2, 3, 3).astype(np.uint8) * 5


@pytest.fixture(autouse=True)
def _settings():
    seed = ds.config.get_seed()
    yield
    ds.config.set_auto_offload(False)
    ds.config.set_seed(seed)


def source():
    return ds.NumpySlicesDataset((IMAGES, np.arange(2)), ["image", "label"], shuffle=False)


def first(dataset, **kwargs):
    return next(dataset.create_tuple_iterator(num_epochs=1, **{"output_numpy": True, **kwargs}))[0]


def offloaded(*operations, seed=1):
    ds.config.set_seed(seed)
    return first(source().map(list(operations), "image", offload=True).batch(2))


RECORDED = [  # from MindSpore: the elements 0, 8, 20 and 33 after a seed
    (vision.RandomHorizontalFlip(0.5), 2, [30, 10, 130, 135]),
    (vision.RandomVerticalFlip(0.5), 1, [45, 85, 100, 165]),
    (vision.RandomVerticalFlip(0.5), 2, [45, 85, 145, 120]),
    (vision.RandomColorAdjust((0.5, 1.5), (0.5, 1.5), (0.5, 1.5)), 1,
     [15.041272, 37.502037, 111.805954, 180.075058]),
    (vision.RandomColorAdjust((0.5, 1.5), (0.5, 1.5), (0.5, 1.5)), 2,
     [0.3245010, 36.9599152, 63.897057, 103.169968]),
]


@pytest.mark.parametrize("operation, seed, expected", RECORDED)
def test_numbers_of_mindspore(operation, seed, expected):
    found = offloaded(operation, seed=seed)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.reshape(-1)[[0, 8, 20, 33]], expected, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("operations", [
    [vision.Normalize([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), vision.HWC2CHW()],
    [vision.Rescale(1 / 255, 0.5)], [vision.HWC2CHW()],
    [vision.HWC2CHW(), vision.Normalize([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], is_hwc=False)],
    [transforms.TypeCast(ms.int32)], [transforms.TypeCast(np.float64)]])
def test_what_draws_nothing_gives_what_it_gives_in_the_pipeline(operations):
    here = first(source().map(operations, "image").batch(2))
    found = offloaded(*operations)
    np.testing.assert_allclose(found, here, rtol=1e-6)
    assert found.dtype == here.dtype


def test_hue_and_sharpness():
    turned = offloaded(vision.RandomColorAdjust(hue=(0.25, 0.25)))
    same = np.stack([vision.AdjustHue(0.25)(image) for image in IMAGES])
    np.testing.assert_allclose(turned, same, atol=3)  # which rounds angles to whole numbers
    np.testing.assert_array_equal(offloaded(vision.RandomSharpness((1.0, 1.0))), IMAGES)
    flat = np.full((2, 4, 4, 3), 7, np.uint8)
    data = ds.NumpySlicesDataset(flat, ["image"]).map(vision.RandomSharpness(), "image",
                                                      offload=True).batch(2)
    np.testing.assert_allclose(first(data), flat, rtol=1e-6)


def operations_of(dataset):
    model = dataset.create_tuple_iterator(num_epochs=1).offload_model
    return None if model is None else [
        (one.col_idxs, [function.__name__ for function in one.me_ops])
        for one in model.transform_list]


def test_the_last_operations_of_each_map_are_taken_off():
    data = source().map([np.copy, vision.Rescale(2.0, 0.0)], "image", offload=True)
    data = data.map(transforms.TypeCast(ms.int32), "label", offload=True)
    data = data.map(vision.HWC2CHW(), "image", offload=True).batch(2)
    assert operations_of(data) == [([0], ["Rescale"]), ([1], ["TypeCast"]), ([0], ["HWC2CHW"])]
    rows = list(data.create_dict_iterator(num_epochs=1))
    assert rows[0]["image"].shape == (2, 3, 2, 3) and rows[0]["label"].dtype == ms.int32
    np.testing.assert_array_equal(rows[0]["image"].asnumpy(), 2.0 * IMAGES.transpose(0, 3, 1, 2))


def test_what_is_used_behind_stays():
    turned = vision.RandomHorizontalFlip(1.0)
    behind = source().map(turned, "image", offload=True).map(vision.HWC2CHW(), "image")
    assert operations_of(behind) is None
    chosen = source().map(turned, "image", offload=True).filter(lambda *_: True)
    assert operations_of(chosen) is None
    assert operations_of(source().map(np.copy, "image", offload=True)) is None
    ds.config.set_auto_offload(True)
    data = source().map([np.copy, turned], "image")
    assert operations_of(data.map(transforms.TypeCast(ms.int32), "label", offload=False)) == [
        ([0], ["RandomHorizontalFlip"])]
    assert operations_of(source().map(turned, "image", offload=False)) is None
    ds.config.set_auto_offload(False)
    assert operations_of(data) is None


def test_an_iterator_goes_on_where_another_was():
    ds.config.set_seed(1)
    data = source().repeat(3).map(lambda x: x, "label").map(
        transforms.TypeCast(ms.float32), "label", offload=True).batch(2)
    rows = data.create_dict_iterator(num_epochs=2, output_numpy=True)
    next(rows)
    later = data.create_dict_iterator(num_epochs=2, output_numpy=True)
    later.load_state_dict(rows.state_dict())
    assert [row["label"].tolist() for row in later] == [row["label"].tolist() for row in rows]


@pytest.mark.parametrize("make, error, message", [
    (lambda data: data.map(vision.HWC2CHW(), "image", offload=True), ValueError,
     "dimension of input should be 4, but got 3"),
    (lambda data: data.map(vision.HWC2CHW(), "fake", offload=True), RuntimeError,
     r"for an offloaded map operation do not exist: \['fake'\]"),
    (lambda data: data.map(vision.HWC2CHW(), ["image", "label"], offload=True), RuntimeError,
     "does not support map operations with multiple input columns"),
    (lambda data: data.map(vision.HWC2CHW(), "image", offload=True) + source(), RuntimeError,
     "does not support concatenated or zipped datasets"),
])
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        list(make(source()).create_tuple_iterator(num_epochs=1))
