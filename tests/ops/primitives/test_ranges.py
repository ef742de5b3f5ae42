"""Numbers that Primitives take up to the edge of a range, and refuse beyond it."""

import numpy as np
import pytest

from lamella import Tensor, ops
from lamella.ops.primitives import experts
from lamella.ops.primitives.neighbours import NeighborExchangeV2

ALONE, NONE = [-1] * 8, [0] * 4


def suppressed(limit):
    boxes = Tensor(np.array([[0, 0, 1, 1], [0, 0, 1, 2]], np.float32))
    return ops.NonMaxSuppressionV3()(boxes, Tensor([0.5, 0.9]), 2, limit, 0.0)


def distorted(size=(8, 6, 3), box=(0.1, 0.1, 0.9, 0.9), least=0.5, **settings):
    return ops.SampleDistortedBoundingBoxV2(seed=1, **settings)(
        Tensor(np.array(size, np.int32)), Tensor(np.array([[box]], np.float32)),
        Tensor(np.array([least], np.float32)))


def routed(bias, choice):
    """Of two tokens with one expert each."""
    given = Tensor(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))
    rows, chosen = (Tensor(np.array(each, np.int32)) for each in ([1, 0], [[0], [1]]))
    return experts.MoeFinalizeRouting()(
        given, given, None, given if bias else None, None, rows, chosen if choice else None)


@pytest.mark.parametrize("call, inside, outside, kind, text", [
    (suppressed, (0.0, 0.5, 1.0), (-0.01, 1.01), ValueError,
     r"'iou_threshold' must be in \[0, 1\]"),
    (lambda n: ops.DataFormatDimMap()(Tensor(np.array([n], np.int32))), (-4, -1, 0, 3), (-5, 4),
     ValueError, r"dimensions must be in \[-4, 4\)"),
    (lambda size: distorted(size), ((8, 6, 3), (1, 1, 1)), ((8, 6), (8, 6, 3, 1)), ValueError,
     "'image_size' must be three lengths"),
    (lambda size: distorted(size), (), ((8, 0, 3), (-1, 6, 3)), RuntimeError, "must be positive"),
    (lambda box: distorted(box=box), ((0, 0, 1, 1), (0.2, 0.3, 0.4, 0.5)), (
        (-0.1, 0, 1, 1), (0, -0.1, 1, 1), (0, 0, 1.1, 1), (0, 0, 1, 1.1), (0.5, 0, 0.5, 1),
        (0, 0.5, 1, 0.5)), RuntimeError, "each of 'bounding_boxes' must be"),
    (lambda least: distorted(least=least), (0.0, 0.5, 1.0), (-0.1, 1.1), RuntimeError,
     r"'min_object_covered' must be in \[0, 1\]"),
    (lambda ends: distorted(area_range=ends), ((0.05, 1.0), (0.5, 0.6)), (
        (0.0, 1.0), (0.5, 0.5), (0.5, 1.1), (0.5,), (0.1, 0.2, 0.3)), ValueError,
     "'area_range' must be two numbers"),
    (lambda ends: distorted(aspect_ratio_range=ends), ((0.05, 9.0),), ((0.0, 1.0), (1.0, 0.5)),
     ValueError, "'aspect_ratio_range' must be two numbers"),
    (lambda most: distorted(max_attempts=most), (1, 2), (0, -1), ValueError, "'max_attempts'"),
    (lambda both: routed(*both), ((True, True), (False, False)), ((True, False), (False, True)),
     ValueError, "must both be given, or neither"),
    (lambda ids: NeighborExchangeV2(ids, NONE, ALONE, NONE, "NCHW"), (ALONE, [0] * 8),
     ([-1] * 7, [-1] * 9, [-2] * 8, [-1] * 7 + [0.5], [-1] * 7 + [-2]), ValueError,
     "'send_rank_ids' must be 8 ints of -1 or more"),
    (lambda ids: NeighborExchangeV2(ALONE, NONE, ids, NONE, "NCHW"), (ALONE,), ([-1] * 7, [-2] * 8),
     ValueError, "'recv_rank_ids' must be 8 ints of -1 or more"),
    (lambda lengths: NeighborExchangeV2(ALONE, lengths, ALONE, NONE, "NCHW"), (NONE, [5] * 4),
     ([0] * 3, [0] * 5, [0, 0, 0, -1]), ValueError, "'send_lens' must be 4 ints of 0 or more"),
    (lambda lengths: NeighborExchangeV2(ALONE, NONE, ALONE, lengths, "NCHW"), (NONE,),
     ([0] * 3, [-1] * 4), ValueError, "'recv_lens' must be 4 ints of 0 or more"),
], ids=range(14))
def test_ranges(call, inside, outside, kind, text):
    for value in inside:
        call(value)
    for value in outside:
        with pytest.raises(kind, match=text):
            call(value)


def test_results_of_experts_put_together():
    given = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(routed(False, False).asnumpy(), given + given[::-1])
    np.testing.assert_array_equal(routed(True, True).asnumpy(), given + given[::-1] + given)
