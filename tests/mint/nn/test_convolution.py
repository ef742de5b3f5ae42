"""Convolutions of `mint.nn` when they are made: ranges of weights, edges, and what they keep."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import mint

MADE = [("Conv1d", (6, 40, 5), {"groups": 2}), ("Conv2d", (6, 40, (3, 5)), {}),
        ("Conv3d", (4, 30, (1, 2, 3)), {"groups": 2}),
        ("ConvTranspose2d", (40, 6, (3, 5)), {"groups": 2}), ("ConvTranspose2d", (6, 40, 3), {})]


@pytest.mark.parametrize("dtype", [None, ms.float64, ms.float16])
@pytest.mark.parametrize("name, args, named", MADE, ids=range(len(MADE)))
def test_first_weights_are_even_up_to_a_bound(name, args, named, dtype):
    """PyTorch's bound: 1 over the root of how many numbers each result is a sum of."""
    ms.set_seed(3)
    net = getattr(mint.nn, name)(*args, dtype=dtype, **named)
    theirs = getattr(torch.nn, name)(*args, **named)
    assert net.weight.shape == tuple(theirs.weight.shape)
    assert net.bias.shape == tuple(theirs.bias.shape)
    bound = np.prod(net.weight.shape[1:]) ** -0.5
    for parameter, least in ((net.weight, 0.95), (net.bias, 0.5)):
        values = parameter.asnumpy().astype(float)
        assert parameter.dtype is (dtype or ms.float32)
        assert least * bound < np.abs(values).max() <= bound * 1.001
    spread = net.weight.asnumpy().astype(float).std()
    assert 0.9 * bound / 3**0.5 < spread < 1.1 * bound / 3**0.5
    assert (net.transposed, net.output_padding) == (
        theirs.transposed, 0 if theirs.transposed else theirs.output_padding)


@pytest.mark.filterwarnings("ignore:Using padding='same':UserWarning")  # PyTorch's
@pytest.mark.parametrize("padding", ["valid", "same", 1, 0])
@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("name, args", [("Conv1d", (2, 4, 4, 1)), ("Conv2d", (2, 4, (2, 3), 1)),
                                        ("Conv3d", (2, 4, (3, 2, 1), 1))])
def test_edges_of_any_mode(name, args, mode, padding):
    named = {"padding": padding, "padding_mode": mode, "dilation": 1}
    net, theirs = getattr(mint.nn, name)(*args, **named), getattr(torch.nn, name)(*args, **named)
    assert net._reversed_padding == tuple(theirs._reversed_padding_repeated_twice)
    for parameter in net.get_parameters():
        parameter.set_data(ms.Tensor(theirs.state_dict()[parameter.name].numpy()))
    x = np.random.default_rng(2).standard_normal((2, 2, *range(7, 7 - int(name[-2]), -1)))
    found = net(ms.Tensor(x.astype(np.float32)))
    wanted = theirs(torch.from_numpy(x).float()).detach().numpy()
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dilation, edges", [(1, (0, 1)), (2, (1, 1)), (3, (1, 2))])
def test_what_is_left_of_an_odd_edge_stands_behind(dilation, edges):
    net = mint.nn.Conv1d(1, 1, 2, padding="same", dilation=dilation)
    assert net._reversed_padding == edges
    x = mint.arange(5.0).reshape((1, 1, 5))
    inside = mint.nn.functional.pad(x, edges, mode="circular")
    whole = mint.nn.Conv1d(1, 1, 2, padding="same", dilation=dilation, padding_mode="circular")
    plain = mint.nn.functional.conv1d(inside, whole.weight, whole.bias, dilation=dilation)
    np.testing.assert_allclose(whole(x).asnumpy(), plain.asnumpy(), rtol=1e-6)
