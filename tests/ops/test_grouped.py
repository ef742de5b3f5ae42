import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

from ..contracts import check_op

rng = np.random.default_rng(0)
X, W, B = rng.normal(size=(6, 3)), rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 4))


def expected(x, w, b=None, ends=(2, 5)):
    out = np.zeros((len(x), w.shape[2]))
    start = 0
    for n, end in enumerate(ends):
        out[start:end] = x[start:end] @ w[n] + (0 if b is None else b[n])
        start = end
    return out


@pytest.mark.parametrize("operator", [
    lambda x, w, b: ops.GroupedMatmul(3, 0)([x], [w], [b], group_list=Tensor([2, 5]))[0],
    lambda x, w, b: ops.GroupedMatmulV4()([x], [w], [b], group_list=Tensor([2, 3]), split_item=3,
                                          group_type=0, group_list_type=1)[0],
], ids=["ends", "counts"])
def test_groups_of_rows(operator):
    check_op(operator, expected, [X, W, B])


def test_pairs_and_transposed():
    found = ops.GroupedMatmul()([Tensor(X[:2]), Tensor(X[2:])], [Tensor(W[0]), Tensor(W[1])])
    for part, (x, w) in zip(found, ((X[:2], W[0]), (X[2:], W[1])), strict=True):
        np.testing.assert_allclose(part.asnumpy(), x @ w)
    flipped = ops.GroupedMatmul(3, 0, False, True)(
        [Tensor(X)], [Tensor(W.transpose(0, 2, 1))], group_list=[2, 6])[0]
    np.testing.assert_allclose(flipped.asnumpy(), expected(X, W, None, (2, 6)))


@pytest.mark.parametrize("bias", [None, [Tensor(B[0])]], ids=["plain", "bias"])
@pytest.mark.parametrize("item", [0, 1, 2, 3])
def test_a_single_pair_needs_no_groups(item, bias):
    for operator in (ops.GroupedMatmul(item), lambda *given: ops.GroupedMatmulV4()(
            *given, split_item=item)):
        [found] = operator([Tensor(X)], [Tensor(W[0])], bias)
        np.testing.assert_allclose(found.asnumpy(), X @ W[0] + (0 if bias is None else B[0]))


@pytest.mark.parametrize("item", [2, 3])
def test_pairs_below_each_other(item):
    [found] = ops.GroupedMatmul(item)([Tensor(X[:2]), Tensor(X[2:])], [Tensor(w) for w in W])
    np.testing.assert_allclose(found.asnumpy(), expected(X, W, None, (2, 6)))


def adamw(start, slopes, lr, beta1, beta2, decay, eps, amsgrad):
    """The formulas of MindSpore's documentation."""
    w, m, v, most = start, 0.0, 0.0, 0.0
    for step, slope in enumerate(slopes, 1):
        m, v = beta1 * m + (1 - beta1) * slope, beta2 * v + (1 - beta2) * slope ** 2
        size = v / (1 - beta2 ** step)
        most = np.maximum(most, size)
        w = w - lr * decay * w
        w = w - lr * m / (1 - beta1 ** step) / (np.sqrt(most if amsgrad else size) + eps)
    return w


@pytest.mark.parametrize("amsgrad", [False, True])
def test_adamw(amsgrad):
    start, slopes = rng.normal(size=5), rng.normal(size=(4, 5))
    numbers = 0.1, 0.8, 0.9, 0.05, 1e-6
    w, m, v, most = (ms.Parameter(Tensor(a), name=n) for n, a in zip(
        "wmvx", (start, *[np.zeros(5)] * 3), strict=True))
    for step, slope in enumerate(slopes, 1):
        ops.AdamW()(w, m, v, most, Tensor(-slope), Tensor(float(step)), *numbers, amsgrad, True)
    np.testing.assert_allclose(w.asnumpy(), adamw(start, slopes, *numbers, amsgrad), rtol=1e-5)


def test_dropout_in_two_steps():
    x = ops.ones((30, 50))
    draw = ops.DropoutGenMask(3, 4)
    first, second = draw(x.shape, Tensor(0.25)), draw(x.shape, 0.25)
    assert first.dtype is ms.uint8 and first.shape == (192,) and not (first == second).all()
    assert (ops.DropoutGenMask(3, 4)(x.shape, 0.25) == first).all()
    out = ops.DropoutDoMask()(x, first, Tensor(0.25)).asnumpy()
    assert set(np.unique(out)) == {0.0, 4.0} and 0.2 < (out > 0).mean() < 0.3
    slope = ms.grad(lambda x: ops.DropoutDoMask()(x, first, 0.25).sum())(x)
    np.testing.assert_array_equal(slope.asnumpy(), out)
    with pytest.raises(ValueError, match="a bit for each of the 1500"):
        ops.DropoutDoMask()(x, first[:10], 0.25)
    with pytest.raises(ValueError, match=r"'keep_prob' must be in \[0, 1\]"):
        draw(x.shape, 2.0)


def test_moving_and_names_of_formats():
    x = Tensor([1.0])
    assert ops.move_to(x, "CPU").asnumpy() == ops.MoveTo()(x).asnumpy() == 1.0
    assert ops.format_cast(x, 29) is x
    with pytest.raises(ValueError, match="'to' must be"):
        ops.move_to(x, "TPU")
    np.testing.assert_array_equal(ops.pad_ext(Tensor([[1.0]]), (1, 0)).asnumpy(), [[0.0, 1.0]])


@pytest.mark.parametrize("call, text", [
    (lambda: ops.GroupedMatmul(3, 2)([Tensor(X)], [Tensor(W)], group_list=[2, 5]), "'group_type'"),
    (lambda: ops.GroupedMatmul(5, 0)([Tensor(X)], [Tensor(W)], group_list=[2, 5]), "'split_item'"),
    (lambda: ops.GroupedMatmul(3, 0)([Tensor(X)], [Tensor(W)]), "'group_list' must say"),
    (lambda: ops.GroupedMatmul(3, 0)([Tensor(X)], [Tensor(W)], group_list=[5, 2]), "in order"),
    (lambda: ops.GroupedMatmul(3, 0)([Tensor(X)], [Tensor(W)], group_list=[2, 9]), "6 rows"),
    (lambda: ops.GroupedMatmul(3, 0)([Tensor(X)], [Tensor(W)], group_list=[2]), "as many parts"),
    (lambda: ops.GroupedMatmul()([Tensor(X)], [Tensor(W[0])], scale=Tensor(1)), "'scale' is for"),
], ids=range(7))
def test_wrong_arguments(call, text):
    with pytest.raises(ValueError, match=text):
        call()
