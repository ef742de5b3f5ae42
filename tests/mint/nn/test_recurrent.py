"""LSTM and GRU of `mint.nn` against PyTorch's, with its weights."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, mint

CASES = [
    ({}, (5, 2, 3)), ({"batch_first": True, "num_layers": 2}, (2, 5, 3)),
    ({"bidirectional": True, "bias": False}, (5, 2, 3)), ({"num_layers": 2}, (5, 3)),
    ({"batch_first": True, "bidirectional": True}, (5, 3)),
]


def loaded(kind, settings):
    theirs = getattr(torch.nn, kind)(3, 4, **settings)
    ours = getattr(mint.nn, kind)(3, 4, **settings)
    parameters = ours.parameters_dict()
    assert set(parameters) == set(theirs.state_dict())
    for name, value in theirs.state_dict().items():
        parameters[name].set_data(Tensor(value.numpy()))
    return ours, theirs


def flat(result):
    output, last = result
    return [output, *(last if isinstance(last, tuple) else (last,))]


@pytest.mark.parametrize("given", [False, True], ids=["zeros", "states"])
@pytest.mark.parametrize(("settings", "shape"), CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_as_pytorch(kind, settings, shape, given):
    ours, theirs = loaded(kind, settings)
    numbers = np.random.default_rng(0)
    x = numbers.standard_normal(shape).astype(np.float32)
    layers = settings.get("num_layers", 1) * (2 if settings.get("bidirectional") else 1)
    state = numbers.standard_normal((layers, 2, 4) if len(shape) == 3 else (layers, 4))
    state = state.astype(np.float32)
    hx = [(of(state), of(2 * state)) if kind == "LSTM" else of(state)
          for of in (Tensor, torch.tensor)] if given else [None, None]
    for mine, expected in zip(flat(ours(Tensor(x), hx[0])), flat(theirs(torch.tensor(x), hx[1])),
                              strict=True):
        np.testing.assert_allclose(mine.asnumpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_gradients_compiled_as_pytorch():
    ours, theirs = loaded("LSTM", {"num_layers": 2})
    x = np.random.default_rng(1).standard_normal((5, 2, 3)).astype(np.float32)
    theirs(torch.tensor(x))[0].square().sum().backward()
    step = ms.jit(ms.grad(lambda x: (ours(x)[0] ** 2).sum(), None, ours.trainable_params()))
    for _ in range(2):
        for parameter, gradient in zip(ours.trainable_params(), step(Tensor(x)), strict=True):
            expected = dict(theirs.named_parameters())[parameter.name].grad
            np.testing.assert_allclose(gradient.asnumpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_a_width_that_does_not_fit():
    with pytest.raises(ValueError, match="'input_size' 3, but got shape"):
        mint.nn.LSTM(3, 4)(mint.ones((5, 2, 2)))
