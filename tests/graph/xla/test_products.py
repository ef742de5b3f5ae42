"""Which batched products have one matrix for all of the batch, and what they give."""

import jax
import numpy as np
import pytest
import torch

from lamella.graph.xla.lowering.products import SHARED, with_shared_factors
from lamella.graph.xla.lowering.table import TABLE, Aval

F32 = "float32"


def graph_of(shapes, expanded):
    """A product of two inputs, of which some are expanded before."""
    args, steps = [], []
    for number, (shape, batch) in enumerate(zip(shapes, expanded, strict=True)):
        made = [batch, *shape[-2:]]
        if batch is None:
            args.append({"n": number})
            continue
        args.append({"n": 2 + number})
        steps.append({"op": "expand.default", "to": 2 + number, "aval": [made, F32],
                      "args": [{"n": number}, made, False]})
    sizes = [batch or shape[0] for shape, batch in zip(shapes, expanded, strict=True)]
    aval = [[sizes[0], shapes[0][-2], shapes[1][-1]], F32]
    return [*steps, {"op": "bmm.default", "to": 4, "args": args, "aval": aval}]


@pytest.mark.parametrize("shapes, expanded, shared", [
    (([2, 3, 4], [4, 5]), (None, 2), [0, 1, False]),
    (([2, 3, 4], [1, 4, 5]), (None, 2), [0, 1, False]),
    (([3, 4], [2, 4, 5]), (2, None), [0, 1, True]),
    (([1, 3, 4], [2, 4, 5]), (2, None), [0, 1, True]),
    (([3, 4], [4, 5]), (2, 2), None),  # both: the product itself is one for all
    (([2, 3, 4], [2, 4, 5]), (None, None), None),
    (([1, 3, 4], [4, 5]), (None, 1), None),  # a batch of one
    (([2, 3, 4], [1, 5]), (None, 2), "rows"),  # each row of what is expanded is the same
])
def test_which_products_have_a_shared_factor(shapes, expanded, shared):
    steps = graph_of(shapes, expanded)
    if shared == "rows":
        steps[0]["args"][1] = steps[0]["aval"][0] = [2, 4, 5]
        shared = None
    inputs = [[shape, F32] for shape in shapes]
    found = with_shared_factors(steps, inputs)
    assert found[:-1] == steps[:-1]
    if shared is None:
        assert found == steps
        return
    first, second, is_first = shared
    assert found[-1] == {**steps[-1], "op": SHARED, "args": [{"n": first}, {"n": second}, is_first]}
    x, y = (torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))
            for shape in shapes)
    wanted = torch.matmul(x, y)
    for kind in (F32, "bfloat16"):
        row = jax.jit(lambda x, y, kind=kind: TABLE[SHARED](
            Aval(tuple(steps[-1]["aval"][0]), kind), x.astype(kind), y.astype(kind), is_first))
        made = row(x.numpy(), y.numpy())
        assert str(made.dtype) == kind
        limit = 1e-5 if kind == F32 else 5e-2
        np.testing.assert_allclose(np.asarray(made, F32), wanted.numpy(), limit, limit)


@pytest.mark.parametrize("source, shape", [
    ([3, 4], [2, 2, 3, 4]), ([4], [2, 3, 4]), ([2, 3, 4], [2, 3, 4]), ([3, 1], [2, 3, 4]),
    ([1, 3, 1], [2, 3, 4]), (None, [2, 3, 4])])
def test_other_expansions_are_no_matrix_of_the_batch(source, shape):
    steps = [{"op": "expand.default", "to": 2, "args": [{"n": 0}, shape, False],
              "aval": [shape, F32]},
             {"op": "bmm.default", "to": 3, "args": [{"n": 2}, {"n": 1}],
              "aval": [[2, 3, 5], F32]}]
    assert with_shared_factors(steps, [source and [source, F32], [[2, 4, 5], F32]]) == steps


def test_other_operations_of_a_shared_factor_stay():
    steps = graph_of(([2, 3, 4], [3, 4]), (None, 2))
    for op in ("baddbmm.default", "add.Tensor"):
        steps[-1] = {**steps[-1], "op": op}
        assert with_shared_factors(steps, [[[2, 3, 4], F32], [[3, 4], F32]]) == steps
