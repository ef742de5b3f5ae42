"""Normalization: running statistics, training inside a gradient, precision, channels last."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import nn


def test_running_statistics_over_steps_are_pytorch_s():
    mine, theirs = nn.BatchNorm2d(3, momentum=0.8).set_train(), torch.nn.BatchNorm2d(
        3, momentum=0.2)
    for _ in range(4):
        x = torch.randn(4, 3, 5, 5) * 2 + 1
        np.testing.assert_allclose(mine(ms.Tensor(x.numpy())).asnumpy(),
                                   theirs(x).detach().numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mine.moving_mean.asnumpy(), theirs.running_mean.numpy(), rtol=1e-5)
    np.testing.assert_allclose(mine.moving_variance.asnumpy(), theirs.running_var.numpy(),
                               rtol=1e-5)


def test_statistics_move_inside_a_gradient():
    net = nn.BatchNorm1d(2).set_train()
    x = ms.Tensor([[1.0, 2.0], [3.0, 6.0]])
    gradients = ms.grad(lambda t: (net(t) ** 2).sum(), None, net.trainable_params())(x)
    assert [g.shape for g in gradients] == [(2,), (2,)]
    np.testing.assert_allclose(net.moving_mean.asnumpy(), [0.2, 0.4], rtol=1e-6)
    np.testing.assert_allclose(net.moving_variance.asnumpy(), [1.1, 1.7], rtol=1e-6)
    assert not net.moving_mean.to_torch().requires_grad


def test_evaluation_leaves_the_statistics():
    net = nn.BatchNorm2d(2)
    net(ms.ops.randn(2, 2, 3, 3))
    assert (net.moving_mean == 0).all() and (net.moving_variance == 1).all()


@pytest.mark.parametrize("make", [lambda: nn.BatchNorm2d(3), lambda: nn.SyncBatchNorm(3)])
def test_half_precision_keeps_the_statistics_in_float32(make):
    net = make().set_train().to_float(ms.float16)
    out = net(ms.ops.randn(2, 3, 4, 4))
    assert out.dtype == ms.float16
    assert {p.dtype for p in net.get_parameters()} == {ms.float32}
    assert (net.moving_mean != 0).all()


@pytest.mark.parametrize("kind", [ms.float16, ms.float64])
def test_layers_of_the_input_s_precision(kind):
    x = ms.ops.randn(2, 4, 6).astype(kind)
    assert nn.LayerNorm((6,))(x).dtype == kind
    assert nn.GroupNorm(2, 4)(x).dtype == kind


def test_channels_last():
    first, last = nn.BatchNorm2d(3), nn.BatchNorm2d(3, data_format="NHWC")
    for net in (first, last):
        net.gamma.set_data(ms.Tensor([1.0, 2.0, 3.0]))
    x = ms.ops.randn(2, 3, 4, 4)
    assert (last(x.permute(0, 2, 3, 1)) == first(x).permute(0, 2, 3, 1)).all()


def test_batch_and_volume():
    mine, theirs = nn.BatchNorm3d(2).set_train(), torch.nn.BatchNorm3d(2)
    x = torch.randn(2, 2, 3, 4, 5)
    np.testing.assert_allclose(mine(ms.Tensor(x.numpy())).asnumpy(), theirs(x).detach().numpy(),
                               rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("mine", "theirs", "shape"), [
    (nn.LayerNorm((4, 5), 1, 1, epsilon=1e-5), torch.nn.LayerNorm((4, 5)), (2, 4, 5)),
    (nn.LayerNorm((5,), epsilon=1e-5), torch.nn.LayerNorm(5), (2, 4, 5)),
    (nn.GroupNorm(2, 4), torch.nn.GroupNorm(2, 4), (2, 4, 5)),
    (nn.InstanceNorm1d(4), torch.nn.InstanceNorm1d(4), (2, 4, 5)),
    (nn.InstanceNorm2d(4), torch.nn.InstanceNorm2d(4), (2, 4, 5, 3)),
    (nn.InstanceNorm3d(4), torch.nn.InstanceNorm3d(4), (2, 4, 5, 3, 2)),
    (nn.BatchNorm1d(4).set_train(), torch.nn.BatchNorm1d(4), (2, 4, 5)),
], ids=lambda value: type(value).__name__)
def test_pytorch_s(mine, theirs, shape):
    x = torch.randn(shape)
    np.testing.assert_allclose(mine(ms.Tensor(x.numpy())).asnumpy(), theirs(x).detach().numpy(),
                               rtol=1e-4, atol=1e-5)


def test_gamma_of_other_axes_than_normalized():
    net = nn.LayerNorm((3,), begin_norm_axis=1, begin_params_axis=2, epsilon=0.0)
    net.gamma.set_data(ms.Tensor([1.0, 2.0, 3.0]))
    x = np.random.default_rng(0).standard_normal((2, 4, 3)).astype(np.float32)
    flat = x.reshape(2, -1)
    want = ((flat - flat.mean(1, keepdims=True)) / flat.std(1, keepdims=True)).reshape(x.shape)
    np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), want * [1, 2, 3], rtol=1e-4, atol=1e-5)


def in_memory(x, order):
    """`x`, of a last length of 1, with its channels first or last in memory."""
    if order == "first":
        return ms.Tensor(x)
    last = ms.Tensor(np.ascontiguousarray(np.moveaxis(x[..., 0], 1, -1)))
    return ms.ops.expand_dims(last.moveaxis(-1, 1), -1)  # the stride of 1 says nothing of the order


@pytest.mark.parametrize("of_gradient", ["first", "last"])
@pytest.mark.parametrize("of_input", ["first", "last"])
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("layer, shape", [
    (nn.BatchNorm2d, (2, 4, 9, 1)), (nn.BatchNorm2d, (1, 4, 9, 1)),
    (nn.BatchNorm3d, (2, 4, 3, 5, 1)), (nn.InstanceNorm2d, (1, 4, 9, 1))],
    ids=["pictures", "one", "volumes", "instances"])
def test_gradients_do_not_depend_on_the_order_in_memory(layer, shape, training, of_input,
                                                        of_gradient):
    random = np.random.default_rng(3)
    x, dout = (random.standard_normal(shape).astype(np.float32) for _ in range(2))
    net = layer(4).set_train(training)

    def loss(x, dout):
        return (net(x) * dout).sum()

    got = ms.grad(loss, 0, net.trainable_params())(in_memory(x, of_input),
                                                   in_memory(dout, of_gradient))
    # by the formula: centred and scaled where the statistics are the input's own
    axes = tuple(range(2 if layer is nn.InstanceNorm2d else 0, len(shape)))
    axes = tuple(axis for axis in axes if axis != 1)
    if training or layer is nn.InstanceNorm2d:
        rstd = 1 / np.sqrt(x.var(axes, keepdims=True) + 1e-5)
        normal = (x - x.mean(axes, keepdims=True)) * rstd
        dx = rstd * (dout - dout.mean(axes, keepdims=True)
                     - normal * (dout * normal).mean(axes, keepdims=True))
    else:
        normal, dx = x / np.sqrt(1 + 1e-5), dout / np.sqrt(1 + 1e-5)
    channels = tuple(axis for axis in range(len(shape)) if axis != 1)
    wanted = dx, (dout * normal).sum(channels), dout.sum(channels)
    for mine, right in zip((got[0], *got[1]), wanted, strict=True):
        np.testing.assert_allclose(mine.asnumpy(), right, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("shape", [(6, 3), (2, 3, 4, 5)])
def test_statistics_of_all_processes_where_there_is_one(shape):
    """As if others had parts of the batch: what is exchanged comes from this process alone."""
    draw = np.random.default_rng(0).normal(1.0, 2.0, shape).astype(np.float32)
    x, weight = ms.Tensor(draw), ms.Tensor(np.cos(np.arange(draw.size)).reshape(shape), ms.float32)
    together, plain = (kind(3, 0.01, 0.7).set_train() for kind in (
        nn.SyncBatchNorm, nn.BatchNorm1d if len(shape) == 2 else nn.BatchNorm2d))
    together.is_global = True
    for layer in (together, plain):
        layer.gamma.set_data(ms.Tensor([1.5, 2.0, -1.0]))
        layer.beta.set_data(ms.Tensor([0.5, 0.0, 3.0]))
    found = [ms.value_and_grad(lambda v, layer=layer: (layer(v) * weight).sum(), 0,
                               layer.trainable_params())(x) for layer in (together, plain)]
    (value, (by_x, by_own)), (wanted, (of_x, of_own)) = found
    for one, other in zip((value, by_x, *by_own, together.moving_mean, together.moving_variance),
                          (wanted, of_x, *of_own, plain.moving_mean, plain.moving_variance),
                          strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-4, atol=1e-4)
    together.set_train(False)
    plain.set_train(False)
    np.testing.assert_allclose(together(x).asnumpy(), plain(x).asnumpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("groups, kind, text", [
    ([[0, 0]], ValueError, "no rank may come twice"), ([[0, 1]], ValueError, r"in \[0, 1\)"),
    ([[0], [-1]], ValueError, r"in \[0, 1\)"), ([0], TypeError, "process_groups"),
    ((0,), TypeError, "process_groups")])
def test_groups_of_processes_are_checked(groups, kind, text):
    with pytest.raises(kind, match=text):
        nn.SyncBatchNorm(3, process_groups=groups)


@pytest.mark.parametrize(("norm_axis", "params_axis"), [(1, 2), (2, 1), (1, -1)])
def test_parameters_of_another_shape_than_their_axes(norm_axis, params_axis):
    shape = (4, 3) if params_axis in (2, -1) else (3,)
    with pytest.raises((ValueError, RuntimeError), match="LayerNorm"):
        nn.LayerNorm(shape, norm_axis, params_axis)(ms.ops.ones((2, 4, 3)))


@pytest.mark.parametrize("begin", [0, 1, 2, -1, -2, -3])
def test_normalized_from_any_axis_on(begin):
    x = np.random.default_rng(3).standard_normal((2, 4, 3)).astype(np.float32)
    axes = tuple(range(begin % 3, 3))
    gamma = np.arange(1, 1 + np.prod(x.shape[begin % 3:])).reshape(x.shape[begin % 3:])
    net = nn.LayerNorm(x.shape[begin % 3:], begin, begin, epsilon=0.25)
    net.gamma.set_data(ms.Tensor(gamma.astype(np.float32)))
    want = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 0.25) * gamma
    np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), want, rtol=1e-4, atol=1e-5)
