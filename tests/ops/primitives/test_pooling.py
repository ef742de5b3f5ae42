"""Pooling Primitives beside a loop over windows or PyTorch, and the limits of their arguments."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  (its usual name)

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(2)
IMAGES = RNG.permutation(2 * 3 * 5 * 7).reshape(2, 3, 5, 7).astype(np.float32)
VOLUMES = RNG.permutation(2 * 3 * 4 * 5 * 6).reshape(2, 3, 4, 5, 6).astype(np.float32)
WHOLE = Tensor(IMAGES, ms.int32)
INT32 = ms.int32


def last(x):
    return np.moveaxis(x, 1, -1)


def equal(found, wanted):
    wanted = np.asarray(wanted)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6)


def windows(image, kernel, stride, same):
    """For each place of the result the elements that a window has, with their rows and columns."""
    counts, begins = [], []
    for n, k, s in zip(image.shape, kernel, stride, strict=True):
        count = -(-n // s) if same else (n - k) // s + 1
        counts.append(count)
        begins.append(max((count - 1) * s + k - n, 0) // 2 if same else 0)
    for i in range(counts[0]):
        for j in range(counts[1]):
            rows, columns = (range(max(at * s - b, 0), min(at * s - b + k, n)) for at, s, b, k, n in
                             zip((i, j), stride, begins, kernel, image.shape, strict=True))
            yield i, j, {(y, x): image[y, x] for y in rows for x in columns}


def pooled(images, kernel, stride, same, choose):
    found = {}
    for n, channels in enumerate(images):
        for c, image in enumerate(channels):
            for i, j, elements in windows(image, kernel, stride, same):
                found[n, c, i, j] = choose(c, elements)
    shape = [max(key[axis] for key in found) + 1 for axis in range(4)]
    return np.array([found[key] for key in np.ndindex(*shape)]).reshape(shape)


def place(c, elements):
    """Where the maximum lies in the flattened image, all channels one after the other."""
    y, x = max(elements, key=elements.get)
    return c * 35 + y * 7 + x


@pytest.mark.parametrize("mode", ["valid", "SAME"])
@pytest.mark.parametrize("kernel, stride", [((2, 3), (1, 2)), ((3, 2), (2, 3)), ((4, 4), (3, 3))])
def test_windows_with_a_pad_mode(mode, kernel, stride):
    same, x = mode == "SAME", Tensor(IMAGES)
    greatest = pooled(IMAGES, kernel, stride, same, lambda c, part: max(part.values()))
    mean = pooled(IMAGES, kernel, stride, same, lambda c, part: np.mean(list(part.values())))
    places = pooled(IMAGES, kernel, stride, same, place)
    equal(ops.MaxPool(kernel, stride, mode)(x), greatest)
    equal(ops.MaxPool(kernel, stride, mode, "NHWC")(Tensor(last(IMAGES))), last(greatest))
    equal(ops.AvgPool(kernel, stride, mode)(x), mean)
    equal(ops.AvgPool(kernel, stride, mode, "NHWC")(Tensor(last(IMAGES))), last(mean))
    for given in ((kernel, stride), ((1, 1, *kernel), (1, 1, *stride))):
        values, found = ops.MaxPoolWithArgmax(*given, mode)(x)
        equal(values, greatest)
        equal(found, places)
        assert found.dtype is INT32


def test_maxima_with_indices_of_one_number_for_both_sides():
    values, found = ops.MaxPoolWithArgmax(2, 2, "same")(Tensor(IMAGES))
    equal(values, pooled(IMAGES, (2, 2), (2, 2), True, lambda c, part: max(part.values())))
    equal(found, pooled(IMAGES, (2, 2), (2, 2), True, place))


t = torch.from_numpy


@pytest.mark.parametrize("found, wanted", [
    (lambda: ops.MaxPool3D((2, 3, 1), (1, 2, 2), "pad", (1, 1, 1, 1, 0, 0), True)(Tensor(VOLUMES)),
     lambda: F.max_pool3d(t(VOLUMES), (2, 3, 1), (1, 2, 2), (1, 1, 0), 1, True)),
    (lambda: ops.AvgPool3D((2, 3, 2), (1, 2, 3), "pad", (1, 1, 1, 1, 0, 0), True, False)(
        Tensor(VOLUMES)),
     lambda: F.avg_pool3d(t(VOLUMES), (2, 3, 2), (1, 2, 3), (1, 1, 0), True, False)),
    (lambda: ops.AvgPool3D((2, 3, 2), (1, 2, 3), "pad", (1, 1, 1, 1, 0, 0), False, True, 5)(
        Tensor(VOLUMES)),
     lambda: F.avg_pool3d(t(VOLUMES), (2, 3, 2), (1, 2, 3), (1, 1, 0), False, True, 5)),
    (lambda: ops.MaxPoolWithArgmaxV2((2, 3), (1, 2), (1, 0), (2, 1), True)(Tensor(IMAGES)),
     lambda: F.max_pool2d(t(IMAGES), (2, 3), (1, 2), (1, 0), (2, 1), True, True)),
    (lambda: ops.MaxPool3DWithArgmax((2, 3, 2), (1, 2, 3), (1, 0, 1), (1, 2, 1), True)(
        Tensor(VOLUMES)),
     lambda: F.max_pool3d(t(VOLUMES), (2, 3, 2), (1, 2, 3), (1, 0, 1), (1, 2, 1), True, True)),
    (lambda: ops.AdaptiveMaxPool2D((2, 3))(Tensor(IMAGES)),
     lambda: F.adaptive_max_pool2d(t(IMAGES), (2, 3), True)),
    (lambda: ops.AdaptiveMaxPool3D()(Tensor(VOLUMES), Tensor([2, 3, 4], INT32)),
     lambda: F.adaptive_max_pool3d(t(VOLUMES), (2, 3, 4), True)),
], ids=range(7))
def test_beside_pytorch(found, wanted):
    one, other = found(), wanted()
    for a, b in zip(*((x if isinstance(x, tuple) else (x,)) for x in (one, other)), strict=True):
        equal(a, b)


@pytest.mark.parametrize("made", [
    lambda kind: ops.MaxPoolWithArgmaxV2(2, argmax_type=kind)(Tensor(IMAGES)),
    lambda kind: ops.MaxPool3DWithArgmax(2, 1, 0, argmax_type=kind)(Tensor(VOLUMES))])
@pytest.mark.parametrize("kind", [None, INT32])
def test_the_type_of_indices(made, kind):
    assert made(kind)[1].dtype is (kind or ms.int64)


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("mean", [False, True])
def test_cells_of_fractional_pooling(mean, overlapping):
    """From where a row or column of cells begins to the next, or into the next."""
    kind = ops.FractionalAvgPool if mean else ops.FractionalMaxPool
    x = last(IMAGES)
    out, rows, columns = kind([1.0, 1.3, 2.2, 1.0], False, overlapping, True, 3, 4)(Tensor(x))
    assert (rows.shape, columns.shape) == ((4,), (4,))
    for ends, length in ((rows, 5), (columns, 7)):
        assert ends[0] == 0 and ends[-1] == length and (np.diff(ends.asnumpy()) > 0).all()
    y, z = rows.tolist(), columns.tolist()
    choose = np.mean if mean else np.max
    equal(out, [[[[choose(image[y[i]:y[i + 1] + overlapping, z[j]:z[j + 1] + overlapping, c])
                   for c in range(3)] for j in range(3)] for i in range(3)] for image in x])


def test_seeds_of_fractional_pooling():
    """A deterministic object draws the same at each call, another goes on."""
    x = Tensor(RNG.normal(size=(1, 40, 40, 1)).astype(np.float32))

    def drawn(*options):
        pool = ops.FractionalMaxPool([1.0, 1.7, 1.7, 1.0], False, False, *options)
        return [[part.tolist() for part in pool(x)[1:]] for _ in range(3)]

    for seeds in ((3, 0), (0, 3)):
        first = drawn(True, *seeds)
        assert first[0] == first[1] == first[2] and first == drawn(True, *seeds)
        second = drawn(False, *seeds)
        assert second[0] != second[1] and second == drawn(False, *seeds)
    free = drawn(True)
    assert free[0] != free[1]


@pytest.mark.parametrize("ratio", [
    [1.1, 1.5, 1.5, 1.0], [1.0, 1.5, 1.5, 1.1], [1.0, 0.9, 1.5, 1.0], [1.0, 1.5, 0.9, 1.0],
    [1.0, 1.5, 1.0], [1.0, 1.5, 1.5, 1.0, 1.0]])
def test_ratios_that_do_not_fit(ratio):
    with pytest.raises(ValueError, match="'pooling_ratio' must be 1.0"):
        ops.FractionalMaxPool(ratio)(Tensor(last(IMAGES)))


def test_a_ratio_of_one_keeps_all():
    out, rows, columns = ops.FractionalMaxPool([1.0] * 4)(Tensor(last(IMAGES)))
    equal(out, last(IMAGES))
    assert (rows.tolist(), columns.tolist()) == (list(range(6)), list(range(8)))


def test_windows_at_positions_by_samples():
    samples = RNG.random((2, 3, 2)).astype(np.float32)
    out, places = ops.FractionalMaxPoolWithFixedKsize((2, 3), (3, 4))(Tensor(IMAGES),
                                                                      Tensor(samples))
    wanted = F.fractional_max_pool2d(t(IMAGES), (2, 3), (3, 4), return_indices=True,
                                     _random_samples=t(samples))
    equal(out, wanted[0])
    equal(places, wanted[1])
    samples = RNG.random((2, 3, 3)).astype(np.float32)
    pool = ops.FractionalMaxPool3DWithFixedKsize((1, 3, 2), (3, 2, 4), "NDHWC")
    found = pool(Tensor(last(VOLUMES)), Tensor(samples))
    wanted = F.fractional_max_pool3d(t(VOLUMES), (1, 3, 2), (3, 2, 4), return_indices=True,
                                     _random_samples=t(samples))
    for one, other in zip(found, wanted, strict=True):
        equal(one, last(other.numpy()))


@pytest.mark.parametrize("ksize, size, fits", [
    ((2, 3), (4, 5), True), ((3, 3), (4, 5), False), ((2, 3), (4, 6), False), (5, (1, 3), True)])
def test_windows_that_an_image_holds(ksize, size, fits):
    pool, samples = ops.FractionalMaxPoolWithFixedKsize(ksize, size), ops.zeros((2, 3, 2))
    if fits:
        assert pool(Tensor(IMAGES), samples)[0].shape == (2, 3, *size)
    else:
        with pytest.raises(ValueError, match="'ksize' \\+ 'output_shape' - 1 must be at most"):
            pool(Tensor(IMAGES), samples)


def test_maxima_put_back():
    windows = (2, 3, 2), (1, 2, 4)
    out, places = F.max_pool3d(t(VOLUMES), *windows, return_indices=True)
    for size in ((), (2, 3, 4, 5, 6), (2, 3, 4, 6, 9)):
        equal(ops.MaxUnpool3D(*windows, 0, size)(Tensor(out), Tensor(places)),
              F.max_unpool3d(out, places, *windows, 0, size[2:] or None))
    for size in ((), (2, 4, 6, 9, 3)):
        equal(ops.MaxUnpool3D(*windows, 0, size, "NDHWC")(
            Tensor(last(out.numpy())), Tensor(last(places.numpy()))),
            last(F.max_unpool3d(out, places, *windows, 0, size[1:4] or None).numpy()))
    short = ops.MaxUnpool3D(2, 2, (1, 0, 0))(ops.ones((1, 1, 2, 1, 1)), ops.zeros(
        (1, 1, 2, 1, 1), ms.int64))
    assert short.shape == (1, 1, 2, 2, 2)


@pytest.mark.parametrize("shape, fits", [
    ((2, 3, 3, 4, 4), True), ((2, 3, 5, 4, 4), True), ((2, 3, 2, 4, 4), False),
    ((2, 3, 6, 4, 4), False), ((2, 3, 4, 4, 2), False), ((2, 3, 4, 6, 4), False),
    ((2, 3, 4, 4), False), ((2, 3, 4, 4, 4, 1), False)])
def test_lengths_less_than_a_stride_from_those_of_the_windows(shape, fits):
    x, at = ops.ones((2, 3, 2, 2, 2)), ops.zeros((2, 3, 2, 2, 2), ms.int64)
    unpool = ops.MaxUnpool3D(2, 2, 0, shape)
    if fits:
        assert unpool(x, at).shape == shape
    else:
        with pytest.raises(ValueError, match="'output_shape'"):
            unpool(x, at)


def test_images_put_back():
    out, places = F.max_pool2d(t(IMAGES), (2, 3), (2, 2), return_indices=True)
    for size in ((), (2, 3, 5, 7)):
        equal(ops.MaxUnpool2D((2, 3), (2, 2), 0, size)(Tensor(out), Tensor(places)),
              F.max_unpool2d(out, places, (2, 3), (2, 2), 0, size[2:] or None))


@pytest.mark.parametrize("call, kind", [
    (lambda: ops.MaxPool(pad_mode="pad"), ValueError), (lambda: ops.AvgPool(pad_mode=1),
                                                        ValueError),
    (lambda: ops.MaxPool((1, 2, 3)), ValueError), (lambda: ops.MaxPool(1, (1, 1, 1)), ValueError),
    (lambda: ops.MaxPoolWithArgmax(pad_mode="pad")(Tensor(IMAGES)), ValueError),
    (lambda: ops.MaxUnpool2D(2, data_format="NHWC")(Tensor(IMAGES), WHOLE), ValueError),
    (lambda: ops.FractionalMaxPool((1.0,) * 4), TypeError),
    (lambda: ops.FractionalMaxPool([1.0, 1, 1.0, 1.0]), TypeError),
    (lambda: ops.FractionalMaxPool([1.0] * 4, 1), TypeError),
    (lambda: ops.FractionalMaxPool([1.0] * 4, True, 1), TypeError),
    (lambda: ops.FractionalMaxPool([1.0] * 4, True, True, 1), TypeError),
    (lambda: ops.FractionalMaxPool([1.0] * 4)(Tensor(last(IMAGES), ms.float16)), TypeError),
    (lambda: ops.FractionalMaxPool([1.0] * 4)(Tensor(VOLUMES)), ValueError),
    (lambda: ops.FractionalMaxPoolWithFixedKsize(1, 1, "NHWC"), ValueError),
    (lambda: ops.FractionalMaxPoolWithFixedKsize((1, 1, 1), 1), ValueError),
    (lambda: ops.FractionalMaxPoolWithFixedKsize(1, (1, 1, 1)), ValueError),
    (lambda: ops.FractionalMaxPoolWithFixedKsize(1, 1)(Tensor(VOLUMES), ops.zeros((2, 3, 2))),
     ValueError),
    (lambda: ops.FractionalMaxPoolWithFixedKsize(1, 1)(Tensor(IMAGES), ops.zeros((2, 3))),
     ValueError),
    (lambda: ops.FractionalMaxPoolWithFixedKsize(1, 1)(Tensor(IMAGES), ops.zeros((2, 3, 3))),
     ValueError),
    (lambda: ops.MaxUnpool3D(0), ValueError), (lambda: ops.MaxUnpool3D(1, -1), ValueError),
    (lambda: ops.MaxUnpool3D(1, 1, -1), ValueError),
    (lambda: ops.MaxUnpool3D(1, data_format="NCHW"), ValueError),
    (lambda: ops.MaxUnpool3D(1)(Tensor(VOLUMES), Tensor(VOLUMES)), TypeError),
    (lambda: ops.MaxUnpool3D(1)(Tensor(VOLUMES), Tensor(VOLUMES[:1], INT32)), ValueError),
    (lambda: ops.MaxUnpool3D(2, 2, 1)(ops.ones((1, 1, 1, 1, 1)), ops.zeros((1, 1, 1, 1, 1), INT32)),
     ValueError),
], ids=range(26))
def test_arguments_that_do_not_fit(call, kind):
    with pytest.raises(kind, match="^For "):
        call()


@pytest.mark.parametrize("kernel", [(1, 2, 3), (3, 1, 2), (2, 3, 1), (1, 1, 1)])
def test_places_of_unpooled_volumes_end_with_their_elements(kernel):
    unpool, one, count = ops.MaxUnpool3D(kernel), ops.ones((1, 1, 1, 1, 1)), int(np.prod(kernel))
    for place in (0, count - 1):
        found = unpool(one, Tensor(np.full((1, 1, 1, 1, 1), place)))
        assert found.shape == (1, 1, *kernel) and found.reshape(-1).tolist().index(1) == place
    for place in (-1, count):
        with pytest.raises(ValueError, match=rf"must be in \[0, {count}\)"):
            unpool(one, Tensor(np.full((1, 1, 1, 1, 1), place)))
    with pytest.raises(ValueError, match="size must be positive"):
        ops.MaxUnpool3D(2, 2, 1)(one, Tensor(np.zeros((1, 1, 1, 1, 1), np.int64)))


@pytest.mark.parametrize("ratio", [[1.0, 1.0, 1.5, 1.0], [1.0, 1.5, 1.0, 1.0]])
def test_one_side_of_images_may_stay(ratio):
    for kind in (ops.FractionalMaxPool, ops.FractionalAvgPool):
        out, rows, columns = kind(ratio)(Tensor(last(IMAGES)))
        assert out.shape == (2, int(5 / ratio[1]), int(7 / ratio[2]), 3)
        for edges, length, shrunk in ((rows, 5, ratio[1]), (columns, 7, ratio[2])):
            assert edges[0] == 0 and edges[-1] == length
            assert shrunk > 1 or edges.tolist() == list(range(length + 1))
    for wrong in ([1.0, 0.9, 1.5, 1.0], [1.0, 1.5, 0.9, 1.0], [1.5, 1.0, 1.0, 1.0],
                  [1.0, 1.0, 1.0, 1.5], [1.0] * 3, [1.0] * 5):
        with pytest.raises(ValueError, match="must be 1.0, two numbers of 1.0 or more, and 1.0"):
            ops.FractionalMaxPool(wrong)(Tensor(last(IMAGES)))
