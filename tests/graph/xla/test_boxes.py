"""Rows of boxes, whose places are known or values, beside the same by PyTorch."""

import jax
import numpy as np
import torch

from lamella.graph.xla.lowering.boxes import ADD, FILL, PLACE, PUT, TAKE
from lamella.graph.xla.lowering.table import TABLE, Aval

from . import evaluated


def tensor(*shape, start=1.0):
    return torch.arange(float(np.prod(shape))).reshape(shape) + start


X, PART = tensor(4, 5, 3), tensor(2, 3, start=100.0)
BOX = [[1, 2, 0], [2, 1, 3]]
CALLS = [
    (TAKE, [2, 3], [X, *BOX]), (TAKE, [], [X, [3, 4, 2], [1, 1, 1]]),
    (TAKE, [], [tensor(), [], []]),
    (PUT, [4, 5, 3], [X, PART, *BOX]), (PUT, [], [tensor(), tensor(start=7.0), [], []]),
    (PLACE, [4, 5, 3], [PART, *BOX]), (PLACE, [], [tensor(start=7.0), [], []]),
    (ADD, [4, 5, 3], [X, PART, *BOX]),
    *[(FILL, [4, 5, 3], [X, [now], dim, beyond, 1, X.shape[dim]])
      for dim, now in ((0, 1), (1, 4), (2, 2)) for beyond in (0, -np.inf, X * -1)],
    # of dimensions that views have joined: outer, what grows, inner
    *[(FILL, [2, 24], [tensor(2, 24), [now], 1, beyond, inner, most])
      for now, inner, most in ((3, 1, 4), (1, 3, 4), (5, 2, 12), (5, 4, 6), (2, 1, 24), (7, 3, 8))
      for beyond in (0, 2.5)]]


def test_rows_of_boxes():
    def computed(values, starts):
        found = []
        for (name, shape, args), tensors, its in zip(CALLS, values, starts, strict=True):
            tensors = iter(tensors)
            args = [next(tensors) if isinstance(a, torch.Tensor) else a for a in args]
            if its is not None:
                place = next(i for i, a in enumerate(args) if isinstance(a, list))
                args[place] = [*its]
            found.append(TABLE[name](Aval(tuple(shape), "float32"), *args))
        return found

    values = [[a.numpy() for a in args if isinstance(a, torch.Tensor)] for *_, args in CALLS]
    starts = [next(np.array(a, np.int32) for a in args if isinstance(a, list))
              for *_, args in CALLS]
    known = jax.jit(lambda values: computed(values, [None] * len(CALLS)))(values)
    given = jax.jit(computed)(values, starts)
    for (name, shape, args), *both in zip(CALLS, known, given, strict=True):
        wanted = evaluated.BOXES[name]([shape, "float32"], *args).numpy()
        for found in both:
            np.testing.assert_array_equal(np.asarray(found), wanted, str((name, args)))
