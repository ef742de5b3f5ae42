"""The tables of other frameworks' names: what they say is there, and means the same."""

from __future__ import annotations

import importlib
import operator
from typing import Any

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import mint, nn, ops
from lamella.compat.foreign_names import FOREIGN_NAMES, ForeignName, in_class, in_module

X = np.array([[1.5, -2.0, 0.25], [0.5, 3.0, -1.0]], np.float32)
Y = np.array([[0.5, 1.0, 2.0], [4.0, 0.25, 3.0]], np.float32)
I = np.array([2, 0])  # noqa: E741
OURS = {"ms": ms, "nn": nn, "ops": ops, "mint": mint}


def resolved(path: str) -> Any:
    """A name relative to `lamella`, whose rooms may have to be imported."""
    found: Any = ms
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(f"{found.__name__}.{part}")
    return found


def test_names_are_unique_and_many() -> None:
    names = [row.name for row in FOREIGN_NAMES]
    assert len(names) == len(set(names)) >= 200
    assert {row.framework for row in FOREIGN_NAMES} == {"PyTorch", "JAX"}


@pytest.mark.parametrize("row", FOREIGN_NAMES, ids=operator.attrgetter("name"))
def test_what_a_row_names_is_there(row: ForeignName) -> None:
    assert row.here and row.remedy and row.remedy[-1] not in ".!"
    for path in row.here:
        assert resolved(path) is not None
    assert bool(row.theirs) == bool(row.ours)


@pytest.mark.parametrize("row", [r for r in FOREIGN_NAMES if r.framework == "PyTorch"
                                 and r.name.startswith("torch.")], ids=operator.attrgetter("name"))
def test_pytorch_has_the_name(row: ForeignName) -> None:
    found: Any = torch
    for part in row.name.split(".")[1:]:
        if not hasattr(found, part):
            importlib.import_module(f"{found.__name__}.{part}")
        found = getattr(found, part)


@pytest.mark.parametrize("row", [r for r in FOREIGN_NAMES if r.theirs],
                         ids=operator.attrgetter("name"))
def test_both_expressions_compute_the_same(row: ForeignName) -> None:
    ours = eval(row.ours, {**OURS, "x": ms.Tensor(X), "y": ms.Tensor(Y), "i": ms.Tensor(I)})
    if row.framework == "PyTorch":
        given = {"torch": torch, "x": torch.tensor(X), "y": torch.tensor(Y), "i": torch.tensor(I)}
    else:
        jax = pytest.importorskip("jax", reason="its half of the table is compared with it")
        jnp = importlib.import_module("jax.numpy")
        given = {"jax": jax, "jnp": jnp, "x": jnp.asarray(X), "y": jnp.asarray(Y),
                 "i": jnp.asarray(I)}
    theirs = eval(row.theirs, given)
    if isinstance(theirs, torch.Tensor):
        theirs = theirs.detach().numpy()
    ours = np.asarray(ours)
    assert ours.shape == np.asarray(theirs).shape
    np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-5, atol=1e-6)


def test_the_place_decides_which_name_is_meant() -> None:
    assert in_class(["Adam", "Optimizer", "Cell"], "state_dict") is not in_class(["Cell"],
                                                                                "state_dict")
    found = in_module("lamella.nn", "Module")
    assert found is not None and found.name == "torch.nn.Module"
    assert in_module("lamella", "nothing_like_it") is None
    assert in_module("lamella", "backward") is None or "Tensor" not in str(
        in_module("lamella", "backward"))
