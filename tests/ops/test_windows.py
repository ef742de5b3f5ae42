"""What sizes, strides and paddings of windows may be, and the windows they give."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  (its usual name)

from lamella.ops import windows


@pytest.mark.parametrize("value, rank, least, wanted", [
    (1, 2, 1, (1, 1)), (0, 3, 0, (0, 0, 0)), ((5,), 3, 1, (5, 5, 5)), ([2, 3], 2, 1, (2, 3)),
    ((1, 1, 2, 3), 2, 1, (2, 3)), ((1, 1, 2, 3, 4), 3, 1, (2, 3, 4)), ((1, 1, 7), 1, 1, (7,)),
    (windows.LARGEST, 1, 1, (windows.LARGEST,)), ((0, 2), 2, 0, (0, 2))])
def test_a_number_for_each_dimension(value, rank, least, wanted):
    assert windows.each("f", "size", value, rank, least) == wanted


@pytest.mark.parametrize("value, rank, least, kind", [
    (0, 2, 1, ValueError), (-1, 2, 0, ValueError), ((1, 2, 3), 2, 1, ValueError),
    ((1, 2), 3, 1, ValueError), ((1, 2, 3, 4), 3, 1, ValueError), ((), 2, 1, ValueError),
    (windows.LARGEST + 1, 2, 1, ValueError), ((1, windows.LARGEST + 1), 2, 1, ValueError),
    ((1, 0), 2, 1, ValueError), ((-1, 1), 2, 0, ValueError), (True, 2, 0, TypeError),
    (1.0, 2, 1, TypeError), ("1", 2, 1, TypeError), (None, 2, 1, TypeError),
    ((1, 1.0), 2, 1, TypeError), ((True, 1), 2, 1, TypeError)])
def test_numbers_that_are_none_of_windows(value, rank, least, kind):
    with pytest.raises(kind, match="For 'f', 'size' must"):
        windows.each("f", "size", value, rank, least)


@pytest.mark.parametrize("mode, padding, wanted", [
    ("same", 0, "same"), ("VALID", 0, "valid"), ("Pad", 3, "pad"), ("pad", (0, 1), "pad"),
    ("valid", (0, 0), "valid"), ("same", ((0, 0), (0, 0)), "same"), ("same", [0], "same")])
def test_pad_modes(mode, padding, wanted):
    assert windows.pad_mode_of("f", mode, padding) == wanted


@pytest.mark.parametrize("mode, padding", [
    ("same", 1), ("valid", (0, 1)), ("same", ((0, 0), (1, 0))), ("full", 0), (1, 0), ("", 0)])
def test_pad_modes_that_do_not_fit(mode, padding):
    with pytest.raises((ValueError, TypeError), match="For 'f'"):
        windows.pad_mode_of("f", mode, padding)


@pytest.mark.parametrize("padding, rank, wanted", [
    (0, 2, [(0, 0), (0, 0)]), (2, 3, [(2, 2)] * 3), ((1, 2), 2, [(1, 1), (2, 2)]),
    ((1, 2, 3, 4), 2, [(1, 2), (3, 4)]), ([(1, 2), (3, 4)], 2, [(1, 2), (3, 4)]),
    (((1, 2),), 1, [(1, 2)]), ((1, 2), 1, [(1, 2)]), ((3,), 2, [(3, 3), (3, 3)]),
    ((1, 2, 3), 3, [(1, 1), (2, 2), (3, 3)])])
def test_paddings(padding, rank, wanted):
    assert windows.given_padding("f", padding, rank) == wanted


@pytest.mark.parametrize("padding, rank", [(-1, 2), ((1, -1), 2), ((1, 2, 3), 2),
                                           (windows.LARGEST + 1, 1)])
def test_paddings_that_do_not_fit(padding, rank):
    with pytest.raises(ValueError, match="For 'f', 'padding' must"):
        windows.given_padding("f", padding, rank)


def test_as_many_windows_as_strides():
    """With the padding behind longer by one where it can't be the same."""
    for n, k, s, d in itertools.product(range(1, 9), (1, 2, 3), (1, 2, 3), (1, 2)):
        [(before, after)] = windows.same_padding([n], [k], [s], [d])
        assert before >= 0 and after - before in (0, 1)
        reach = d * (k - 1) + 1
        assert (n + before + after - reach) // s + 1 == -(-n // s)
        # not more than is needed for the last window
        assert before + after == max((-(-n // s) - 1) * s + reach - n, 0)


def test_paddings_that_kernels_take():
    raw = torch.arange(24.0).reshape(1, 2, 3, 4)
    same, pads = windows.symmetric(raw, [(1, 1), (0, 0)])
    assert same is raw and pads == [1, 0]
    for value in (0.0, -1.0):
        padded, pads = windows.symmetric(raw, [(1, 2), (0, 3)], value)
        assert pads == [0, 0]
        np.testing.assert_array_equal(padded.numpy(), np.pad(
            raw.numpy(), ((0, 0), (0, 0), (1, 2), (0, 3)), constant_values=value))


@pytest.mark.parametrize("kernel, stride, pairs, dilation", [
    ((2, 3), (1, 2), [(0, 0), (0, 0)], (1, 1)), ((2, 3), (2, 1), [(1, 0), (2, 1)], (1, 1)),
    ((3, 2), (1, 1), [(2, 1), (0, 3)], (1, 2)), ((1, 1), (3, 2), [(0, 0), (0, 0)], (1, 1))])
def test_windows_taken_apart(kernel, stride, pairs, dilation):
    raw = torch.arange(2 * 3 * 5 * 6.0).reshape(2, 3, 5, 6)
    parts = windows.taken_apart(raw, kernel, stride, pairs, dilation, 7.0)
    padded = F.pad(raw, [n for pair in reversed(pairs) for n in pair], value=7.0)
    columns = F.unfold(padded, kernel, dilation, 0, stride)
    wanted = columns.reshape(2, 3, kernel[0] * kernel[1], *parts[0].shape[2:])
    assert len(parts) == kernel[0] * kernel[1]
    for place, part in enumerate(parts):
        assert torch.equal(part, wanted[:, :, place])
