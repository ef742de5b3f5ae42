"""Every operation that MindIR nodes are written for, written and read again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella.train.mindir.lowering.table import TABLE

from .operations import FAMILIES, Network, tensors

CASES = {name: case for family in FAMILIES.values() for name, case in family.items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_operations_are_written_and_read(family, tmp_path):
    """All of a family in one file: writing one takes a second whatever is in it."""
    names, cases = list(FAMILIES[family]), list(FAMILIES[family].values())
    net: Any = Network(cases)
    inputs = [each for case in cases for each in tensors(case)]
    path = str(tmp_path / "a.mindir")
    ms.export(net, *inputs, file_name=path, file_format="MINDIR")
    found = iter(ms.nn.GraphCell(ms.load(path))(*inputs))
    for name, case in zip(names, cases, strict=True):
        for theirs in Network([case])(*tensors(case)):
            ours = next(found)
            assert ours.dtype == theirs.dtype, name
            np.testing.assert_allclose(ours.asnumpy(), theirs.asnumpy(), rtol=1e-5, atol=1e-5,
                                       err_msg=name)
    assert next(found, None) is None


def test_every_operation_of_the_table_has_a_case():
    assert set(TABLE) <= set(CASES)


