"""Loss scalers and managers, against the values of MindSpore 2.10."""

import numpy as np
import pytest

import lamella as ms
from lamella import amp


def test_dynamic_scaler():
    scaler = amp.DynamicLossScaler(scale_value=2**10, scale_factor=2, scale_window=2)
    found = []
    for finite in (True, True, True, False, True, True, True):
        assert scaler.adjust(ms.Tensor(finite)) is True
        found.append((scaler.scale_value.asnumpy().item(), scaler.counter.asnumpy().item()))
    assert found == [(1024, 1), (2048, 0), (2048, 1), (1024, 0), (1024, 1), (2048, 0), (2048, 1)]


def test_dynamic_scaler_stays_finite_and_above_one():
    scaler = amp.DynamicLossScaler(2.0**127, 2, 1)
    scaler.adjust(True)
    assert scaler.scale_value.asnumpy() == 2.0**127
    scaler = amp.DynamicLossScaler(1, 2, 1)
    scaler.adjust(False)
    assert scaler.scale_value.asnumpy() == 1.0


@pytest.mark.parametrize("scaler", [amp.DynamicLossScaler(1024, 2, 1), amp.StaticLossScaler(1024)])
def test_scale_and_unscale(scaler):
    assert scaler.scale(ms.Tensor([1.5, 2.0])).asnumpy().tolist() == [1536.0, 2048.0]
    a, (b,) = scaler.unscale((ms.Tensor([1024.0]), [ms.Tensor([512.0], ms.float16)]))
    assert a.asnumpy() == 1.0 and a.dtype == ms.float32
    assert b.asnumpy() == 0.5 and b.dtype == ms.float16


def test_the_functions_of_loss_scalers():
    """As `mindspore.amp`'s documentation writes a loss scaler of one's own."""
    scale = ms.Parameter(ms.Tensor(4.0), name="scale")
    inputs = (ms.Tensor([1.5, 2.0]), ms.Tensor([3.0], ms.float16))
    scaled = amp._grad_scale_map(scale, inputs)
    assert [t.asnumpy().tolist() for t in scaled] == [[6.0, 8.0], [12.0]]
    assert scaled[1].dtype == ms.float16
    back = amp._grad_unscale_map(scale, scaled)
    assert [t.asnumpy().tolist() for t in back] == [[1.5, 2.0], [3.0]]


def test_static_scaler_stays():
    assert amp.StaticLossScaler(8).adjust(ms.Tensor(False)) is False


def test_a_scaled_loss_has_a_gradient():
    scaler = amp.StaticLossScaler(8)
    gradient = ms.grad(lambda x: scaler.scale(x * x))(ms.Tensor(3.0))
    assert gradient.asnumpy() == 48.0 and scaler.unscale(gradient).asnumpy() == 6.0


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_all_finite(bad):
    assert amp.all_finite((ms.Tensor([1.0]), ms.Tensor([1.0, 2.0], ms.float16)))
    assert not amp.all_finite((ms.Tensor([1.0]), [ms.Tensor([2.0, bad])]))
    assert not amp.all_finite(ms.Tensor([bad]))
    assert amp.all_finite((ms.Tensor([1.0]),)).dtype == ms.bool_


def scales_after(manager, overflows):
    """The scale after each step, of which it is told whether it had an overflow."""
    found = []
    for overflow in overflows:
        manager.update_loss_scale(overflow)
        found.append(manager.get_loss_scale())
    return found


def test_dynamic_manager():
    manager = amp.DynamicLossScaleManager(8, 2, 3)
    overflows = (False, False, False, True, False, False, False, False)
    assert scales_after(manager, overflows) == [8, 8, 16, 8, 8, 8, 16, 16]
    assert manager.get_drop_overflow_update() is True
    update = manager.get_update_cell()
    assert isinstance(update, ms.nn.DynamicLossScaleUpdateCell) and update.get_loss_scale() == 16


def test_too_many_overflows():
    manager = amp.DynamicLossScaleManager()
    with pytest.raises(RuntimeError, match="1001 times in a row"):
        for _ in range(1001):
            manager.update_loss_scale(True)


def test_fixed_manager():
    manager = amp.FixedLossScaleManager()
    manager.update_loss_scale(True)
    assert manager.get_loss_scale() == 128.0 and manager.get_drop_overflow_update() is True
    assert isinstance(manager.get_update_cell(), ms.nn.FixedLossScaleUpdateCell)
    assert amp.FixedLossScaleManager(8.0, False).get_update_cell() is None


ERRORS = [
    (lambda: amp.StaticLossScaler(0.5), ValueError, "1 or more, but got 0.5"),
    (lambda: amp.StaticLossScaler("a"), TypeError, "'scale_value' must be a float or int"),
    (lambda: amp.DynamicLossScaler(8, 0, 2), ValueError, "'scale_factor'"),
    (lambda: amp.DynamicLossScaler(8, 2.0, 2), TypeError, "'scale_factor'"),
    (lambda: amp.DynamicLossScaleManager(0.5), ValueError, "'init_loss_scale'"),
    (lambda: amp.DynamicLossScaleManager(8, -1, 1), ValueError, "'scale_factor'"),
    (lambda: amp.DynamicLossScaleManager(8, 2, 0), ValueError, "'scale_window'"),
    (lambda: amp.FixedLossScaleManager(0.5), ValueError, "'loss_scale'"),
    (lambda: amp.LossScaler(), TypeError, "abstract"),
]


@pytest.mark.parametrize("make, kind, message", ERRORS)
def test_errors(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


@pytest.mark.parametrize("make", [
    lambda v: amp.StaticLossScaler(v), lambda v: amp.DynamicLossScaler(v, 1, 1),
    lambda v: amp.FixedLossScaleManager(v), lambda v: amp.DynamicLossScaleManager(v, 0.5, 1)])
def test_a_scale_of_one_is_the_smallest(make):
    make(1.0)
    for value in (0.999, 0.0, -2.0):
        with pytest.raises(ValueError, match="1 or more, but got"):
            make(value)


@pytest.mark.parametrize("factor, window", [(0, 1), (1, 0), (-1, 1), (1, -1)])
def test_factors_and_windows_are_positive(factor, window):
    for kind in (amp.DynamicLossScaler, amp.DynamicLossScaleManager):
        with pytest.raises(ValueError, match="'scale_factor'|'scale_window'"):
            kind(8, factor, window)


def test_a_scaler_by_another_factor():
    scaler = amp.DynamicLossScaler(6.0, 3, 3)
    found = []
    for finite in (True, False, False, True, True, True, True, False):
        scaler.adjust(ms.Tensor([finite]))
        found.append((scaler.scale_value.asnumpy().item(), scaler.counter.asnumpy().item()))
    assert found == [(6, 1), (2, 0), (1, 0), (1, 1), (1, 2), (3, 0), (3, 1), (1, 0)]


def test_a_manager_by_another_factor():
    manager = amp.DynamicLossScaleManager(9.0, 4, 2)
    overflows = (True, True, False, False, False, True, False, False)
    assert scales_after(manager, overflows) == [2.25, 1, 1, 4, 4, 1, 1, 4]
    update = manager.get_update_cell()
    assert (update.scale_factor, update.scale_window) == (4, 2)


def test_overflows_count_only_in_a_row():
    manager = amp.DynamicLossScaleManager()
    for overflow in [True] * 1000 + [False] + [True] * 1000:
        manager.update_loss_scale(overflow)
    with pytest.raises(RuntimeError, match="1001 times"):
        manager.update_loss_scale(True)
