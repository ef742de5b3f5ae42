"""Updates of rows that a sparse gradient names more than once, and of 16-bit parameters."""

import numpy as np

import lamella as ms
from lamella import nn, ops


def _state(value: float, name: str) -> ms.Parameter:
    return ms.Parameter(ms.Tensor(np.full((2, 1), value, np.float32)), name=name)


def test_rms_prop_takes_a_step_for_each_of_equal_rows() -> None:
    grads = ms.Tensor([[1.0], [2.0]])
    step = ops.SparseApplyRMSProp(0.5, 0.0, 1e-6)
    both = _state(1.0, "w"), _state(0.0, "s"), _state(0.0, "m")
    step(*both, 0.1, grads, ms.Tensor([1, 1]))
    each = _state(1.0, "w"), _state(0.0, "s"), _state(0.0, "m")
    step(*each, 0.1, grads[:1], ms.Tensor([1]))
    step(*each, 0.1, grads[1:], ms.Tensor([1]))
    for a, b in zip(both, each, strict=True):
        assert np.allclose(a.asnumpy(), b.asnumpy())


def test_adagrad_sums_equal_rows() -> None:
    w, a = _state(1.0, "w"), _state(0.0, "a")
    ops.SparseApplyAdagrad(0.1)(w, a, ms.Tensor([[1.0], [2.0]]), ms.Tensor([1, 1]))
    assert np.allclose(a.asnumpy(), [[0], [9]])


def test_a_gradient_of_zero_moves_no_float16_parameter() -> None:
    for make in (nn.AdaMax, lambda p: nn.Adam(p, use_nesterov=True), nn.AdaFactor):
        w = ms.Parameter(ms.Tensor([1.0, 2.0], ms.float16), name="w")
        make([w])((ms.Tensor([0.0, 0.0], ms.float16),))
        assert np.allclose(w.asnumpy(), [1, 2])


def test_sgd_with_nesterov_starts_from_its_first_gradient() -> None:
    w, a, s = _state(1.0, "w"), _state(5.0, "a"), _state(1.0, "s")
    ops.SGD(nesterov=True)(w, ms.Tensor([[1.0], [1.0]]), 0.1, a, 0.5, s)
    assert np.allclose(a.asnumpy(), 1)
    assert np.allclose(w.asnumpy(), 1 - 0.1 * 1.5)


def test_what_ctc_loss_has_no_state_for_is_minus_infinity() -> None:
    scores = ops.log_softmax(ops.ones((3, 2, 4)))
    _, alpha = ops.ctc_loss(scores, ms.Tensor([[1, 2, 1], [2, 1, 1]]), ms.Tensor([3, 2]),
                            ms.Tensor([2, 1]))
    assert alpha.shape == (2, 3, 7)
    assert np.isneginf(alpha.asnumpy()[:, :, 5:]).all()
    assert np.isneginf(alpha.asnumpy()[1, 2]).all()
    assert np.isneginf(alpha.asnumpy()[1, :, 3:]).all()
