"""Products of a few rows with a large matrix, at the speed of reading the matrix.

Writing a token is such a product for each weight of a language model. The kernel is in C++
(`few_rows.cpp`); whether it is the fastest is measured, once for each shape, on matrices that are
in no cache, since a model's weights aren't.
"""

from __future__ import annotations

import itertools
import pathlib
import time
from typing import Any

import torch

from .extension import Extension
from .measured import Key, Measured
from .products import KERNELS
from .timing import GAIN

MOST = 8  # rows
SMALLEST = 2**16  # elements of a matrix that is worth timing
LARGEST = 2**22  # elements of one that is timed; a larger one takes proportionally longer
SPREAD = 2**26  # bytes of the matrices that are read in turns
ROUNDS = 3
BUDGET = 1.0  # seconds of timing in a process before graphs are hot
TYPES = (torch.float32, torch.bfloat16)

extension = Extension("lamella_few_rows", pathlib.Path(__file__).with_name("few_rows.cpp"),
                      for_this_processor=True)
_spent = 0.0
known = Measured("products_by_rows", {*KERNELS, "rows"})


def by_rows(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """a b + bias, where `b` is the transpose of a matrix in rows. The extension must be there."""
    return torch.ops.lamella.few_rows.default(a, b.t(), bias)


def fastest(rows: int, width: int, columns: int, bias: bool, dtype: torch.dtype, measure: bool
            ) -> str | None:
    """The name of the fastest kernel for (rows, width) times (width, columns).

    Args:
        rows: at most `MOST`.
        width, columns: of a matrix that lies in columns, so that its transpose lies in rows.
        bias: whether a vector is added to each row.
        dtype: one of `TYPES`.
        measure: whether the kernels are timed, if the fastest isn't known, however long that takes.
            A process also spends `BUDGET` on that before its graphs are hot: a step that reads
            weights gains the most, and is long.

    Returns:
        ``"rows"`` or a key of `products.KERNELS`; None if that isn't known.
    """
    if width * columns < SMALLEST:
        return None
    if extension.obtain() is None:
        return None
    key = (rows, width, min(columns, LARGEST // width), bias, str(dtype), torch.get_num_threads())
    return known.find(key, _measured if measure or _spent < BUDGET else None)


def _measured(key: Key) -> str:
    """The fastest kernel of a shape, on matrices that are read from memory."""
    global _spent
    begin = time.perf_counter()
    try:
        return _timed(key)
    finally:
        _spent += time.perf_counter() - begin


def _timed(key: Key) -> str:
    rows, width, columns, bias, name, _ = key
    assert isinstance(rows, int) and isinstance(width, int) and isinstance(columns, int)
    dtype = getattr(torch, str(name).removeprefix("torch."))
    with torch.no_grad():
        count = max(1, SPREAD // (width * columns * dtype.itemsize))
        x = torch.ones(rows, width, dtype=dtype)
        weights = torch.ones(count, columns, width, dtype=dtype).transpose(1, 2)
        added = torch.ones(columns, dtype=dtype) if bias else None
        kernels: dict[str, Any] = {**KERNELS, "rows": by_rows}
        # of each product the shortest time: other programs interrupt few of them, but any round
        best = {kernel: [float("inf")] * count for kernel in kernels}
        for _, (kernel, run) in itertools.product(range(ROUNDS), kernels.items()):
            try:
                run(x, weights[0], added)  # the first run of all makes the kernel
                for at, weight in enumerate(weights):
                    start = time.perf_counter()
                    run(x, weight, added)
                    best[kernel][at] = min(best[kernel][at], time.perf_counter() - start)
            except RuntimeError:
                continue
    took = {kernel: sum(times) for kernel, times in best.items()}
    winner = min(took, key=lambda kernel: took[kernel])
    return winner if took[winner] < GAIN * took["torch"] else "torch"
