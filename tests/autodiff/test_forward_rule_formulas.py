"""The formulas of forward mode as Python runs them, beside PyTorch's kernels of the same name."""

import pytest
import torch

from lamella.autodiff import forward_rules as rules

aten = torch.ops.aten
GENERATOR = torch.Generator().manual_seed(4)


def normal(*shape, dtype=torch.float64):
    return torch.randn(shape, generator=GENERATOR, dtype=dtype)


def test_sums_of_a_diagonal_and_logarithms_of_sigmoids():
    x = normal(3, 5)
    assert rules._trace(x) == x[0, 0] + x[1, 1] + x[2, 2]
    wide = torch.tensor([-800.0, -2.0, 0.0, 0.5, 800.0], dtype=torch.float64)
    value, buffer = rules._log_sigmoid(wide)
    torch.testing.assert_close(value, -torch.logaddexp(-wide, torch.zeros_like(wide)))
    torch.testing.assert_close(buffer, torch.exp(-wide.abs()))


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("formula, forward, kernel", [
    (rules._softmax_backward, torch.softmax, aten._softmax_backward_data),
    (rules._log_softmax_backward, torch.log_softmax, aten._log_softmax_backward_data)])
def test_gradients_of_softmax(formula, forward, kernel, dim):
    x, flow = normal(3, 4, 2), normal(3, 4, 2)
    out = forward(x, dim)
    found = formula(flow, out, dim, torch.float64)
    torch.testing.assert_close(found, kernel(flow, out, dim, torch.float64))
    assert formula(flow, out, dim, torch.float32).dtype is torch.float32


@pytest.mark.parametrize("shape", [(5,), (3, 5), (3, 5, 2, 4)])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("ignored", [-100, 2, 0])
def test_gradients_of_the_loss_by_classes(shape, is_weighted, reduction, ignored):
    x = normal(*shape)
    labels = shape[:1] + shape[2:] if len(shape) > 1 else ()
    target = torch.randint(0, 5, labels, generator=GENERATOR)
    if target.numel() > 1:
        target.view(-1)[0], target.view(-1)[1] = max(ignored, 0), 4
    weight = torch.tensor([0.5, 2.0, 1.0, 3.0, 0.25], dtype=torch.float64) if is_weighted else None
    forward, kernel = ((aten.nll_loss2d_forward, aten.nll_loss2d_backward) if len(shape) == 4
                       else (aten.nll_loss_forward, aten.nll_loss_backward))
    out, total = forward(x, target, weight, reduction, ignored)
    given = normal(*out.shape), x, target, weight, reduction, ignored, total
    want = kernel(*given)
    if total or reduction != 1:  # else by 0
        torch.testing.assert_close(rules._nll_loss_backward(*given), want)


@pytest.mark.parametrize("inner", [1, 2, 3])
@pytest.mark.parametrize("mask", [(True, True, True), (True, False, False), (False, True, False),
                                  (False, False, True)])
@pytest.mark.parametrize("weight, bias", [(True, True), (True, False), (False, True)])
def test_gradients_of_layer_norms(inner, mask, weight, bias):
    x = normal(3, 4, 2) * 3 + 1
    shape = list(x.shape[-inner:])
    weight = normal(*shape) if weight else None
    bias = normal(*shape) if bias else None
    _, mean, rstd = aten.native_layer_norm(x, shape, weight, bias, 0.3)
    given = normal(*x.shape), x, shape, mean, rstd, weight, bias
    affine = [True, weight is not None, bias is not None]
    wanted = aten.native_layer_norm_backward(*given, affine)
    found = rules._layer_norm_backward(*given, list(mask))
    for number, one in enumerate(found):
        if mask[number] and affine[number]:
            torch.testing.assert_close(one, wanted[number])
        else:
            assert one.shape == (1,) and not one.any()


def test_gradients_of_layer_norms_of_half_precision_have_its_type():
    x, weight, bias = (normal(4, 6).bfloat16(), normal(6).bfloat16(), normal(6).bfloat16())
    wide = [t.float() for t in (x, weight, bias)]
    flow = normal(4, 6).bfloat16()
    _, mean, rstd = aten.native_layer_norm(wide[0], [6], *wide[1:], 1e-5)
    found = rules._layer_norm_backward(flow, x, [6], mean, rstd, weight, bias, [True] * 3)
    wanted = aten.native_layer_norm_backward(flow.float(), wide[0], [6], mean, rstd, *wide[1:],
                                             [True] * 3)
    for one, two in zip(found, wanted, strict=True):
        assert one.dtype is torch.bfloat16
        torch.testing.assert_close(one, two.bfloat16(), rtol=2**-7, atol=1e-6)


@pytest.mark.parametrize("shape", [(5, 3), (4, 3, 2), (2, 3, 4, 5)])
@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("is_weighted", [True, False])
@pytest.mark.parametrize("mask", [(True, True, True), (True, False, False), (False, True, False),
                                  (False, False, True)])
def test_gradients_of_batch_norms(shape, train, is_weighted, mask):
    x, eps = normal(*shape) * 2 + 1, 0.2
    weight = normal(3) if is_weighted else None
    running = normal(3), normal(3).square() + 0.5
    _, mean, scale = aten.native_batch_norm(x, weight, None, *[t.clone() for t in running], train,
                                            0.1, eps)
    flow = normal(*shape)
    wanted = aten.native_batch_norm_backward(flow, x, weight, *running, mean, scale, train, eps,
                                             [True] * 3)
    found = rules._batch_norm_backward(flow, x, weight, *running, mean, scale, train, eps,
                                       list(mask))
    for number, one in enumerate(found):
        if mask[number]:
            torch.testing.assert_close(one, wanted[number])
        else:
            assert one.shape == (1,) and not one.any()


@pytest.mark.parametrize("missing", [0, 1])
def test_batch_norms_without_one_running_value_use_the_batchs(missing):
    x, flow = normal(5, 3), normal(5, 3)
    running = [normal(3), normal(3).square() + 1]
    running[missing] = None
    _, by_weight, by_bias = rules._batch_norm_backward(
        flow, x, None, *running, None, None, False, 0.1, [False, True, True])
    normed = (x - x.mean(0)) / (x.var(0, unbiased=False) + 0.1).sqrt()
    torch.testing.assert_close(by_weight, (flow * normed).sum(0))
    torch.testing.assert_close(by_bias, flow.sum(0))


def zero(*shape, dtype=torch.float32):
    return torch._efficientzerotensor(shape, dtype=dtype)


@pytest.mark.parametrize("a, b", [
    (zero(3, 1), torch.ones(2)), (torch.ones(2), zero(3, 1)), (zero(4, 1, 2), torch.ones(3, 1)),
    (torch.ones(3, 1), zero(4, 1, 2)), (zero(2), 3), (3.5, zero(2, dtype=torch.int32)),
    (zero(2, dtype=torch.int32), torch.ones(2, dtype=torch.int64)), (zero(1), torch.ones(0)),
    (zero(2), torch.ones(2, dtype=torch.float64))])
def test_products_with_tensors_of_zeros_have_the_usual_form(a, b):
    full = [torch.zeros(t.shape, dtype=t.dtype) if rules._is_zero(t) else t for t in (a, b)]
    for found, want in ((rules._mul(a, b), torch.mul(*full)), (rules._add(a, b), torch.add(*full)),
                        (rules._sub(a, b, alpha=2), torch.sub(*full, alpha=2))):
        assert (found.shape, found.dtype) == (want.shape, want.dtype)
        assert torch.equal(found.clone(), want)
    want = torch.div(*full)
    found = rules._div(a, b)
    assert (found.shape, found.dtype) == (want.shape, want.dtype)
    assert rules._is_zero(found) == rules._is_zero(a)
    torch.testing.assert_close(found.clone(), want, equal_nan=True)
