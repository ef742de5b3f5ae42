"""Parts of tensors: any masks and strides take what NumPy's indices take."""

from typing import Any

import numpy as np
import pytest

from lamella import Tensor, ops

RANDOM = np.random.default_rng(3)


def drawn(shape: tuple[int, ...]) -> tuple[Any, list[list[int]], dict[str, int]]:
    """An index of NumPy's, and the arguments of `strided_slice` that say the same."""
    masks = dict.fromkeys(("begin", "end", "ellipsis", "new_axis", "shrink_axis"), 0)
    index: list[Any] = []
    bounds, rest = [], list(shape)
    before = int(RANDOM.integers(0, len(shape) + 1))  # dimensions that entries before `...` name
    after = int(RANDOM.integers(0, len(shape) - before + 1))
    kinds = ["part"] * before + ["ellipsis"] * int(RANDOM.integers(0, 2))
    if "ellipsis" in kinds:
        kinds += ["part"] * after
        rest = rest[:before] + rest[len(rest) - after:]
    for _ in range(int(RANDOM.integers(0, 3))):
        kinds.insert(int(RANDOM.integers(0, len(kinds) + 1)), "new_axis")
    for place, kind in enumerate(kinds):
        length = 0 if kind != "part" else rest.pop(0)
        begin, end = (int(n) for n in RANDOM.integers(-length - 2, length + 3, 2))
        stride = int(RANDOM.choice([-3, -2, -1, 1, 2, 3]))
        if kind == "part":
            kind = str(RANDOM.choice(["shrink_axis", "slice", "begin", "end"]))
        if kind == "shrink_axis":
            begin = int(RANDOM.integers(-length, length))
        if kind in masks:
            masks[kind] |= 1 << place
        entries: dict[str, Any] = {"ellipsis": ..., "new_axis": None, "shrink_axis": begin}
        index.append(entries.get(kind, slice(
            None if kind == "begin" else begin, None if kind == "end" else end, stride)))
        bounds.append((begin, end, stride))
    given = [list(each) for each in zip(*bounds, strict=True)] or [[], [], []]
    return tuple(index), given, {f"{name}_mask": mask for name, mask in masks.items()}


@pytest.mark.parametrize("shape", [(5,), (4, 3), (2, 5, 3), (2, 3, 4, 2)], ids=str)
def test_strided_slices_are_numpys(shape):
    x = np.arange(np.prod(shape)).reshape(shape)
    for _ in range(60):
        index, (begin, end, strides), masks = drawn(shape)
        found = ops.strided_slice(Tensor(x), begin, end, strides, **masks)
        np.testing.assert_array_equal(found.asnumpy(), x[index], f"{index} {masks}")


def test_slices_go_to_the_end_where_no_size_is_given():
    x = np.arange(24).reshape(2, 3, 4)
    for begin in np.ndindex(3, 4, 5):
        for size in ((-1, -1, -1), (1, -1, 0), (0, 2, -1)):
            ends = [b + n if n >= 0 else have for b, n, have in zip(begin, size, x.shape,
                                                                    strict=True)]
            if all(end <= have for end, have in zip(ends, x.shape, strict=True)):
                part = tuple(map(slice, begin, ends))
                found = ops.slice(Tensor(x), begin, size)
                np.testing.assert_array_equal(found.asnumpy(), x[part])
            else:
                with pytest.raises(ValueError, match="must stay within the"):
                    ops.slice(Tensor(x), begin, size)
