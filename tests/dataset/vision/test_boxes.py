"""Boxes that are cut to a part of their image."""

import numpy as np
import pytest

from lamella.dataset.vision.boxes import _cut


@pytest.mark.parametrize("box, want", [
    ((2, 3, 4, 5), (1, 1, 4, 5)), ((0, 0, 3, 4), (0, 0, 2, 2)), ((8, 9, 9, 9), (7, 7, 3, 3)),
    # beside the part, but touching it
    ((0, 3, 1, 2), (0, 1, 0, 2)), ((3, 0, 2, 2), (2, 0, 2, 0)), ((11, 3, 4, 2), (10, 1, 0, 2)),
    ((3, 12, 2, 4), (2, 10, 2, 0)),
    ((0, 3, 0.5, 2), None), ((3, 0, 2, 1.5), None), ((11.5, 3, 4, 2), None),
    ((3, 12.5, 2, 4), None)])
def test_a_box_is_cut_to_a_part(box, want):
    """x, y, width and height, from the part's corner (1, 2) on."""
    boxes = np.array([box, (4, 5, 1, 1)], np.float32)
    found = _cut(boxes, 1, 2, 10, 10)
    assert found.tolist() == [*([] if want is None else [list(want)]), [3, 3, 1, 1]]
    assert boxes.tolist() == [list(box), [4, 5, 1, 1]]
