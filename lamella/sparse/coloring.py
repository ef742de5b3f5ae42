"""Column colouring of a sparse matrix: columns of one colour have no row in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def column_colors(rows: Sequence[int], columns: Sequence[int], count: int) -> np.ndarray:
    """A colour for each of `count` columns, greedily, from 0 on.

    Columns of one colour can be found in one product with the matrix (Curtis, Powell and Reid, "On
    the estimation of sparse Jacobian matrices", 1974). Those with the most entries come first
    (Coleman and More, "Estimation of sparse Jacobian matrices and graph coloring problems", 1983).

    Args:
        rows, columns: the coordinates of what isn't zero.
    """
    in_column: list[list[int]] = [[] for _ in range(count)]
    in_row: dict[int, list[int]] = {}
    for row, column in zip(rows, columns, strict=True):
        in_column[column].append(row)
        in_row.setdefault(row, []).append(column)
    colors = np.full(count, -1, np.int64)
    for column in sorted(range(count), key=lambda c: -len(in_column[c])):
        taken = {int(colors[other]) for row in in_column[column] for other in in_row[row]}
        color = 0
        while color in taken:
            color += 1
        colors[column] = color
    return colors
