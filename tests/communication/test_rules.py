"""What collectives compute of the tensors of all processes, against NumPy."""

import numpy as np
import pytest
import torch

from lamella.communication.rules import check_divisible, combined


@pytest.mark.parametrize("kind", ["float32", "int32", "bool", "complex64"])
@pytest.mark.parametrize("op", ["sum", "avg", "max", "min", "prod"])
def test_combined(op, kind):
    given = np.array([[3, -2, 0, 7], [4, 5, 1, -8], [-1, 5, 0, 2]])
    given = (given > 0 if kind == "bool" else given).astype(kind)
    if (kind, op) in (("bool", "avg"), ("complex64", "max"), ("complex64", "min")):
        return  # not defined
    given = (given * 1j + 1).astype(kind) if kind == "complex64" else given
    found = combined(torch.from_numpy(given), op)
    want = {"sum": np.sum, "avg": np.sum, "max": np.max, "min": np.min, "prod": np.prod}[op](
        given, 0, **({"dtype": kind} if op in ("sum", "avg", "prod") else {}))
    if op == "avg":
        want = want // 3 if kind == "int32" else want / 3
    assert str(found.dtype) == f"torch.{kind}"
    np.testing.assert_allclose(found, want, rtol=1e-6)


@pytest.mark.parametrize("shape, dim, count, text", [
    ((4, 6), 2, 2, "dimension 2 is asked for"), ((4, 6), -3, 2, "dimension -3 is asked for"),
    ((), 0, 1, "dimension 0 is asked for"), ((4, 6), 0, 3, "must be divisible by 3"),
    ((4, 6), -1, 4, "must be divisible by 4")])
def test_dimensions_that_cannot_be_cut(shape, dim, count, text):
    with pytest.raises(ValueError, match=f"For 'AlltoAll', dimension .*{text[-12:]}") as error:
        check_divisible("AlltoAll", shape, dim, count)
    assert text in str(error.value)


def test_dimensions_that_can():
    for shape, dim, count in (((4, 6), 0, 4), ((4, 6), 1, 3), ((4, 6), -2, 2), ((0,), 0, 5)):
        check_divisible("AlltoAll", shape, dim, count)
