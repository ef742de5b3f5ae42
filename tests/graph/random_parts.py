"""Statements of random programs that overwrite parts of Tensors whose values were used before."""

from __future__ import annotations

from lamella import ops


def _table(x):
    """A Tensor of two rows that is computed from `x`."""
    return ops.stack([x * 1.5, x - 0.5])


def scales_each_part(s, x):
    m = _table(x)
    for i in range(2):
        for j in range(3):
            m[i][j] *= x[2 - j]
    return m[0] + m[1]


def overwrites_what_a_product_needs(s, x):
    m = _table(x)
    k = (m * m).sum()
    m[0][1] = x[0] * s.number
    return m[0] * m[1] + k


def overwrites_through_a_kept_row(s, x):
    m = _table(x)
    row = m[1]
    squares = row * row
    row[2] = x[1] + 0.25
    return squares - row * m[0]


def overwrites_rows(s, x):
    m = _table(x)
    for row in m:
        row[1] *= x[0]
    return (m * m).sum(0)


def overwrites_pieces(s, x):
    m = _table(x)
    first, second = m.split(1)
    k = (first * second).sum()
    first[0, 1] = x[2]
    m.unbind()[1][0] *= 0.5
    return first[0] + second[0] * k


def overwrites_a_constant_that_was_used(s, x):
    m = ops.ones((2, 3))
    k = m[1] * x
    m[1][1] = x[0]
    m[0] = x * m[0][2]
    return k + m[0] * m[1]


def overwrites_a_part_of_the_input(s, x):
    k = x * x
    x = x.reshape(1, -1)
    x[0][1] = k.sum()
    return x[0] * k.reshape(-1)


STATEMENTS = [scales_each_part, overwrites_what_a_product_needs, overwrites_through_a_kept_row,
              overwrites_rows, overwrites_pieces, overwrites_a_constant_that_was_used,
              overwrites_a_part_of_the_input]
