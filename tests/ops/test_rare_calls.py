"""Calls that few programs make, beside NumPy, PyTorch or what a person works out."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  (its usual name)

import lamella as ms
from lamella import Tensor, mint, nn, ops
from lamella.mint import extended
from lamella.ops import arg_dtype_cast, attention, composite
from lamella.ops.primitives import (
    derivatives,
    embedding_cache,
    faces,
    factorizations,
    gradients_layers,
    sets,
)
from lamella.ops.primitives import python_sequences as sequences

from .test_private_primitives import CLASSES

RNG = np.random.default_rng(3)


def draw(*shape, low=-2.0, high=2.0):
    return RNG.uniform(low, high, shape).astype(np.float32)


def close(found, wanted, **tolerance):
    """Whether results are like arrays, Tensors or tuples of these."""
    if isinstance(found, (tuple, list)):
        for one, other in zip(found, wanted, strict=True):
            close(one, other, **tolerance)
        return
    wanted = wanted.detach().numpy() if isinstance(wanted, torch.Tensor) else np.asarray(wanted)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found.asnumpy(), wanted, **{"rtol": 2e-5, "atol": 1e-5, **tolerance})


X, Y, V, W = draw(2, 3, 4), draw(2, 3, 4), draw(3), draw(4)
IMAGES, KERNELS = draw(2, 4, 5, 6), draw(4, 3, 2, 3)
t = torch.from_numpy
LABELS = np.array([1, 0, 3], np.int32)
RIGHT = np.array([[1, 3, -1, 0], [0, -1, 2, 1], [2, 1, 0, 3]], np.int32)

# what MindSpore has no kernel for on a CPU, with arguments that aren't the defaults
BESIDE_TORCH = {
    "rms_norm": (lambda: ops.rms_norm(Tensor(X), Tensor(W), 0.1),
                 lambda: (F.rms_norm(t(X), (4,), t(W), 0.1),
                          (t(X).square().mean(-1, keepdim=True) + 0.1).rsqrt())),
    "add_rms_norm": (lambda: ops.add_rms_norm(Tensor(X), Tensor(Y), Tensor(W), 0.1),
                     lambda: (F.rms_norm(t(X + Y), (4,), t(W), 0.1),
                              (t(X + Y).square().mean(-1, keepdim=True) + 0.1).rsqrt(),
                              t(X + Y))),
    "layer_norm": (lambda: ops.layer_norm(Tensor(X), (3, 4), Tensor(X[0]), Tensor(X[1]), 0.1),
                   lambda: F.layer_norm(t(X), (3, 4), t(X[0]), t(X[1]), 0.1)),
    "quantile": (lambda: ops.quantile(Tensor(X), Tensor([0.3, 0.8], ms.float32), 1, True),
                 lambda: t(X).quantile(torch.tensor([0.3, 0.8]), 1, True)),
    "nanquantile": (lambda: ops.nanquantile(Tensor(np.where(X > 1, np.nan, X)), 0.3, 1, True),
                    lambda: t(np.where(X > 1, np.float32("nan"), X)).nanquantile(0.3, 1, True)),
    "Median of an axis": (lambda: ops.Median(False, 1, True)(Tensor(X)),
                          lambda: tuple(t(X).median(1, True))),
    "Median": (lambda: ops.Median(False, 1)(Tensor(X)), lambda: tuple(t(X).median(1))),
    "roll": (lambda: ops.roll(Tensor(X), (1, -2), (1, 2)), lambda: t(X).roll((1, -2), (1, 2))),
    "diff": (lambda: ops.diff(Tensor(X), 2, 1), lambda: t(X).diff(2, 1)),
    "matrix_exp": (lambda: ops.matrix_exp(Tensor(X[:, :, :3])),
                   lambda: torch.linalg.matrix_exp(t(X[:, :, :3]))),
    "index_fill": (lambda: ops.index_fill(Tensor(X), 2, Tensor([3, 0], ms.int32), 5.0),
                   lambda: t(X).index_fill(2, torch.tensor([3, 0]), 5.0)),
    "ormqr": (lambda: ops.ormqr(Tensor(X[0, :, :2]), Tensor(V[:2]), Tensor(Y[0]), True, True),
              lambda: torch.ormqr(t(X[0, :, :2]), t(V[:2]), t(Y[0]), True, True)),
    "ormqr at the right": (
        lambda: ops.ormqr(Tensor(X[0, :, :2]), Tensor(V[:2]), Tensor(Y[0].T), False, False),
        lambda: torch.ormqr(t(X[0, :, :2]), t(V[:2]), t(Y[0].T), False, False)),
    "conv_transpose2d": (
        lambda: ops.conv_transpose2d(Tensor(IMAGES), Tensor(KERNELS), ops.ones(6),
                                     (2, 3), (1, 0), (1, 2), 2, (1, 2)),
        lambda: F.conv_transpose2d(t(IMAGES), t(KERNELS), torch.ones(6), (2, 3), (1, 0), (1, 2), 2,
                                   (1, 2))),
    "Conv2DTranspose": (
        lambda: ops.Conv2DTranspose(3, (2, 3), "pad", (1, 0, 1, 1), stride=(2, 1))(
            Tensor(IMAGES), Tensor(KERNELS), (2, 3, 9, 6)),
        lambda: F.conv_transpose2d(t(IMAGES), t(KERNELS), None, (2, 1))[:, :, 1:, 1:-1]),
    "DepthwiseConv2dNative": (
        lambda: ops.DepthwiseConv2dNative(1, (2, 3), 3, "pad", 1, 2, 1)(
            Tensor(IMAGES), Tensor(KERNELS[:1, [0, 1, 2, 0]])),
        lambda: F.conv2d(t(IMAGES), t(KERNELS[0][[0, 1, 2, 0]])[:, None], None, 2, 1, groups=4)),
    "avg_pool2d": (lambda: ops.avg_pool2d(Tensor(IMAGES), (2, 3), (1, 2), (1, 1), True, False),
                   lambda: F.avg_pool2d(t(IMAGES), (2, 3), (1, 2), 1, True, False)),
    "avg_pool3d": (
        lambda: ops.avg_pool3d(Tensor(IMAGES[None]), (2, 1, 3), (1, 2, 2), (1, 0, 1), True, False),
        lambda: F.avg_pool3d(t(IMAGES[None]), (2, 1, 3), (1, 2, 2), (1, 0, 1), True, False)),
    "adaptive_max_pool3d": (lambda: ops.adaptive_max_pool3d(Tensor(IMAGES), (2, None, 3), True),
                            lambda: F.adaptive_max_pool3d(t(IMAGES), (2, None, 3), True)),
    "triplet_margin_loss": (
        lambda: ops.triplet_margin_loss(*map(Tensor, (X, X + 1, Y)), 1.5, 3, 1e-3, True, "none"),
        lambda: F.triplet_margin_loss(t(X), t(X + 1), t(Y), 1.5, 3, 1e-3, True,
                                      reduction="none")),
    "TripletMarginLoss": (
        lambda: nn.TripletMarginLoss(3, True, 1e-3, "sum")(*map(Tensor, (X, X + 1, Y)),
                                                           Tensor(0.2, ms.float32)),
        lambda: F.triplet_margin_loss(t(X), t(X + 1), t(Y), 0.2, 3, 1e-3, True, reduction="sum")),
    "multi_margin_loss": (
        lambda: ops.multi_margin_loss(Tensor(X[0]), Tensor(LABELS, ms.int64), 2, 0.5,
                                      Tensor(abs(W)), "sum"),
        lambda: F.multi_margin_loss(t(X[0]), t(LABELS).long(), 2, 0.5, t(abs(W)),
                                    reduction="sum")),
    "multilabel_margin_loss": (
        lambda: ops.multilabel_margin_loss(Tensor(X[0]), Tensor(RIGHT), "none"),
        lambda: F.multilabel_margin_loss(t(X[0]), t(RIGHT).long(), reduction="none")),
    "MultilabelMarginLoss": (
        lambda: ops.MultilabelMarginLoss("none")(Tensor(X[0]), Tensor(RIGHT)),
        lambda: (F.multilabel_margin_loss(t(X[0]), t(RIGHT).long(), reduction="none"),
                 [[0, 1, 0, 1], [1, 0, 0, 0], [1, 1, 1, 1]])),
    "soft_margin_loss": (
        lambda: ops.soft_margin_loss(Tensor(X), Tensor(np.sign(Y)), "none"),
        lambda: F.soft_margin_loss(t(X), t(np.sign(Y)), reduction="none")),
    "binary_cross_entropy": (
        lambda: ops.binary_cross_entropy(Tensor(abs(X) / 3), Tensor(abs(Y) / 3),
                                         Tensor(np.abs(X)), "sum"),
        lambda: F.binary_cross_entropy(t(abs(X) / 3), t(abs(Y) / 3), t(abs(X)), reduction="sum")),
    "BatchNorm": (
        lambda: ops.BatchNorm(False, 0.1)(*map(Tensor, (IMAGES, W, W + 1, W * 2, abs(W))))[0],
        lambda: F.batch_norm(t(IMAGES), t(W * 2), t(abs(W)), t(W), t(W + 1), eps=0.1)),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(4, 0.1).set_train()(Tensor(IMAGES)),
                       lambda: F.instance_norm(t(IMAGES), eps=0.1)),
    "addbmm of matrices": (
        lambda: ops.addbmm(Tensor(X[0, :, :2]), Tensor(X[0, :, :3]), Tensor(Y[1, :, :2]), beta=2,
                           alpha=3),
        lambda: 2 * X[0, :, :2] + 3 * (X[0, :, :3] @ Y[1, :, :2]).sum(0)),
    "statistics of parts": (
        lambda: mint.batch_norm_gather_stats_with_counts(
            Tensor(X[0]), Tensor(X[0, :, :2]), Tensor(abs(Y[0, :, :2]) + 0.1), *MOVED, 0.3, 0.01,
            Tensor([4.0, 6.0, 3.0])) + tuple(MOVED),
        lambda: gathered(X[0, :, :2], abs(Y[0, :, :2]) + 0.1, np.array([[4.0], [6], [3]]))),
    "crop of one row": (
        lambda: ops.crop_and_resize(Tensor(IMAGES), Tensor([[0.1, 0.2, 0.9, 0.6]]),
                                    Tensor([1], ms.int32), (1, 3)),
        lambda: crop(IMAGES[1])),
    "bytes as another type": (lambda: Tensor(X).view(ms.int32), lambda: X.view(np.int32)),
    "fmax": (lambda: ops.fmax(Tensor([1.0, 2, np.nan]), Tensor([3.0, np.nan, 1])),
             lambda: [3, 2, 1]),
    "fmin": (lambda: ops.fmin(Tensor([1.0, 2, np.nan]), Tensor([3.0, np.nan, 1])),
             lambda: [1, 2, 1]),
    "MatMul of turned ones": (
        lambda: nn.MatMul(False, True)(Tensor(X), Tensor(Y)), lambda: X @ Y.swapaxes(1, 2)),
    "grid_sample": (
        lambda: ops.grid_sample(Tensor(IMAGES), Tensor(X[..., None].repeat(2, -1) / 2), "nearest",
                                "reflection", True),
        lambda: F.grid_sample(t(IMAGES), t(X[..., None].repeat(2, -1) / 2), "nearest",
                              "reflection", True)),
    "Dilation2DBackpropFilter": (
        lambda: gradients_layers.Dilation2DBackpropFilter(1, 1, "VALID")(
            Tensor(IMAGES), Tensor(KERNELS[:, 0]), Tensor(IMAGES[:, :, :4, :4])),
        lambda: torch.autograd.grad(dilated(WEIGHTS), WEIGHTS, t(IMAGES[:, :, :4, :4]))[0]),
}
MOVED = Tensor([0.1, 0.2]), Tensor([1.0, 2.0])
WEIGHTS = t(KERNELS[:, 0]).clone().requires_grad_()


def gathered(means, inverse, counts):
    """The statistics of a batch by those of its parts, and the moved ones."""
    total = counts.sum()
    mean = (means * counts).sum(0) / total
    variance = ((inverse ** -2.0 - 0.01 + (means - mean) ** 2) * counts).sum(0) / total
    return (mean, (variance + 0.01) ** -0.5, np.array([0.1, 0.2]) * 0.7 + 0.3 * mean,
            np.array([1.0, 2.0]) * 0.7 + 0.3 * variance * total / (total - 1))


def crop(image):
    """Three points of the row in the middle of a box: y from 0.1 to 0.9, x from 0.2 to 0.6."""
    across = np.array([0.2, 0.4, 0.6]) * (image.shape[1] - 1)
    low, share = np.floor(across).astype(int), (across % 1)[:, None]
    middle = 0.5 * (image.shape[0] - 1)
    rows = image[int(middle)] * (1 - middle % 1) + image[int(np.ceil(middle))] * (middle % 1)
    return (rows[low] * (1 - share) + rows[np.minimum(low + 1, len(rows) - 1)] * share)[None, None]


def dilated(weights):
    """The largest of a picture's elements plus weights, in each window of 2 x 3 elements."""
    parts = t(IMAGES).unfold(2, 2, 1).unfold(3, 3, 1)
    return (parts + weights[None, :, None, None]).amax((-2, -1))


@pytest.mark.parametrize("name", BESIDE_TORCH)
def test_values(name):
    found, wanted = BESIDE_TORCH[name]
    close(found(), wanted())


def of(name, *attributes, **named):
    return CLASSES[name](*attributes, **named)


ONE_OF_SEVERAL = (ops.concat, ops.stack, ops.hstack, ops.vstack, ops.dstack, ops.column_stack,
                  ops.row_stack, ops.addn, ops.accumulate_n, ops.Stack())
PLAIN = [
    (lambda: [f([Tensor([[1, 2], [3, 4]])]).shape for f in ONE_OF_SEVERAL], [
        (2, 2), (1, 2, 2), (2, 2), (2, 2), (2, 2, 1), (2, 2), (2, 2), (2, 2), (2, 2), (1, 2, 2)]),
    (lambda: ops.meshgrid(Tensor([1, 2]))[0].tolist(), [1, 2]),
    (lambda: ops.einsum("ij->ji", Tensor([[1, 2, 3]])).shape, (3, 1)),
    (lambda: ops.block_diag(Tensor([[1, 2]])).tolist(), [[1, 2]]),
    (lambda: ops.hardtanh(Tensor([0, 1, 5, 9], ms.uint8), -3, 7).tolist(), [0, 1, 5, 7]),
    (lambda: ops.hardtanh(Tensor([-9, 0, 5, 9], ms.int8), -3, 7).tolist(), [-3, 0, 5, 7]),
    (lambda: [p.shape for p in ops.SplitV([1, -1, 2], 1, 3)(ops.ones((2, 6)))],
     [(2, 1), (2, 3), (2, 2)]),
    (lambda: [p.tolist() for p in ops.SplitV([4, 2], -1, 2)(Tensor([1, 2, 3, 4, 5, 6]))],
     [[1, 2, 3, 4], [5, 6]]),
    (lambda: of("SequenceCount")((Tensor([1, 2]), 3, Tensor([1, 2]), Tensor([1])), Tensor([1, 2])),
     2),
    (lambda: of("InSequence")(Tensor([1, 2]), (3, Tensor([1, 3]))), False),
    (lambda: of("InSequence")(3, (3, Tensor([1, 3]))), True),
    (lambda: of("SequenceIndex")((5, 6, 7, 6), 6, 2, 4), 3),
    (lambda: of("SequenceIndex")((5, 6, 7, 6), 6), 1),
    (lambda: of("SequenceAddOffset")((5, 6, 7), (1,)), (0, 3)),
    (lambda: of("ShapeMulGrad")((2, 3, 5), 7), (105, 70, 42)),
    (lambda: sequences._to_tensor((1, 2.5)).dtype, ms.int64),
    (lambda: sequences._to_tensor((1.5, Tensor([2]))).tolist(), [1.5, 2.0]),
    (lambda: sequences._to_tensor(()).dtype, ms.float32),
    (lambda: ops.addbmm(Tensor([[1, 2, 3], [4, 5, 6]]), Tensor([[[1, 2], [3, 4]]]),
                        Tensor([[[1, 2, 0], [0, 1, 3]]]), beta=2, alpha=3).tolist(),
     [[5, 16, 24], [17, 40, 48]]),
    (lambda: [part.tolist() for part in ops.meshgrid((Tensor([1, 2]), Tensor([3, 4, 5])),
                                                     indexing="ij")],
     [[[1, 1, 1], [2, 2, 2]], [[3, 4, 5], [3, 4, 5]]]),
    (lambda: [ops.arange(*given).tolist() for given in (
        (0, 5, 2**40), (5, 0, -2**40), (3, 4, 2**62), (0, 2**33, 2**32 + 5))],
     [[0], [5], [3], [0, 2**32 + 5]]),
    (lambda: [ops.bool_eq(True, b) for b in (True, False)], [True, False]),
    (lambda: [ops.string_eq("a", b) for b in ("a", "b")], [True, False]),
    (lambda: ops.is_dynamic_sequence_element_unknown((1,)), False),
    (lambda: [arg_dtype_cast.is_integral_mstype(kind) for kind in (ms.int8, ms.uint16, ms.float32)],
     [True, True, False]),
    (lambda: [arg_dtype_cast.is_floating_point_mstype(kind) for kind in (ms.float16, ms.int8)],
     [True, False]),
    (lambda: [composite._fits(*pair) for pair in (
        (ops.ones(2), "Tensor[Float32]"), (ops.ones(2), "Tensor[Int32]"), (True, "int"),
        (1, "int32"), (1.5, "float_"), (len, "func"), (ops.ones(2), "func"), (1, "COOTensor"))],
     [True, False, False, True, True, True, False, False]),
    (lambda: [p.tolist() for p in derivatives.ScaleGrad()((Tensor([1.0]), Tensor([2.0, 3.0]),
                                                           Tensor(4.0)))], [[4.0], [8.0, 12.0]]),
    (lambda: [(found.shape, found.dtype) for found in (
        faces.Empty()((2, 3)), faces.Empty()((3,), ms.int32), faces.EmptyLike()(Tensor([1, 2])),
        faces.EmptyLike()(Tensor([1, 2]), ms.float16), faces.NewEmpty()(Tensor([1]), (2,)),
        faces.NewEmpty()(Tensor([1]), (2,), ms.float64))],
     [((2, 3), ms.float32), ((3,), ms.int32), ((2,), ms.int64), ((2,), ms.float16),
      ((2,), ms.int64), ((2,), ms.float64)]),
    (lambda: of("SparseDenseCwiseDiv")(Tensor([[0, 1], [1, 2]]), Tensor([3.0, -5.0]),
                                       Tensor([2, 3]), Tensor([2.0, 4.0, 2.0])).tolist(),
     [0.75, -2.5]),
    (lambda: of("SparseDenseCwiseDiv")(Tensor([[0, 1], [1, 2]]), Tensor([7, -5]), Tensor([2, 3]),
                                       Tensor([2, 4, 2])).tolist(), [1, -2]),
    (lambda: sets.RaggedTensorToTensor(["FIRST_DIM_SIZE", "VALUE_ROWIDS"])(
        Tensor([-1, -1]), Tensor([7, 8, 9]), Tensor(0), [Tensor(3), Tensor([0, 2, 2])]).tolist(),
     [[7, 0], [0, 0], [8, 9]]),
    (lambda: sets.RaggedTensorToTensor(["ROW_SPLITS"])(
        Tensor([2, 3, 2]), Tensor([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), Tensor(0),
        [Tensor([0, 2, 3])]).tolist(),
     [[[1, 2], [4, 5], [0, 0]], [[7, 8], [0, 0], [0, 0]]]),
    (lambda: [part.tolist() for part in sets.DenseToSparseSetOperation("a-b")(
        Tensor([[1, 2], [3, 3]]), Tensor([[0, 0], [1, 0]]), Tensor([2, 3]), Tensor([2, 1]))],
     [[[0, 0]], [1], [2, 1]]),
    (lambda: [v.tolist() for v in extended._interploate_ext_make_tuple(
        ops.ones((1, 2, 3, 4)), Tensor(5))], [5, 5]),
    (lambda: extended._interpolate_ext_scale_factor_convert_size(
        ops.ones((1, 2, 3, 5)), (2.5, 0.5)), (7, 2)),
    (lambda: ms.numpy.pad(Tensor([[1]]), ((1, 2),)).shape, (4, 4)),
    (lambda: ms.numpy.pad(Tensor([[1]]), (1,)).shape, (3, 3)),
    (lambda: ms.numpy.pad(Tensor([[1]]), (1, 2)).shape, (4, 4)),
    (lambda: ms.ops.ArgMaxWithValue()(Tensor([1, 7, 3], ms.uint32))[1].tolist(), 7),
]


@pytest.mark.parametrize("call, wanted", PLAIN, ids=range(len(PLAIN)))
def test_plain_values(call, wanted):
    assert call() == wanted


@pytest.mark.parametrize("call, kind, text", [
    (lambda: ops.SplitV([1, -1, -1], 1, 3), ValueError, "at most one of them -1"),
    (lambda: ops.SplitV([1, 5], 1, 3), ValueError, "'num_split' = 3 lengths"),
    (lambda: ops.SplitV(3, 1, 3), TypeError, "tuple or list"),
    (lambda: sets.RaggedTensorToTensor(["FIRST_DIM_SIZE", "VALUE_ROWIDS"])(
        Tensor([-1, -1]), Tensor([7, 8]), Tensor(0), [Tensor(2), Tensor([0, 2])]), RuntimeError,
     "must be below 2"),
    (lambda: nn.PReLU(3, ops.ones(2)), ValueError, r"shape \(3,\)"),
    (lambda: nn.PReLU(3, ops.ones(3, ms.float64)), ValueError, "Float16 or Float32"),
    (lambda: nn.Dense(1, 1).set_comm_fusion(-1), ValueError, "0 or more"),
    (lambda: nn.Dense(1, 1).set_comm_fusion("1"), ValueError, "0 or more"),
], ids=range(8))
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_regions_outside_of_an_image_give_0():
    """Beside the means of PyTorch over the pixels of each cell."""
    image = draw(1, 2 * 4, 5, 6)
    regions = [(-9, -9, -3, -3), (9, 9, 12, 12), (-2, -2, 4, 4), (1, 0, 3, 5), (3, 3, 9, 9)]
    rois = np.array([[0, *corners] for corners in regions], np.float32).T[None]
    found = CLASSES["PSROIPooling"](1.0, 2, 2)(Tensor(image), Tensor(rois)).asnumpy()
    for region, (x0, y0, x1, y1) in enumerate(regions):
        for i, j in np.ndindex(2, 2):
            high, wide = (y1 - y0) / 2, (x1 - x0) / 2
            rows, columns = (slice(*np.clip([np.floor(n * step + begin), np.ceil(
                (n + 1) * step + begin)], 0, size).astype(int)) for n, step, begin, size in (
                    (i, high, y0, 5), (j, wide, x0, 6)))
            part = image.reshape(2, 2, 2, 5, 6)[:, i, j, rows, columns]
            want = part.mean((1, 2)) if part.size else np.zeros(2)
            np.testing.assert_allclose(found[region, :, i, j], want, rtol=1e-5, atol=1e-6)


def test_kinds_of_numbers():
    for value, want in ((3, 3.0), (Tensor(2.5), 2.5), (0.5, 0.5)):
        found = arg_dtype_cast.do_type_cast(value, arg_dtype_cast.DT_FLOAT_VAL, "test")
        assert found == want and type(found) is float
    places = Tensor([1, 0, 1])
    for choices in ([Tensor([1.5, 2.5, 3.5]), Tensor([1, 2, 3])],
                    [Tensor([1, 2, 3]), Tensor([1.5, 2.5, 3.5])]):
        assert places.choose(choices).dtype is ms.float32


def test_rows_of_unequal_lengths_as_sparse_ones():
    """With no rows, and of one row without elements, by MindSpore 2.10."""
    for splits, values, places, shape in (
            ([[0, 2, 2, 3]], [4, 5, 6], [[0, 0], [0, 1], [2, 0]], [3, 2]),
            ([[0]], [], [], [0, 0]), ([[0, 0]], [], [], [1, 0]),
            ([[0, 1, 2], [0, 2, 3]], [4, 5, 6], [[0, 0, 0], [0, 0, 1], [1, 0, 0]], [2, 1, 2])):
        found = CLASSES["RaggedTensorToSparse"](ms.int64)(
            [Tensor(s, ms.int64) for s in splits], Tensor(np.array(values, np.int32)))
        assert found[0].tolist() == places and found[1].tolist() == values
        assert found[2].tolist() == shape


def test_tables_that_are_changed_in_place():
    table = ms.Parameter(Tensor([[1.0, 2], [3, 4], [5, 6]]), name="t")
    new = Tensor([[10.0, 20], [30, 40], [50, 60], [70, 80]])
    embedding_cache.UpdateCache()(table, Tensor([1, -1, 2, 0]), new, 2)
    assert table.tolist() == [[70, 80], [10, 20], [5, 6]]
    embedding_cache.UpdateCache()(table, Tensor([2, 3]), new[:2], 9)
    assert table.tolist() == [[70, 80], [10, 20], [10, 20]]
    embedding_cache.DynamicAssign()(table, new)
    assert table.shape == (4, 2) and table.tolist() == new.tolist()
    embedding_cache.DynamicAssign()(table, new * 2)
    assert table.tolist() == (new * 2).tolist()


def test_causal_attention_needs_no_mask():
    x, w, out = (Tensor(v) for v in (draw(5, 2, 4), draw(12, 4), draw(4, 4)))
    given = (x, x, x, 4, 2, w, None, None, None, False, 0.0, out, None)
    hidden = Tensor(np.triu(np.ones((5, 5), bool), 1))
    one = attention.multi_head_attention_forward(*given, is_causal=True)
    other = attention.multi_head_attention_forward(*given, attn_mask=hidden)
    third = attention.multi_head_attention_forward(*given, attn_mask=hidden.astype(ms.uint8))
    close(one, [part.asnumpy() for part in other])
    close(third, [part.asnumpy() for part in other])
    assert not np.triu(one[1].asnumpy(), 1).any() and one[1].asnumpy()[:, 4].all()


@pytest.mark.parametrize("layout", ["BSH", "SBH", "BSND", "BNSD"])
def test_layouts_of_attention(layout):
    heads, width = 2, 3
    first = [draw(2, heads, 5, width) for _ in range(3)]

    def laid(x):
        if layout == "BNSD":
            return x
        x = x.swapaxes(1, 2)
        if layout == "BSND":
            return x
        flat = x.reshape(2, 5, -1)
        return flat if layout == "BSH" else flat.swapaxes(0, 1)

    found = ops.flash_attention_score(*(Tensor(np.ascontiguousarray(laid(x))) for x in first),
                                      heads, scalar_value=0.7, input_layout=layout)
    wanted = F.scaled_dot_product_attention(*map(t, first), scale=0.7).numpy()
    close(found, laid(wanted), rtol=1e-4)


def test_a_trace_of_several_matrices_in_another_type():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for offset in (-1, 0, 1):
        found = factorizations.TraceV2()(Tensor(x), offset, 1, 2, ms.float64)
        assert found.dtype is ms.float64
        np.testing.assert_array_equal(found.asnumpy(), np.trace(x, offset, 1, 2))
    whole = Tensor(np.full((1, 3, 3), 100, np.int8))
    for kind, wanted in ((None, ms.int64), (ms.int32, ms.int32), (ms.int16, ms.int16)):
        found = factorizations.TraceV2()(whole, 0, 1, 2, kind)
        assert found.dtype is wanted and found.tolist() == [300]


@pytest.mark.parametrize("call, shape", [
    (ops.abs, (2, 2)), (ops.conj, (2, 2)), (ops.cartesian_prod, (2,)),
    (lambda x: ops.dropout(x, 0.0), (2, 2)),
    (lambda x: ops.matrix_band_part(x, -1, -1), (2, 2)),
    (lambda x: ops.matrix_band_part(x, -1, 0), (2, 2)),
    (lambda x: ops.matrix_band_part(x, 1, -1), (2, 2)),
    (lambda x: ops.channel_shuffle(x, 1), (1, 2, 2)),
    (lambda x: ops.channel_shuffle(x, 2), (1, 2, 2)),
    (lambda x: ops.channel_shuffle(x, 2), (1, 4, 2))])
@pytest.mark.parametrize("kind", [ms.float32, ms.bool_])
def test_a_write_to_a_result_leaves_what_it_was_made_of(call, shape, kind):
    """Of operators that compute, whatever they are given; only views share memory."""
    x = ops.ones(shape, kind)
    found = call(x)
    found[0] = 0
    assert x.min() == 1 and found.min() == 0
