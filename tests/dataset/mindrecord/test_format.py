"""How integers lie in a mindrecord file."""

import numpy as np
import pytest

from lamella.dataset.mindrecord.format import packed_integers, unpacked_integers


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_integers_take_as_few_bytes_as_each_needs(kind):
    widths = {1: [0, -1, 127, -128], 2: [128, -129, 2**15 - 1, -2**15],
              4: [2**15, -2**15 - 1, 2**31 - 1, -2**31]}
    if kind == "int64":
        widths[8] = [2**31, -2**31 - 1, 2**63 - 1, -2**63]
    values = np.array([v for some in widths.values() for v in some][::-1], kind)
    packed = packed_integers(values)
    assert len(packed) == 4 + len(widths) + 4 * sum(widths)  # a count, two bits a number, numbers
    found = unpacked_integers(packed, kind)
    assert found.dtype == kind and np.array_equal(found, values)
    assert not unpacked_integers(packed_integers(values[:0]), kind).size
