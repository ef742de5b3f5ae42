"""The assignment of rows to columns at the least total cost.

By shortest augmenting paths, row by row (Jonker and Volgenant 1987, as Crouse 2016 gives it for
rectangular matrices): each row takes the cheapest column that can be freed by moving other rows.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...core.errors import op
from ...ops.arguments import as_int
from ...tensors.tensor import Tensor


@op
def linear_sum_assignment(cost_matrix: Tensor, maximize: bool,
                          dimension_limit: Any = sys.maxsize) -> tuple[Tensor, Tensor]:
    """The rows and columns of the assignment with the least sum of costs.

    Args:
        cost_matrix: a matrix: what it costs to give a row to a column.
        maximize: whether the greatest sum is wanted instead.
        dimension_limit: only so many columns take part.

    Returns:
        (rows, columns) in int64, as many as the shorter side; with fewer columns -1 at the end.

    Raises:
        TypeError: if `cost_matrix` is no Tensor, or `maximize` no bool.
        ValueError: if `cost_matrix` is no matrix, or holds nan or -inf.

    Examples:
        >>> import lamella as ms
        >>> cost = ms.Tensor([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])
        >>> print(*ms.scipy.optimize.linear_sum_assignment(cost, False))
        [0 1 2] [1 0 2]
    """
    return assigned(cost_matrix, maximize, dimension_limit)


def assigned(cost_matrix: Any, maximize: Any, dimension_limit: Any) -> tuple[Tensor, Tensor]:
    where = "linear_sum_assignment"
    if not isinstance(cost_matrix, Tensor) or not isinstance(maximize, bool):
        raise TypeError(f"For '{where}', 'cost_matrix' must be a Tensor and 'maximize' a bool, "
                        f"but got {type(cost_matrix).__name__} and {type(maximize).__name__}.")
    if cost_matrix.ndim != 2:
        raise ValueError(f"For '{where}', 'cost_matrix' must be a matrix, but got shape "
                         f"{cost_matrix.shape}.")
    limit = as_int(dimension_limit, where, "dimension_limit")
    if limit < 0:
        raise ValueError(f"For '{where}', 'dimension_limit' must be 0 or more, but got {limit}.")
    whole = cost_matrix.asnumpy().astype(np.float64)
    cost = (-whole if maximize else whole)[:, :limit]
    if np.isnan(cost).any() or np.isneginf(cost).any():
        raise ValueError(f"For '{where}', 'cost_matrix' must hold no nan and no cost that is "
                         f"infinitely good.")
    swapped = cost.shape[1] < cost.shape[0]
    columns = _columns_of_rows(cost.T if swapped else cost)
    rows = np.arange(columns.size)
    if swapped:
        order = np.argsort(columns)
        rows, columns = columns[order], rows[order]
    missing = min(whole.shape) - rows.size
    both = (np.concatenate((part, np.full(missing, -1))) for part in (rows, columns))
    first, second = (Tensor(part.astype(np.int64)) for part in both)
    return first, second


def _columns_of_rows(cost: np.ndarray) -> np.ndarray:
    """The column of each row, of which there are at most as many as columns."""
    height, width = cost.shape
    row_of = np.full(width, -1)
    column_of = np.full(height, -1)
    of_row, of_column = np.zeros(height), np.zeros(width)  # the dual variables
    for start in range(height):
        shortest = np.full(width, np.inf)
        came_from = np.full(width, -1)
        rows, done = [start], np.zeros(width, bool)
        row, least = start, 0.0
        while True:
            reached = least + cost[row] - of_row[row] - of_column
            better = ~done & (reached < shortest)
            shortest[better], came_from[better] = reached[better], row
            open_columns = np.where(done, np.inf, shortest)
            least = open_columns.min()
            if not np.isfinite(least):
                raise ValueError("For 'linear_sum_assignment', every assignment costs infinitely "
                                 "much.")
            ties = np.flatnonzero(open_columns == least)
            free = ties[row_of[ties] < 0]
            column = int(free[0] if free.size else ties[0])
            done[column] = True
            if row_of[column] < 0:
                break
            row = int(row_of[column])
            rows.append(row)
        of_row[start] += least
        for other in rows[1:]:
            of_row[other] += least - shortest[column_of[other]]
        of_column[done] -= least - shortest[done]
        while True:  # each row on the path takes the column that was freed for it
            row = int(came_from[column])
            row_of[column] = row
            column, column_of[row] = column_of[row], column
            if row == start:
                break
    return column_of
