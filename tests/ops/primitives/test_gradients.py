"""Each gradient Primitive gives what PyTorch's autograd gives for its forward function, at random
inputs and random gradients of the result; no two sizes are equal where they may differ."""

import numpy as np
import pytest
import scipy.special
import torch
import torch.nn.functional as F  # noqa: N812  (its usual name)

from lamella import Tensor
from lamella.ops.primitives import derivatives
from lamella.ops.primitives import gradients as g
from lamella.ops.primitives import gradients_layers as layers
from lamella.ops.primitives import gradients_norms as norms
from lamella.ops.primitives import gradients_positions as positions


def draw(*shape, low=-2.0, high=2.0):
    """Random numbers in float64, others at each call."""
    return torch.from_numpy(RNG.uniform(low, high, shape))


RNG = np.random.default_rng(7)
X, POSITIVE, PROBABLE = draw(4, 3), draw(4, 3, low=0.2, high=3.0), draw(4, 3, low=0.05, high=0.95)
OTHER, WEIGHT = draw(4, 3), draw(3, low=0.2, high=3.0)
LABELS = torch.tensor([2, 0, 1, 2])
IMAGES, VOLUMES, SIGNALS = draw(2, 3, 5, 7), draw(2, 3, 4, 5, 6), draw(2, 3, 5)
SIDES, PAIR = torch.tensor([[0, 0], [0, 0], [1, 2], [0, 1]]), torch.tensor([1, 0, 2, 1])
LOG_PROBABILITIES = torch.log_softmax(draw(6, 2, 4), -1)
SEQUENCES = torch.tensor([[1, 2], [3, 3]]), torch.tensor([6, 5]), torch.tensor([2, 2])


LAST, GROUPS, KERNEL, MASK = draw(2, 5, 4, 3), draw(3, 4, 5, 2), draw(3, 3, 2, 3, 1), X > 0
WIDE = draw(2, 3, 1, 1, low=0.5).float()


def statistics(x, over, reciprocal):
    """The means and the variances over dimensions, or 1 / standard deviations, in this order."""
    spread = x.var(over, correction=0)
    return x.mean(over), (spread + 1e-5).rsqrt() if reciprocal else spread


def of_rows(x, begin):
    """What `LayerNorm` gives besides its result."""
    mean, spread = statistics(x, tuple(range(begin, x.dim())), False)
    return spread, mean


def of_groups(x):
    return statistics(x.reshape(len(x), 2, -1), 2, True)


# a Primitive; its inputs: "dy" is the gradient of the result "y", "at" where its elements come
# from; the forward function; its inputs by name, by which it is differentiated
CASES = [
    (g.ACosGrad(), ("x", "dy"), torch.acos, {"x": PROBABLE}),
    (g.AbsGrad(), ("x", "dy"), torch.abs, {"x": X}),
    (g.AsinGrad(), ("x", "dy"), torch.asin, {"x": PROBABLE}),
    (g.AtanGrad(), ("x", "dy"), torch.atan, {"x": X}),
    (g.AcoshGrad(), ("y", "dy"), torch.acosh, {"x": POSITIVE + 1}),
    (g.AsinhGrad(), ("y", "dy"), torch.asinh, {"x": X}),
    (g.EluGrad(), ("dy", "y"), F.elu, {"x": X}),
    (g.FastGeLUGrad(), ("dy", "x"), lambda x: x * torch.sigmoid(1.702 * x), {"x": X}),
    (g.GeLUGrad(), ("dy", "x", "y"), lambda x: F.gelu(x, approximate="tanh"), {"x": X}),
    (g.GluGrad(axis=0), ("dy", "x"), lambda x: F.glu(x, 0), {"x": X}),
    (g.HShrinkGrad(), ("dy", "x"), F.hardshrink, {"x": X}),
    (g.HShrinkGrad(1.3), ("dy", "x"), lambda x: F.hardshrink(x, 1.3), {"x": X}),
    (g.HSigmoidGrad(), ("dy", "x"), F.hardsigmoid, {"x": X * 2}),
    (g.HSwishGrad(), ("dy", "x"), F.hardswish, {"x": X * 2}),
    (g.InvGrad(), ("y", "dy"), torch.reciprocal, {"x": X}),
    (g.LogitGrad(), ("dy", "x"), torch.logit, {"x": PROBABLE}),
    (g.LogitGrad(0.3), ("dy", "x"), lambda x: torch.logit(x, 0.3), {"x": PROBABLE}),
    (g.LogitGrad(0.0), ("dy", "x"), lambda x: torch.logit(x, 0.0), {"x": PROBABLE}),
    (g.MvlgammaGrad(3), ("dy", "x"), lambda x: torch.mvlgamma(x, 3), {"x": POSITIVE + 1}),
    (g.ReLU6Grad(), ("dy", "x"), F.relu6, {"x": X * 5}),
    (g.ReluGrad(), ("dy", "x"), F.relu, {"x": X}),
    (g.SiLUGrad(), ("dy", "x"), F.silu, {"x": X}),
    (g.SoftShrinkGrad(), ("dy", "x"), F.softshrink, {"x": X}),
    (g.SoftShrinkGrad(1.2), ("dy", "x"), lambda x: F.softshrink(x, 1.2), {"x": X}),
    (g.SoftplusGrad(), ("dy", "x"), F.softplus, {"x": X}),
    (g.PdistGrad(), ("dy", "x", "y"), F.pdist, {"x": X}),
    (g.PdistGrad(3.0), ("dy", "x", "y"), lambda x: F.pdist(x, 3.0), {"x": X}),
    (g.SwigluGrad(), ("dy", "x"), lambda x: F.silu(x[:, :2]) * x[:, 2:], {"x": draw(3, 4)}),
    (g.SwigluGrad(), ("dy", "x", 0), lambda x: F.silu(x[:2]) * x[2:], {"x": X}),
    (g.ReciprocalGrad(), ("y", "dy"), torch.reciprocal, {"x": X}),
    (g.RsqrtGrad(), ("y", "dy"), torch.rsqrt, {"x": POSITIVE}),
    (g.SigmoidGrad(), ("y", "dy"), torch.sigmoid, {"x": X}),
    (g.SqrtGrad(), ("y", "dy"), torch.sqrt, {"x": POSITIVE}),
    (g.TanhGrad(), ("y", "dy"), torch.tanh, {"x": X}),
    (g.LogSoftmaxGrad(), ("y", "dy"), lambda x: torch.log_softmax(x, -1), {"x": X}),
    (g.LogSoftmaxGrad(0), ("y", "dy"), lambda x: torch.log_softmax(x, 0), {"x": X}),
    (g.PReLUGrad(), ("dy", "x", "w"), F.prelu, {"x": X, "w": WEIGHT}),
    (g.MaximumGrad(), ("x", "z", "dy"), torch.maximum, {"x": X, "z": OTHER[0]}),
    (g.MinimumGrad(), ("x", "z", "dy"), torch.minimum, {"x": X[:, :1], "z": OTHER}),
    (g.CdistGrad(3.0), ("dy", "x", OTHER[:2], "y"),
     lambda x: torch.cdist(x, OTHER[:2], 3.0), {"x": X}),
    (g.CdistGrad(), ("dy", "x", OTHER[:2], "y"), lambda x: torch.cdist(x, OTHER[:2]), {"x": X}),
    (g.SigmoidCrossEntropyWithLogitsGrad(), ("x", PROBABLE, "dy"),
     lambda x: F.binary_cross_entropy_with_logits(x, PROBABLE, reduction="none"), {"x": X}),
    *((g.KLDivLossGrad(r), ("dy", "x", PROBABLE),
       lambda x, r=r: F.kl_div(x, PROBABLE, reduction=r), {"x": X})
      for r in ("sum", "batchmean", "none")),
    (g.KLDivLossGrad(), ("dy", "x", PROBABLE),
     lambda x: F.kl_div(x, PROBABLE, reduction="none").mean(), {"x": X}),
    *((g.SmoothL1LossGrad(beta, r), ("x", OTHER, "dy"),
       lambda x, beta=beta, r=r: F.smooth_l1_loss(x, OTHER, reduction=r, beta=beta), {"x": X})
      for beta, r in ((1.0, "none"), (0.4, "mean"), (2.5, "sum"))),
    *((g.MultiMarginLossGrad(p, margin, r), ("dy", "x", LABELS, WEIGHT),
       lambda x, p=p, margin=margin, r=r: F.multi_margin_loss(x, LABELS, p, margin, WEIGHT,
                                                              reduction=r), {"x": X})
      for p, margin, r in ((2, 0.7, "none"), (1, 1.4, "sum"), (2, 1.0, "mean"))),
    (g.MultiMarginLossGrad(), ("dy", "x", LABELS),
     lambda x: F.multi_margin_loss(x, LABELS), {"x": X}),
    *((g.NLLLossGrad(r, ignored), (
        "x", "dy", LABELS, WEIGHT, WEIGHT[LABELS[ignored != LABELS]].sum()),
       lambda x, r=r, ignored=ignored: F.nll_loss(x, LABELS, WEIGHT, reduction=r,
                                                  ignore_index=ignored), {"x": X})
      for r, ignored in (("mean", 0), ("sum", 2), ("none", 1), ("mean", -100))),
    *((g.BinaryCrossEntropyGrad(r), ("x", PROBABLE, "dy", WEIGHT.expand(4, 3)),
       lambda x, r=r: F.binary_cross_entropy(x, PROBABLE, WEIGHT, reduction=r), {"x": PROBABLE})
      for r in ("mean", "sum", "none")),
    (g.CTCLossV2Grad(0), ("dy", "x", SEQUENCES[0], SEQUENCES[1], SEQUENCES[2], "y", "y"),
     lambda x: F.ctc_loss(x, *SEQUENCES, reduction="none"), {"x": LOG_PROBABILITIES}),
    # poolings and the like
    (layers.MaxPoolGrad((2, 3), (1, 2)), ("x", "y", "dy"),
     lambda x: F.max_pool2d(x, (2, 3), (1, 2)),
     {"x": IMAGES}),
    (layers.AvgPoolGrad((2, 3), (1, 2)), ("x", "y", "dy"),
     lambda x: F.avg_pool2d(x, (2, 3), (1, 2)),
     {"x": IMAGES}),
    (layers.MaxPool3DGrad((1, 1, 2, 3, 2), (1, 1, 1, 2, 3)), ("x", "y", "dy"),
     lambda x: F.max_pool3d(x, (2, 3, 2), (1, 2, 3)), {"x": VOLUMES}),
    (layers.MaxPool3DGrad((2, 3, 2), (1, 2, 3)), ("x", "y", "dy"),
     lambda x: F.max_pool3d(x, (2, 3, 2), (1, 2, 3)), {"x": VOLUMES}),
    (layers.AvgPool3DGrad((1, 1, 2, 3, 2), (1, 1, 1, 2, 3)), ("shape", "dy"),
     lambda x: F.avg_pool3d(x, (2, 3, 2), (1, 2, 3)), {"x": VOLUMES}),
    (layers.AvgPool3DGrad((2, 3, 2), (1, 2, 3), 1, False, False), ("shape", "dy"),
     lambda x: F.avg_pool3d(x, (2, 3, 2), (1, 2, 3), 1, count_include_pad=False), {"x": VOLUMES}),
    (layers.AvgPool3DGrad(2, 2, divisor_override=3), ("shape", "dy"),
     lambda x: F.avg_pool3d(x, 2, 2, divisor_override=3), {"x": VOLUMES}),
    (layers.L2NormalizeGrad(1), ("x", "y", "dy"), lambda x: F.normalize(x, dim=1), {"x": X}),
    (layers.MirrorPadGrad("REFLECT"), ("dy", SIDES), lambda x: F.pad(x, (0, 1, 1, 2), "reflect"),
     {"x": IMAGES}),
    (layers.PadV3Grad("reflect"), ("dy", PAIR), lambda x: F.pad(x, (1, 0, 2, 1), "reflect"),
     {"x": IMAGES}),
    (layers.PadV3Grad("circular", False), ("dy", PAIR),
     lambda x: F.pad(x, (1, 2, 0, 1), "circular"),
     {"x": IMAGES}),
    (layers.BiasAddGrad(), ("dy",), lambda x: IMAGES + x[:, None, None], {"x": WEIGHT}),
    (layers.BiasAddGrad("NHWC"), ("dy",), lambda x: IMAGES.movedim(1, -1) + x, {"x": WEIGHT}),
    (layers.BiasAddGrad(), ("dy",), lambda x: X + x, {"x": WEIGHT}),
    (layers.DropoutGrad(), ("dy", MASK), lambda x: x * (X > 0) / 0.5, {"x": X}),
    (layers.DropoutGrad(0.8), ("dy", MASK), lambda x: x * (X > 0) / 0.8, {"x": X}),
    (layers.FlattenGrad(), ("dy", "shape"), lambda x: x.flatten(1), {"x": IMAGES}),
    (layers.SliceGrad(), ("dy", "x", (0, 1, 2, 3), (1, 2, 3, 2)),
     lambda x: x[:1, 1:3, 2:5, 3:5], {"x": IMAGES}),
    (layers.GatherDGradV2(), ("x", 0, LABELS[:, None].expand(4, 2), "dy"),
     lambda x: x.gather(0, LABELS[:, None].expand(4, 2)),
     {"x": X}),
    (layers.MaskedSelectGrad(), ("x", X > 0, "dy"), lambda x: x.expand(4, 3)[X > 0], {"x": X[:1]}),
    (layers.ResizeBilinearGrad(half_pixel_centers=True), ("dy", "x"),
     lambda x: F.interpolate(x, (8, 4), mode="bilinear"), {"x": IMAGES.float()}),
    (layers.ResizeBilinearGrad(True), ("dy", "x"),
     lambda x: F.interpolate(x, (8, 4), mode="bilinear", align_corners=True),
     {"x": IMAGES.float()}),
    (layers.ResizeLinear1DGrad(), ("dy", "x"),
     lambda x: F.interpolate(x, 8, mode="linear", align_corners=True), {"x": SIGNALS.float()}),
    (layers.ResizeNearestNeighborGrad(), ("dy", (5, 7)),
     lambda x: F.interpolate(x, (9, 4), mode="nearest"), {"x": IMAGES.float()}),
    (layers.ResizeNearestNeighborV2Grad(), ("dy", (5, 7)),
     lambda x: F.interpolate(x, (9, 4), mode="nearest"), {"x": IMAGES.float()}),
    *((kind(mode, padding, corners), ("dy", "x", "w"),
       lambda x, w, mode=mode, padding=padding, corners=corners: F.grid_sample(
           x, w, mode, padding, corners), {"x": x, "w": grid})
      for kind, x, grid in ((layers.GridSampler2DGrad, IMAGES, draw(2, 4, 3, 2) / 1.6),
                            (layers.GridSampler3DGrad, VOLUMES, draw(2, 2, 4, 3, 3) / 1.6))
      for mode, padding, corners in (("bilinear", "zeros", False), ("bilinear", "border", True),
                                     ("nearest", "reflection", False))),
    # normalizations, from the statistics of the forward call
    *((norms.LayerNormGrad(begin, begin), ("x", "dy", *of_rows(x, begin), "w"),
       lambda x, w, begin=begin: F.layer_norm(x, x.shape[begin:], w, eps=1e-12),
       {"x": x, "w": draw(*x.shape[begin:])}) for begin, x in ((1, IMAGES), (2, VOLUMES))),
    (norms.BatchNormGrad(True), ("dy", "x", "w", *statistics(IMAGES, (0, 2, 3), False), WEIGHT),
     lambda x, w: F.batch_norm(
        x, None, None, w, training=True), {"x": IMAGES, "w": WEIGHT}),
    (norms.BatchNormGrad(epsilon=0.02), ("dy", "x", "w", WEIGHT - 1, WEIGHT, WEIGHT),
     lambda x, w: F.batch_norm(
        x, WEIGHT - 1, WEIGHT, w, eps=0.02), {"x": IMAGES, "w": WEIGHT + 1}),
    (norms.BatchNormGrad(True, data_format="NHWC"),
     ("dy", "x", "w", *statistics(LAST, (0, 1, 2), False), WEIGHT),
     lambda x, w: F.batch_norm(x.movedim(-1, 1), None, None, w, training=True).movedim(1, -1),
     {"x": LAST, "w": WEIGHT}),
    (norms.GroupNormGrad(), ("dy", "x", *of_groups(GROUPS), "w", 2),
     lambda x, w: F.group_norm(x, 2, w),
     {"x": GROUPS, "w": draw(4)}),
    (norms.GroupNormGrad(), ("dy", "x", *of_groups(GROUPS), None, 2), lambda x: F.group_norm(x, 2),
     {"x": GROUPS}),
    (norms.InstanceNormV2Grad(),
     ("dy", "x", "w", WIDE, WIDE,
      *(each[..., None, None] for each in statistics(IMAGES.float(), (2, 3), True))),
     lambda x, w: F.instance_norm(x) * w, {"x": IMAGES.float(), "w": WIDE + 0.5}),
    (norms.InstanceNormV2Grad(False, 0.1), ("dy", "x", "w", WIDE - 0.7, WIDE * 2, WIDE, WIDE),
     lambda x, w: (x - WIDE + 0.7) / (WIDE * 2 + 0.1) ** 0.5 * w,
     {"x": IMAGES.float(), "w": WIDE + 0.5}),
    # positions, adaptive poolings and convolutions
    (positions.AdaptiveAvgPool2DGrad(), ("dy", "shape"), lambda x: F.adaptive_avg_pool2d(x, (3, 4)),
     {"x": IMAGES}),
    (positions.AdaptiveAvgPool3DGrad(), ("dy", "shape"),
     lambda x: F.adaptive_avg_pool3d(x, (3, 2, 4)),
     {"x": VOLUMES}),
    (positions.AdaptiveMaxPool2DGrad(), ("dy", "x", "at"),
     lambda x: F.adaptive_max_pool2d(x, (3, 4), True),
     {"x": IMAGES}),
    (positions.AdaptiveMaxPool3DGrad(), ("dy", "x", "at"),
     lambda x: F.adaptive_max_pool3d(x, (3, 2, 4), True), {"x": VOLUMES}),
    (positions.MaxPoolGradWithArgmax(3, 2), ("x", "dy", "at"), lambda x: F.max_pool2d(
        x, 3, 2, return_indices=True), {"x": IMAGES}),
    (positions.MaxPoolGradWithArgmaxV2(3, 1), ("x", "dy", "at"), lambda x: F.max_pool2d(
        x, 3, 1, return_indices=True), {"x": IMAGES}),
    (positions.MaxPool3DGradWithArgmax(3, 1, 0), ("x", "dy", "at"), lambda x: F.max_pool3d(
        x, 3, 1, return_indices=True), {"x": VOLUMES}),
    *((positions.AffineGridGrad(corners), ("dy", (2, 3, 4, 5)),
       lambda x, corners=corners: F.affine_grid(x, (2, 3, 4, 5), corners), {"x": draw(2, 2, 3)})
      for corners in (False, True)),
    (positions.AffineGridGrad(), ("dy", (2, 3, 4, 5, 6)),
     lambda x: F.affine_grid(x, (2, 3, 4, 5, 6), False),
     {"x": draw(2, 3, 4)}),
    (positions.Conv2DBackpropFilter(4, (2, 3), stride=(1, 1, 2, 1)), ("dy", IMAGES, "shape"),
     lambda x: F.conv2d(IMAGES, x, stride=(2, 1)), {"x": draw(4, 3, 2, 3)}),
    (positions.Conv2DBackpropFilter(4, (2, 3), stride=(1, 2), dilation=(1, 1, 2, 1)),
     ("dy", IMAGES, "shape"), lambda x: F.conv2d(IMAGES, x, stride=(1, 2), dilation=(2, 1)),
     {"x": draw(4, 3, 2, 3)}),
    (positions.Conv3DBackpropFilter(2, (2, 3, 1), stride=(1, 1, 2, 1, 3)), (VOLUMES, "dy", "shape"),
     lambda x: F.conv3d(VOLUMES, x, stride=(2, 1, 3)), {"x": draw(2, 3, 2, 3, 1)}),
    (positions.Conv3DBackpropInput(3, (2, 3, 1), stride=(1, 2, 3)), (KERNEL, "dy", "shape"),
     lambda x: F.conv3d(x, KERNEL, stride=(1, 2, 3)), {"x": VOLUMES}),
    (positions.UpsampleNearest1DGrad(), ("dy", "shape", (8,)), lambda x: F.interpolate(x, 8),
     {"x": SIGNALS}),
    (positions.UpsampleNearest2DGrad(), ("dy", "shape", (8, 9)), lambda x: F.interpolate(x, (8, 9)),
     {"x": IMAGES}),
    (positions.UpsampleNearest3DGrad(), ("dy", "shape", (8, 9, 6)),
     lambda x: F.interpolate(x, (8, 9, 6)),
     {"x": VOLUMES}),
    *((positions.UpsampleTrilinear3DGrad(corners), ("dy", "shape", (8, 9, 6)),
       lambda x, corners=corners: F.interpolate(x, (8, 9, 6), mode="trilinear",
                                                align_corners=corners), {"x": VOLUMES})
      for corners in (False, True)),
]


@pytest.mark.parametrize("operator, order, forward, inputs", CASES, ids=[
    f"{case[0].name}-{number}" for number, case in enumerate(CASES)])
def test_gradients_of_forward_functions(operator, order, forward, inputs):
    values = {name: value.detach().clone().requires_grad_() for name, value in inputs.items()}
    result = forward(*values.values())
    result, at = result if isinstance(result, tuple) else (result, None)
    grads = torch.from_numpy(np.asarray(RNG.normal(size=result.shape))).to(result.dtype)
    wanted = torch.autograd.grad(result, list(values.values()), grads)
    known = {**values, "y": result, "dy": grads, "at": at, "shape": tuple(inputs["x"].shape)}
    given = [known[one] if isinstance(one, str) else one for one in order]
    found = operator(*(Tensor(one.detach().numpy()) if isinstance(one, torch.Tensor) else one
                       for one in given))
    found = found if isinstance(found, tuple) else (found,)
    assert len(found) >= len(wanted)
    for one, other in zip(found, wanted, strict=False):
        assert str(one.dtype).lower() == str(other.dtype).removeprefix("torch.")
        np.testing.assert_allclose(one.asnumpy().reshape(other.shape), other.numpy(),
                                   **({"rtol": 1e-4, "atol": 1e-5} if other.dtype is torch.float32
                                      else {"rtol": 1e-6, "atol": 1e-9}))


@pytest.mark.parametrize("operator, forward, inputs", [
    (norms.LayerNormGradGrad(2, 2), lambda x, w, b: F.layer_norm(x, x.shape[2:], w, b, 1e-12),
     (VOLUMES, draw(4, 5, 6), draw(4, 5, 6))),
    (norms.BatchNormGradGrad(True, 0.01), lambda x, w, b: F.batch_norm(
        x, None, None, w, b, True, eps=0.01), (IMAGES, WEIGHT, WEIGHT)),
    (norms.BatchNormGradGrad(False), lambda x, w, b: F.batch_norm(
        x, WEIGHT - 1, WEIGHT, w, b), (IMAGES, WEIGHT + 1, WEIGHT)),
    (norms.BatchNormGradGrad(True, data_format="NHWC"), lambda x, w, b: F.batch_norm(
        x.movedim(-1, 1), None, None, w, b, True).movedim(1, -1), (LAST, WEIGHT, WEIGHT)),
], ids=range(4))
def test_gradients_of_gradients(operator, forward, inputs):
    inputs = [value.clone().requires_grad_() for value in inputs]
    dy = draw(*inputs[0].shape).requires_grad_()
    pulled = [draw(*value.shape) for value in inputs]
    gradients = torch.autograd.grad(forward(*inputs), inputs, dy, create_graph=True)
    wanted = torch.autograd.grad(gradients, (inputs[0], dy, inputs[1]), pulled)
    if operator.name == "LayerNormGradGrad":
        given = [inputs[0], dy, *of_rows(inputs[0], 2), inputs[1]]
    else:
        given = [inputs[0], dy, inputs[1], WEIGHT - 1, WEIGHT]
    found = operator(*(Tensor(one.detach().numpy()) for one in (*given, *pulled)))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.numpy(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("operator, forward, x", [
    (layers.MaxPoolGradGrad((2, 3), (1, 2)),
     lambda x: F.max_pool2d(x, (2, 3), (1, 2), return_indices=True), IMAGES),
    (layers.MaxPool3DGradGrad((1, 1, 2, 3, 2), (1, 1, 1, 2, 3)),
     lambda x: F.max_pool3d(x, (2, 3, 2), (1, 2, 3), return_indices=True), VOLUMES),
])
def test_what_a_change_of_the_input_changes_in_a_pooling(operator, forward, x):
    change = draw(*x.shape)
    out, at = forward(x)
    wanted = change.flatten(2).gather(2, at.flatten(2)).reshape(out.shape)
    found = operator(*(Tensor(one.numpy()) for one in (x, out, change)))
    np.testing.assert_allclose(found.asnumpy(), wanted.numpy())


@pytest.mark.parametrize("operator, first", [
    (g.MaximumGradGrad(), [False, True, True]), (g.MinimumGradGrad(), [True, False, True])])
def test_gradients_of_gradients_of_extrema_choose_as_the_gradient_did(operator, first):
    x, y, dx, dy = (Tensor(v) for v in ([1., 3, 2], [2., 1, 2], [5., 6, 7], [8., 9, 4]))
    of_x, of_y, found = operator(x, y, dx, dy)
    assert found.tolist() == np.where(first, dx.asnumpy(), dy.asnumpy()).tolist()
    assert not of_x.asnumpy().any() and not of_y.asnumpy().any() and of_y.shape == (3,)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_a_single_class_and_labels_that_are_ignored(reduction):
    x, labels, weight = draw(3, 1).requires_grad_(), torch.tensor([0, -5, 0]), torch.tensor([0.7])
    F.nll_loss(x, labels, weight.double(), ignore_index=-5, reduction=reduction).sum().backward()
    found = g.NLLLossGrad(reduction, -5)(
        Tensor(x.detach().numpy()), Tensor(np.ones(3) if reduction == "none" else 1.0),
        Tensor(labels.numpy()), Tensor(weight.double().numpy()), Tensor(1.4))
    np.testing.assert_allclose(found.asnumpy(), x.grad.numpy(), rtol=1e-6)


def test_the_derivative_of_the_incomplete_gamma_function_by_its_exponent():
    """Beside complex steps of its series, from Abramowitz and Stegun, 6.5.29."""
    def series(a, x):  # gamma(a, x) / Gamma(a)
        terms = [x**n / np.prod([a + k for k in range(n + 1)]) for n in range(60)]
        return x**a * np.exp(-x) * np.sum(terms) / scipy.special.gamma(a)

    a, x = np.array([0.4, 1.3, 2.5]), np.array([0.7, 2.0, 1.1])
    found = derivatives.IgammaGradA()(Tensor(a), Tensor(x)).asnumpy()
    wanted = [series(complex(p, 1e-30), q).imag / 1e-30 for p, q in zip(a, x, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=1e-8)
