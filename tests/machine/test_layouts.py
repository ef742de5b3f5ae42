"""Layouts under level "auto": which convolutions put the channels last; results and gradients."""

import contextlib

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import nn
from lamella.machine import halves, layouts

LAST = torch.channels_last


@pytest.fixture(autouse=True)
def kernels(monkeypatch):
    """The processor has kernels of bfloat16, whichever it is."""
    monkeypatch.setattr(layouts, "SLOW", halves.SLOW - {torch.bfloat16})


def lowering(dtype=torch.bfloat16):
    return torch.autocast("cpu", dtype, cache_enabled=False)


def pictures(channels=3, **options):
    return torch.randn(4, channels, 48, 48, generator=torch.Generator().manual_seed(0), **options)


def weights(channels=3, **options):
    return torch.randn(16, channels, 3, 3, generator=torch.Generator().manual_seed(1), **options)


def is_chosen(x, weight):
    return layouts.channels_last(x, weight)[1] is not weight


def test_pictures_of_few_channels_and_those_whose_channels_lie_last_are_chosen():
    last = pictures(16).contiguous(memory_format=LAST)
    with lowering():
        assert is_chosen(pictures(), weights()) and is_chosen(last, weights(16))
        assert is_chosen(last.bfloat16(), weights(16))


def test_others_are_left_as_they_are(monkeypatch):
    x, weight = pictures(), weights()
    assert not is_chosen(x, weight)  # without mixed precision
    with lowering(torch.float16):
        assert not is_chosen(x, weight)
    with lowering():
        assert not is_chosen(pictures(16), weights(16))
        assert not is_chosen(x[:, :, :8, :8].contiguous(), weight)
        assert not is_chosen(x, weight.double()) and not is_chosen(x, weight.mT)
        assert not is_chosen(x[0], weight) and not is_chosen(None, weight)
        monkeypatch.setattr(layouts, "SLOW", frozenset([torch.bfloat16]))
        assert not is_chosen(x, weight)


def test_what_is_chosen_is_the_same_number_for_number_and_so_is_its_gradient():
    x, weight = pictures(requires_grad=True), weights(requires_grad=True)
    with lowering():
        found = layouts.channels_last(x, weight)
    for given, low in zip((x, weight), found, strict=True):
        assert low.is_contiguous(memory_format=LAST) and torch.equal(low, given.bfloat16())
        gradient = torch.randn_like(low)
        low.backward(gradient)
        assert torch.equal(given.grad, gradient.float()) and given.grad.is_contiguous()


def loss_of(net):
    return ms.amp.auto_mixed_precision(lambda x: (net(x) ** 2).mean(), "auto", ms.bfloat16)


@contextlib.contextmanager
def no_choice(monkeypatch):
    with monkeypatch.context() as changed:
        changed.setattr(layouts, "channels_last", lambda *given: given)
        yield


def test_a_network_s_values_and_gradients_are_those_without_it(monkeypatch):
    net = nn.SequentialCell(nn.Conv2d(3, 16, 3, has_bias=True), nn.BatchNorm2d(16), nn.ReLU(),
                            nn.MaxPool2d(2, 2), nn.Conv2d(16, 8, 3), nn.BatchNorm2d(8),
                            nn.Flatten(), nn.Dense(8 * 24 * 24, 5)).set_train()
    x = ms.Tensor(pictures().numpy())
    step = ms.value_and_grad(loss_of(net), 0, net.trainable_params())
    value, (of_x, of_weights) = step(x)
    with no_choice(monkeypatch):
        wanted, (their_x, theirs) = step(x)
    for a, b in zip((value, of_x, *of_weights), (wanted, their_x, *theirs), strict=True):
        assert a.dtype == b.dtype and a._raw.is_contiguous()
        a, b = a.asnumpy(), b.asnumpy()
        np.testing.assert_allclose(a, b, rtol=0.02, atol=0.02 * np.abs(b).max())


def test_the_gradient_of_a_gradient(monkeypatch):
    loss = loss_of(nn.SequentialCell(nn.Conv2d(3, 8, 3), nn.Tanh(), nn.Conv2d(8, 4, 3)))
    x = ms.Tensor(pictures().numpy())
    twice = ms.grad(lambda x: (ms.grad(loss)(x) ** 2).sum())
    found = twice(x).asnumpy()
    with no_choice(monkeypatch):
        wanted = twice(x).asnumpy()
    np.testing.assert_allclose(found, wanted, rtol=0.05, atol=0.05 * np.abs(wanted).max())


def test_what_a_network_gives_can_be_viewed_in_another_shape():
    conv = ms.amp.auto_mixed_precision(nn.Conv2d(3, 16, 3), "auto", ms.bfloat16)
    y = conv(ms.Tensor(pictures().numpy()))
    assert y.view(4, -1).shape == (4, 16 * 48 * 48)
    assert np.array_equal(y.view(-1).float().asnumpy(), y.float().asnumpy().ravel())


def test_a_tensor_is_laid_as_another():
    x = pictures(16)
    for like in (x, x.contiguous(memory_format=LAST)):
        assert layouts.is_dense(like)
        for raw in (x, x.contiguous(memory_format=LAST), x.mT):
            assert layouts.laid_as(raw, like).stride() == like.stride()
    assert not layouts.is_dense(x[:, ::2])


@pytest.mark.parametrize("shape, columns, chosen", [
    ((1, 4, 64, 64), {}, True), ((1, 4, 64, 63), {}, False), ((1, 5, 64, 64), {}, False),
    ((2, 1, 128, 64), {}, True), ((1, 4, 64, 64), {"dtype": torch.float64}, False),
    ((1, 4, 64, 64), {"dtype": torch.bfloat16}, False),
    ((1, 4, 64, 64), {"device": "meta"}, False)])
def test_the_limits_of_what_is_chosen(shape, columns, chosen):
    x, weight = torch.ones(shape, **columns), torch.ones(8, shape[1], 3, 3)
    with lowering():
        assert is_chosen(x, weight) is chosen
        assert not is_chosen(x, weight[0]) and not is_chosen(x, weight.bfloat16())
        assert not is_chosen(x, weight.to("meta"))
        assert not is_chosen(x, torch.nn.Parameter(weight)) and not is_chosen(x[..., ::2], weight)


@pytest.mark.parametrize("raw, last", [
    (torch.ones(2, 3, 4, 5), False), (torch.ones(2, 3, 4, 5).contiguous(memory_format=LAST), True),
    (torch.ones(2, 3, 1, 1).contiguous(memory_format=LAST), False),  # both at once
    (torch.ones(2, 1, 4, 5), False), (torch.ones(3, 4, 5), False),
    (torch.ones(2, 4, 5, 3).permute(0, 3, 1, 2), True),
    (torch.ones(2, 3, 5, 4).mT, False), (torch.ones(2, 3, 4, 5, 1).contiguous(), False)])
def test_where_channels_lie_last(raw, last):
    assert layouts.is_last(raw) is last
    assert layouts.is_dense(raw) is (last or raw.is_contiguous())
