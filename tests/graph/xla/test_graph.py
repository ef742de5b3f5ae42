"""Functions of described graphs: the arrays that they give, and rows that give something else."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from lamella.graph.xla.lowering import NotLowered
from lamella.graph.xla.lowering.graph import apply, function_of
from lamella.graph.xla.text import MOST_PACKED, described
from tests.graph.passes.checks import recorded

X = torch.arange(12.0).reshape(3, 4) + 1
LARGE = MOST_PACKED + 1


def arrays_of(fn, checks=0):
    """The arrays that the code of a function gives."""
    text = described(recorded(fn, X), [X], checks)
    with jax.enable_x64(True):
        return [np.asarray(made) for made in function_of(text)(jnp.asarray(X.numpy()))]


@pytest.mark.parametrize("fn, shapes", [
    (lambda x: [x * 2], [(3, 4)]), (lambda x: [(x * 2).T], [(3, 4)]),
    (lambda x: [(x.sum(0) + 1).expand(3, 4)], [(4, 1)]),
    (lambda x: [(x * 2)[:, :2]], [(10,)]), (lambda x: [(x * 2)[:, 1:].T], [(11,)]),
    (lambda x: [x * 2, x.sum(0)], [(16,)]), (lambda x: [x * 2, x > 1, x.sum()], [(13,), (3, 4)]),
    (lambda x: [x * 2, (x.sum() + 1).expand(LARGE), x.sum() + x.new_zeros(LARGE)],
     [(3, 4), (1,), (LARGE,)])])
def test_arrays_hold_what_has_to_lie_in_memory(fn, shapes):
    found = arrays_of(fn)
    assert [made.shape for made in found] == shapes


@pytest.mark.parametrize("fn, shapes, flags", [
    (lambda x: [x * 2, x.sum(1), (x > 11).any()], [(16,)], [(0, 15, 1.0)]),
    (lambda x: [x * 2, x.sum(1), (x > 12).any()], [(16,)], [(0, 15, 0.0)]),
    (lambda x: [x > 3, (x > 11).any()], [(13,)], [(0, 12, True)]),
    (lambda x: [x.sum() + x.new_zeros(LARGE), (x > 11).any()], [(LARGE,), ()], [(1, 0, True)]),
    (lambda x: [x.sum() + x.new_zeros(LARGE), (x > 12).any()], [(LARGE,), ()], [(1, 0, False)])])
def test_the_flag_stands_behind_small_results_or_alone(fn, shapes, flags):
    found = arrays_of(fn, 1)
    assert [made.shape for made in found] == shapes
    for array, place, value in flags:
        assert found[array].reshape(-1)[place] == value


def test_results_with_gaps_lie_where_their_strides_say():
    (found,) = arrays_of(lambda x: [(x * 2)[:, 1:].T])
    assert found.tolist() == [4, 6, 8, 0, 12, 14, 16, 0, 20, 22, 24]


@pytest.mark.parametrize("aval, is_right", [
    ([[3, 4], "float32"], True), ([[4, 3], "float32"], False), ([[12], "float32"], False),
    ([[3, 4], "float64"], False)])
def test_a_row_gives_the_shape_and_type_of_the_kernel(aval, is_right):
    x = jnp.asarray(X.numpy())
    several = {"aval": [aval, [[3, 4], "int64"]]}
    with jax.enable_x64(True):
        if is_right:
            assert apply({"aval": aval}, "relu.default", [x]).shape == (3, 4)
            assert len(apply(several, "sort.default", [x, 1, False])) == 2
        else:
            with pytest.raises(NotLowered, match="relu.default gives float32"):
                apply({"aval": aval}, "relu.default", [x])
            with pytest.raises(NotLowered, match="sort.default gives float32"):
                apply(several, "sort.default", [x, 1, False])


def test_an_unknown_row_is_an_error():
    with pytest.raises(NotLowered, match="no.such"):
        apply({"aval": [[], "float32"]}, "no.such", [])
