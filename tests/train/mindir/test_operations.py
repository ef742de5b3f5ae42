"""Every operation that MindIR nodes are written for, written and read again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella.train.mindir.lowering.table import TABLE

from .operations import FAMILIES, Case, Network, tensors

CASES = {name: case for family in FAMILIES.values() for name, case in family.items()}


@pytest.mark.parametrize("name", CASES)
def test_an_operation_is_written_and_read(name, tmp_path):
    case: Case = CASES[name]
    net: Any = Network([case])
    path = str(tmp_path / "a.mindir")
    ms.export(net, *tensors(case), file_name=path, file_format="MINDIR")
    found = ms.nn.GraphCell(ms.load(path))(*tensors(case))
    wanted = net(*tensors(case))
    found = found if isinstance(found, tuple) else (found,)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours.asnumpy(), theirs.asnumpy(), rtol=1e-5, atol=1e-5)


def test_every_operation_of_the_table_has_a_case():
    assert set(TABLE) <= set(CASES)


