"""Erasing and mixing: which pixels, which shares, and what is refused."""

import itertools
import random

import numpy as np
import pytest

from lamella.dataset import vision
from lamella.dataset.vision.mixing import _side, beta

RNG = np.random.default_rng(8)


class Given:
    """A generator of numbers that are known; whole numbers at the low or the high end."""

    def __init__(self, place=0, gammas=(1.0, 3.0), order=(), shares=()):
        self.place, self.gammas, self.order = place, list(gammas), list(order)
        self.shares, self.ranges = list(shares), []

    def integer(self, low, high):
        self.ranges.append((low, high))
        return (low, high)[self.place]

    def gamma(self, alpha, spare=None):
        self.alpha = alpha
        return self.gammas.pop(0)

    def shuffle(self, values):
        values[:] = self.order

    def float64(self, low, high):
        assert (low, high) == (0, 1)
        return self.shares.pop(0)


class Streams:
    def __init__(self, **options):
        self.generator = Given(**options)

    def of(self, operation):
        return self.generator


@pytest.mark.parametrize("is_hwc, shape", [(True, (5, 7, 3)), (True, (5, 7)), (False, (3, 5, 7)),
                                           (False, (5, 7))])
def test_squares_are_cut_out_by_their_last_corner(is_hwc, shape):
    image = RNG.integers(1, 256, shape).astype(np.uint8)
    operation = vision.CutOut(3, 2, is_hwc)
    for place in (0, 1):
        generator = Given(place)
        drawn = operation.draw(image, generator)
        assert generator.ranges == [(0, 5 + 3), (0, 7 + 3)] * 2
        assert drawn == [((0, 0), (8, 10))[place]] * 2
    for drawn in ([(3, 3), (5, 7)], [(1, 9), (8, 2)], [(0, 4), (4, 0)], [(8, 10), (6, 8)]):
        wanted = image.copy()
        planes = wanted if is_hwc else np.moveaxis(wanted, (-2, -1), (0, 1))
        for bottom, right in drawn:
            for y, x in itertools.product(range(bottom - 3, bottom), range(right - 3, right)):
                if 0 <= y < 5 and 0 <= x < 7:
                    planes[y, x] = 0
        before = image.copy()
        np.testing.assert_array_equal(operation.apply(image, drawn), wanted)
        np.testing.assert_array_equal(image, before)


@pytest.mark.parametrize("shape, is_hwc", [((5, 7, 3), True), ((7, 5, 3), True),
                                           ((3, 5, 7), False), ((3, 7, 5), False)])
def test_squares_are_at_most_the_shorter_side(shape, is_hwc):
    image = np.ones(shape, np.uint8)
    assert vision.CutOut(5, 1, is_hwc)(image).shape == shape
    with pytest.raises(RuntimeError, match="got box length: 6 and the image shape"):
        vision.CutOut(6, 1, is_hwc)(image)


@pytest.mark.parametrize("part, fits", [
    ((0, 0, 4, 6), True), ((1, 2, 3, 4), True), ((3, 5, 1, 1), True), ((1, 0, 4, 6), False),
    ((0, 1, 4, 6), False), ((2, 3, 3, 3), False), ((2, 3, 2, 4), False)])
@pytest.mark.parametrize("value", [0, 7, (1, 2, 3), (9.0, 8.0, 7.0)])
def test_a_part_is_erased_if_it_ends_with_the_image(part, fits, value):
    image = RNG.integers(10, 256, (4, 6, 3)).astype(np.uint8)
    top, left, height, width = part
    operation = vision.Erase(*part, value)
    if fits:
        wanted = image.copy()
        wanted[top:top + height, left:left + width] = value
        np.testing.assert_array_equal(operation(image), wanted)
    else:
        with pytest.raises(RuntimeError, match=f"got box height: {height}box weight: {width}, and"):
            operation(image)


@pytest.mark.parametrize("share, shape, value", [
    (0.25, 1.0, 5), (0.25, 4.0, (1, 2, 3)), (0.1, 0.4, [7, 8, 9])])
@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("place", [0, 1])
def test_where_a_random_part_may_lie(share, shape, value, inplace, place, monkeypatch):
    image = RNG.random((3, 20, 30))
    before = image.copy()
    monkeypatch.setattr(random, "uniform", lambda low, high: low)
    monkeypatch.setattr(random, "randint", lambda *ends: ends[place])
    monkeypatch.setattr(random, "random", lambda: 0.5)
    found = vision.RandomErasing(0.6, (share, share), (shape, shape), value, inplace)(image)
    across = round((share * 600 * shape) ** 0.5)
    down = round(across / shape)
    wanted = before.copy()
    part = np.s_[:, 20 - down:, 30 - across:] if place else np.s_[:, :down, :across]
    wanted[part] = np.reshape(value, (-1, 1, 1))
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(image, wanted if inplace else before)
    assert vision.RandomErasing(0.5, value=value)(image) is image


@pytest.mark.parametrize("area, shape, fits", [
    (0.81, 1.0, True), (1.0, 1.0, False), (0.9, 0.9, False), (0.9, 1 / 0.9, False)])
def test_a_random_part_is_smaller_than_the_image(area, shape, fits, monkeypatch):
    """In both directions; after so many draws the image stays as it is."""
    draws = []
    monkeypatch.setattr(random, "random", lambda: 0.0)
    monkeypatch.setattr(random, "uniform", lambda low, high: draws.append(low) or low)
    image = np.ones((3, 10, 10))
    found = vision.RandomErasing(1.0, (area, area), (shape, shape), max_attempts=4)(image)
    assert (found is image) is not fits and len(draws) == (2 if fits else 8)
    assert found.sum() == (3 * 19 if fits else 300)


@pytest.mark.parametrize("call, error, words", [
    (lambda: vision.RandomErasing(value="black"), ValueError, "'random', or a sequence of 3"),
    (lambda: vision.RandomErasing()(np.ones((4, 4))), TypeError, "<C,H,W>"),
    (lambda: vision.RandomErasing()(np.ones((1, 3, 4, 4))), TypeError, "<C,H,W>"),
    (lambda: vision.Erase(0, 0, 1, 1)(np.ones((4, 4, 2), np.uint8)), RuntimeError, "Erase"),
])
def test_what_is_not_erased(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("centre, length, size, wanted", [
    (5, 4, 20, (3, 7)), (5, 5, 20, (3, 7)), (1, 4, 20, (0, 3)), (18, 6, 20, (15, 19)),
    (19, 2, 20, (18, 19)), (20, 0, 20, (19, 20)), (5, 0, 20, (5, 6)), (5, 1, 20, (5, 6)),
    (10, 40, 20, (0, 19)), (0, 0, 1, (0, 1)), (1, 1, 1, (0, 1)), (0, 5, 1, (0, 1))])
def test_where_a_part_begins_and_ends(centre, length, size, wanted):
    assert _side(centre, length, size) == wanted


@pytest.mark.parametrize("gammas, share", [((1.0, 3.0), 0.25), ((0.0, 2.0), 0.0),
                                           ((2.0, 0.0), 1.0), ((0.0, 0.0), 0.5)])
def test_a_share_of_two_gamma_distributions(gammas, share):
    generator = Given(gammas=gammas)
    assert beta(generator, 0.7) == share and generator.alpha == 0.7


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
@pytest.mark.parametrize("more", [(), (4,)])
def test_images_and_labels_are_mixed_by_one_share(kind, more):
    images = (RNG.random((3, 4, 5, 3)) * 255).astype(kind)
    labels = RNG.integers(0, 9, (3, *more, 6)).astype(np.float32)
    order = [2, 0, 1]
    streams = Streams(gammas=(1.0, 3.0), order=order)
    found, mixed = vision.MixUpBatch(0.7).run((images, labels), streams)
    wanted = 0.25 * images + 0.75 * images[order].astype(float)
    assert found.dtype == kind
    np.testing.assert_allclose(found, np.rint(wanted) if kind is np.uint8 else wanted, rtol=1e-5)
    np.testing.assert_allclose(mixed, 0.25 * labels + 0.75 * labels[order], rtol=1e-6)


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("place", [0, 1])
def test_a_part_comes_from_another_image(last, channels, place):
    images = RNG.integers(0, 256, (3, 8, 12, channels)).astype(np.uint8)
    labels, order = np.eye(3, dtype=np.float32), [1, 2, 0]
    # a share of 7/16: the sides are 3/4 of the image's; the last one isn't mixed
    streams = Streams(place=place, gammas=(7.0, 9.0) * 3, order=order, shares=(0.0, 0.59, 0.6))
    layout = vision.ImageBatchFormat.NHWC if last else vision.ImageBatchFormat.NCHW
    given = images if last else images.transpose(0, 3, 1, 2)
    found, mixed = vision.CutMixBatch(layout, 1.0, 0.6).run((given, labels), streams)
    found = found if last else found.transpose(0, 2, 3, 1)
    rows, columns = (slice(5, 7), slice(8, 11)) if place else (slice(0, 3), slice(0, 4))
    kept = 1 - (rows.stop - rows.start) * (columns.stop - columns.start) / 96
    wanted, shares = images.copy(), labels.copy()
    for one in (0, 1):
        wanted[one, rows, columns] = images[order[one], rows, columns]
        shares[one] = kept * labels[one] + (1 - kept) * labels[order[one]]
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_allclose(mixed, shares, rtol=1e-6)
    assert streams.generator.ranges == [(0, 12), (0, 8)] * 2


LABELS = np.eye(2, dtype=np.float32)


@pytest.mark.parametrize("kind", [lambda: vision.MixUpBatch(), lambda: vision.CutMixBatch(
    vision.ImageBatchFormat.NHWC)], ids=["mix", "cut"])
@pytest.mark.parametrize("values, words", [
    ((np.ones((2, 4, 5, 3)),), "got: 1"),
    ((np.ones((2, 4, 5, 3)), LABELS, LABELS), "got: 3"),
    ((np.ones((4, 5, 3)), LABELS), r"shape \[4, 5, 3\]"),
    ((np.ones((1, 2, 4, 5, 3)), LABELS), "after 'batch'|shape"),
    ((np.ones((3, 4, 5, 3)), LABELS), "batch sizes of image and label"),
    ((np.ones((2, 4, 5, 3)), np.array([["a"], ["b"]])), "numeric type"),
    ((np.ones((2, 4, 5, 3)), np.ones(2)), r"one-hot.*\[2\]"),
    ((np.ones((2, 4, 5, 3)), np.ones((2, 1, 1, 1))), r"one-hot.*\[2, 1, 1, 1\]")])
def test_what_is_not_mixed(kind, values, words):
    operation = kind()
    for labels in (LABELS, LABELS > 0, LABELS.astype(np.uint8), np.ones((2, 3, 4))):
        assert operation(np.ones((2, 4, 5, 3)), labels)[0].shape == (2, 4, 5, 3)
    with pytest.raises(RuntimeError, match=words):
        operation(*values)


@pytest.mark.parametrize("last, shape, fits", [
    (True, (2, 4, 5, 3), True), (True, (2, 4, 5, 1), True), (True, (2, 3, 5, 2), False),
    (True, (2, 3, 1, 4), False), (False, (2, 3, 4, 5), True), (False, (2, 1, 4, 5), True),
    (False, (2, 2, 4, 3), False), (False, (2, 4, 1, 3), False)])
def test_which_channels_are_cut(last, shape, fits):
    layout = vision.ImageBatchFormat.NHWC if last else vision.ImageBatchFormat.NCHW
    images = np.ones(shape, np.uint8)
    if fits:
        assert vision.CutMixBatch(layout)(images, LABELS)[0].shape == shape
    else:
        with pytest.raises(RuntimeError, match="channel"):
            vision.CutMixBatch(layout)(images, LABELS)
