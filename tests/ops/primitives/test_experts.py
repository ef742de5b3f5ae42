"""Numbers of groups and experts at their limits, weights of the chosen, products of groups."""

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, ops
from lamella.ops.primitives import experts, grouped

RNG = np.random.default_rng(5)
SCORES = RNG.random((3, 6)).astype(np.float32)


def best_groups(groups, k, inner):
    out = SCORES.reshape(3, groups, -1).copy()
    sums = np.sort(out, -1)[..., ::-1][..., :inner].sum(-1)
    for row, order in zip(out, np.argsort(-sums, -1), strict=True):
        row[order[k:]] = 0
    return out.reshape(3, 6)


@pytest.mark.parametrize("groups, k, inner", [(3, 1, 1), (3, 2, 2), (2, 1, 3), (2, 2, 1), (6, 3, 1),
                                              (1, 1, 6)])
def test_the_best_groups_stay(groups, k, inner):
    token = Parameter(Tensor(SCORES), name="t")
    ops.GroupTopk()(token, None, groups, k, inner)
    np.testing.assert_array_equal(token.asnumpy(), best_groups(groups, k, inner))


@pytest.mark.parametrize("numbers", [(0, 1, 1), (4, 1, 1), (3, 0, 1), (3, 4, 1), (3, 1, 0),
                                     (3, 1, 3), (-3, 1, 1)])
def test_groups_that_do_not_fit(numbers):
    with pytest.raises(ValueError, match="'group_num' must divide the 6 experts"):
        ops.GroupTopk()(Tensor(SCORES), None, *numbers)


@pytest.mark.parametrize("norm, scale", [(True, 1.0), (False, 1.0), (True, 2.5), (False, 0.5)])
def test_experts_of_the_best_groups(norm, scale):
    """Chosen by what is added, weighted without it."""
    extra = np.float32([0, 0.9, -0.9, 0.3, 0, 0])
    route = experts.FusedAddTopKDiv()
    found, chosen = route(Tensor(SCORES), Tensor(extra), 3, 2, 1, 2, 0, norm, scale)
    chances = 1 / (1 + np.exp(-SCORES))
    biased = chances + extra
    groups = biased.reshape(3, 3, 2).max(-1)
    for row in range(3):
        allowed = np.repeat(np.isin(np.arange(3), np.argsort(-groups[row])[:2]), 2)
        order = np.argsort(-np.where(allowed, biased[row], -np.inf))[:2]
        assert chosen[row].tolist() == order.tolist()
        weights = chances[row, order]
        weights = weights / weights.sum() if norm else weights
        np.testing.assert_allclose(found[row].asnumpy(), weights * scale, rtol=1e-5)
    assert (found.dtype, chosen.dtype) == (ms.float32, ms.int32)
    for group in (0, 4):
        with pytest.raises(ValueError, match="'group_num' must divide the 6"):
            experts.FusedAddTopKDiv()(Tensor(SCORES), Tensor(extra), group, 1, 1, 1)


def test_results_of_experts_added_up():
    parts, x1, x2 = RNG.normal(size=(6, 2)), RNG.normal(size=(3, 2)), RNG.normal(size=(3, 2))
    bias, scales = RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2))
    rows, which = np.array([3, 1, 5, 0, 2, 4]), np.array([[0, 3], [1, 1], [2, 0]])
    for extra, weights, biases in ((x2, scales, bias), (None, None, None), (x2, None, bias),
                                   (None, scales, None)):
        given = [None if v is None else Tensor(v) for v in (extra, biases, weights)]
        found = experts.MoeFinalizeRouting()(Tensor(parts), Tensor(x1), *given, Tensor(rows),
                                         None if biases is None else Tensor(which))
        wanted = x1 + (0 if extra is None else extra)
        for token, choice in np.ndindex(3, 2):
            part = parts[rows[token + 3 * choice]]
            part = part if biases is None else part + bias[which[token, choice]]
            wanted[token] += part if weights is None else part * scales[token, choice]
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6)
    for given in ((None, Tensor(bias), None, Tensor(rows), None),
                  (None, None, None, Tensor(rows), Tensor(which)),
                  (None, None, None, Tensor(rows[:5]), None)):
        with pytest.raises(ValueError, match="MoeFinalizeRouting"):
            experts.MoeFinalizeRouting()(Tensor(parts), Tensor(x1), *given)
    with pytest.raises(ValueError, match="each choice of 0 tokens"):
        experts.MoeFinalizeRouting()(Tensor(parts), ops.zeros((0, 2), ms.float64),
                                     expanded_row_idx=Tensor(rows))


X, W, B = RNG.normal(size=(6, 3)), RNG.normal(size=(3, 3, 2)), RNG.normal(size=(3, 2))


def products(ends, added=None):
    parts = [X[a:b] @ w for a, b, w in zip([0, *ends[:-1]], ends, W, strict=True)]
    return parts if added is None else [p + b for p, b in zip(parts, added, strict=True)]


@pytest.mark.parametrize("ends", [[2, 5, 6], [0, 0, 6], [1, 2, 4], [2, 2, 2]], ids=str)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True)], ids=str)
def test_products_of_groups_of_rows(ends, turned):
    x = Tensor(X.T.copy() if turned[0] else X)
    w = Tensor(W.swapaxes(1, 2).copy() if turned[1] else W)
    for bias in (None, [Tensor(B)]):
        wanted = products(ends, B if bias else None)
        for given in (ends, Tensor(ends)):
            for item in (0, 1):
                found = ops.GroupedMatmul(item, 0, *turned)([x], [w], bias, group_list=given)
                for one, other in zip(found, wanted, strict=True):
                    np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-6)
            whole = np.concatenate([*wanted, np.zeros((6 - ends[-1], 2))])
            for item in (2, 3):
                [found] = ops.GroupedMatmul(item, 0, *turned)([x], [w], bias, group_list=given)
                np.testing.assert_allclose(found.asnumpy(), whole, rtol=1e-6)
    if turned == (False, False):
        counts = np.diff([0, *ends]).tolist()
        for numbers, kind in ((ends, 0), (counts, 1)):
            [found] = ops.GroupedMatmulV4()([x], [w], None, group_list=numbers, split_item=3,
                                            group_type=0, group_list_type=kind)
            np.testing.assert_allclose(found.asnumpy()[:ends[-1]], np.concatenate(products(ends)),
                                       rtol=1e-6)


@pytest.mark.parametrize("numbers", [[-1, 2, 6], [2, 5, 7], [2, 1, 6], [2, 6]], ids=str)
def test_groups_of_rows_that_do_not_fit(numbers):
    with pytest.raises(ValueError, match="'group_list' must cut|as many parts"):
        ops.GroupedMatmul(0, 0)([Tensor(X)], [Tensor(W)], group_list=numbers)


@pytest.mark.parametrize("options", [{"act_type": 1}, {"group_list_type": 2},
                                     {"group_list_type": -1}, {"split_item": 4},
                                     {"split_item": -1}, {"group_type": 1}, {"group_type": -2},
                                     {"output_dtype": ms.float16}])
def test_options_that_are_not_there(options):
    given = {"group_list": [2, 4, 6], "split_item": 3, "group_type": 0, **options}
    with pytest.raises(ValueError, match="For 'GroupedMatmulV4'"):
        ops.GroupedMatmulV4()([Tensor(X)], [Tensor(W)], **given)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("climbs", [False, True])
def test_a_step_of_adam_w(largest, climbs):
    p, g = RNG.normal(size=(2, 4))
    m, v, most = RNG.uniform(0.1, 1, (3, 4))
    states = [Parameter(Tensor(x), name=n) for x, n in ((p, "p"), (m, "m"), (v, "v"), (most, "x"))]
    grouped.AdamW()(*states, Tensor(g), Tensor([3]), 0.3, 0.7, 0.6, 0.2, 0.15, largest, climbs)
    slope = -g if climbs else g
    first, second = 0.7 * m + 0.3 * slope, 0.6 * v + 0.4 * slope**2
    size = second / (1 - 0.6**3)
    size = np.maximum(size, most) if largest else size
    wanted = p * (1 - 0.3 * 0.2) - 0.3 * first / (1 - 0.7**3) / (np.sqrt(size) + 0.15)
    for state, want in zip(states, (wanted, first, second, size if largest else most), strict=True):
        np.testing.assert_allclose(state.asnumpy(), want, rtol=1e-5)
