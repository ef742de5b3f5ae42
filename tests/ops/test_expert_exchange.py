"""Tokens that go to the experts of one process and come back, by a loop."""

import numpy as np
import pytest

from lamella import Tensor, ops

RNG = np.random.default_rng(8)
X = RNG.standard_normal((4, 3)).astype(np.float32)
CHOSEN = np.array([[2, 0], [4, 2], [1, 4], [2, 1]], np.int32)
SCALES = RNG.random((4, 2)).astype(np.float32)
EXPERTS = 5


def dispatched():
    rows, _, places, _, counts, *_ = ops.moe_distribute_dispatch(
        Tensor(X), Tensor(CHOSEN), 1, 0, EXPERTS)
    return rows, places, counts


def test_rows_are_those_of_each_expert_in_order():
    rows, places, _ = dispatched()
    order = [(token, k) for expert in range(EXPERTS) for token, k in np.argwhere(CHOSEN == expert)]
    np.testing.assert_array_equal(rows.asnumpy()[:8], X[[token for token, _ in order]])
    np.testing.assert_array_equal(
        rows.asnumpy()[places.asnumpy().reshape(4, 2)], np.repeat(X[:, None], 2, 1))


def test_what_experts_made_is_summed_by_scales():
    rows, places, counts = dispatched()
    factors = np.array([1.0, -2.0, 0.5, 3.0, 7.0], np.float32)  # what each expert multiplies by
    made = rows.asnumpy() * np.repeat(factors, np.bincount(CHOSEN.ravel(), minlength=5))[:, None]
    found = ops.moe_distribute_combine(Tensor(made), Tensor(CHOSEN), places, counts,
                                       Tensor(SCALES), 1, 0, EXPERTS)
    wanted = (SCALES * factors[CHOSEN]).sum(1, keepdims=True) * X
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("wrong, text", [
    ({"rows": 7}, "add up to"), ({"counts": 4}, "must be 5 numbers"),
    ({"scales": (4, 1)}, "'expert_scales'"), ({"places": 7}, "'expand_idx'")])
def test_what_comes_back_fits_what_went(wrong, text):
    rows, places, counts = dispatched()
    scales = Tensor(SCALES)
    if "rows" in wrong:
        rows = rows[:7]
    if "counts" in wrong:  # of four experts, with as many rows
        counts = Tensor(np.array([1, 2, 3, 2], np.int32))
    if "scales" in wrong:
        scales = scales[:, :1]
    if "places" in wrong:
        places = places[:7]
    with pytest.raises(ValueError, match=text):
        ops.moe_distribute_combine(rows, Tensor(CHOSEN), places, counts, scales, 1, 0, EXPERTS)


@pytest.mark.parametrize("name", ["tp_world_size", "tp_rank_id", "expert_shard_type",
                                  "shared_expert_num", "out_dtype", "shared_export_rank_num",
                                  "common_quant_mode", "group_list_type"])
def test_options_of_other_devices_are_refused(name):
    rows, places, counts = dispatched()
    given = (rows, Tensor(CHOSEN), places, counts, Tensor(SCALES), 1, 0, EXPERTS)
    ops.moe_distribute_combine(*given, **{name: 0})
    with pytest.raises((ValueError, NotImplementedError, TypeError), match=name):
        ops.moe_distribute_combine(*given, **{name: 2})


