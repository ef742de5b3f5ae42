"""Sizes and indices that kernels don't check, and the numbers in errors about them."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_asks_for_a_number_for_each_channel(place: int, training: bool) -> None:
    x = ops.ones((2, 5, 3, 3))
    for length in (0, 1, 3, 6):
        given = [ops.ones(length if i == place else 5) for i in range(4)]
        for call in (lambda *a: ops.batch_norm(x, *a, training),
                     ms.jit(lambda *a: ops.batch_norm(x, *a, training), jit_level="O0")):
            with pytest.raises(ValueError, match=r"For 'batch_norm', '\w+' must have shape \(5,\)"):
                call(*given)
    with pytest.raises(ValueError, match="must have rank 2 or more"):
        ops.batch_norm(ops.ones(5), *[ops.ones(5)] * 4, training)


@pytest.mark.parametrize("name", ["gamma", "beta", "moving_mean", "moving_variance"])
def test_batch_norm_layers_whose_parameters_were_replaced(name: str) -> None:
    net = nn.BatchNorm2d(5)
    getattr(net, name).set_data(ops.ones(2), slice_shape=True)
    for mode in (True, False):
        with pytest.raises(ValueError, match=r"must have shape \(5,\)"):
            net.set_train(mode)(ops.ones((2, 5, 2, 2)))


def test_attention_asks_for_as_many_values_as_keys() -> None:
    q, k = ops.ones((1, 2, 3, 4)), ops.ones((1, 2, 7, 4))
    for v in (ops.ones((1, 2, 5, 4)), ops.ones((1, 2, 9, 4)), ops.ones((1, 2, 0, 4))):
        with pytest.raises(ValueError, match="keys and values must be as many"):
            ops.flash_attention_score(q, k, v, 2, input_layout="BNSD")
    with pytest.raises(ValueError, match="keys as wide as queries"):
        ops.flash_attention_score(q, ops.ones((1, 2, 7, 8)), k, 2, input_layout="BNSD")


@pytest.mark.parametrize(("call", "number"), [
    (lambda: ops.gather_elements(Tensor([[1, 2], [3, 4]]), 1, Tensor([[0, -7], [1, 0]])), "-7"),
    (lambda: ops.gather_d(Tensor([[1, 2], [3, 4]]), 1, Tensor([[0, 5], [1, 0]])), "5"),
    (lambda: ops.gather(Tensor([[1, 2, 3]]), Tensor([-9]), 1), "-9"),
    (lambda: ops.gather(Tensor([[1, 2, 3]]), Tensor([[-9]]), 1, 1), "-9"),
    (lambda: ops.index_select(Tensor([1, 2, 3]), 0, Tensor([0, 8])), "8"),
    (lambda: ops.unsorted_segment_sum(Tensor([1.0, 2.0]), Tensor([0, 7]), 2), "7"),
    (lambda: ops.unsorted_segment_max(Tensor([1.0, 2.0]), Tensor([0, 7]), 2), "7")])
def test_errors_tell_the_number_that_was_given(call, number: str) -> None:  # noqa: ANN001
    with pytest.raises(RuntimeError, match=rf"For '\w+', the .* got \[{number}\]\.$"):
        call()


def test_what_has_no_derivative_says_so() -> None:
    with pytest.raises(RuntimeError, match="For 'grad', the operator 'heaviside' has no deriv"):
        ms.grad(ops.heaviside)(Tensor([1.0, 2.0]), Tensor([1.0, 2.0]))


def test_windows_are_refused_where_they_do_not_fit() -> None:
    for call in (lambda: ops.fold(ops.ones((1, 4, 9)), (4, 4), (2, 2), padding=10**6),
                 lambda: nn.MaxPool1d(2, 2)(-1), lambda: nn.MaxPool2d(2, 2)(ops.ones(3)),
                 lambda: ops.AvgPool(2, 2)(Tensor(np.ones((1, 1, 4, 4)), ms.uint16))):
        with pytest.raises((TypeError, ValueError), match=r"^For '\w+', "):
            call()


@pytest.mark.parametrize("kind", ["LSTM", "CudnnGRU"])
@pytest.mark.parametrize("change", ["input", "h", "w", "type"])
def test_packed_recurrent_networks_look_at_sizes(kind: str, change: str) -> None:
    gates = 4 if kind == "LSTM" else 3
    network = getattr(ops, kind)(4, 3, 1, False, False, 0.0)
    x, state = ops.ones((5, 2, 5 if change == "input" else 4)), ops.zeros(
        (1, 7 if change == "h" else 2, 3))
    w = ops.ones((gates * 3 * 7 + (change == "w"), 1, 1), ms.float64 if change == "type" else None)
    states = (state, ops.zeros((1, 2, 3))) if kind == "LSTM" else (state,)
    with pytest.raises((TypeError, ValueError), match=rf"^For '{kind}', .* must have"):
        network(x, *states, w)
    with pytest.raises((TypeError, ValueError), match=rf"^For '{kind}', .* must have"):
        ms.grad(lambda x, w: network(x, *states, w)[0].sum(), (0, 1))(x, w)
