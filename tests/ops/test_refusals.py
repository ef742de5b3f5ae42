"""Arguments that no other test refuses: each call breaks one condition and keeps the others."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.ops import attention
from lamella.ops.primitives import attributes

from .test_private_primitives import CLASSES

ONES = ops.ones
X, M, V = ONES((2, 3, 4)), ONES((3, 4)), ONES(4)
IMAGES, VOLUMES = ONES((2, 4, 6, 6)), ONES((2, 3, 4, 5, 6))
INTS = Tensor([1, 2, 3])


def of(name, *attributes, **named):
    return CLASSES[name](*attributes, **named)


# what messages say where a condition was checked, and not what a kernel made of it
WORDS = "^For .*( must | may | needs | names | goes with | can't )"
CALLS = [
    lambda: ops.gumbel_softmax(M, hard=1),
    lambda: ops.adaptive_avg_pool2d(IMAGES, (0, 2)), lambda: ops.dropout(M, "a"),
    lambda: ops.dropout(M, True), lambda: ops.dropout(M, 0.5, 1),
    lambda: ops.one_hot(INTS, 4, V[0], V[0], 2), lambda: ops.one_hot(INTS, -2),
    lambda: ops.lp_pool1d(M, "a", 2), lambda: ops.lp_pool1d(M, 0, 2),
    lambda: ops.crop_and_resize(IMAGES, V[None], Tensor([0], ms.int32), (2, 2), "cubic"),
    lambda: ops.multi_margin_loss(M, INTS, 3), lambda: ops.smooth_l1_loss(M, M, -1.0),
    lambda: ops.gaussian_nll_loss(M, M, M, eps=0.0),
    lambda: ops.cosine_embedding_loss(M, M, INTS, 1.5),
    lambda: ops.cosine_embedding_loss(M, M, INTS, -1.5),
    lambda: ops.matrix_diag(V, align="MIDDLE"), lambda: ops.Meshgrid("yx"),
    lambda: ops.BiasAdd("NCWH"),
    lambda: ops.MirrorPad("EDGE"), lambda: ops.PadV3("wrap"),
    lambda: ops.LSTM(2, 2, 1, True, False, 1.5), lambda: ops.LSTM(2, 2, 1, True, False, -0.5),
    lambda: ops.LSTM(2, 2, 1, True, False, 0.0, True),
    lambda: ops.LSTM(2, 2, 1, True, False, 0.0, 1.0),
    lambda: ops.flash_attention_score(X, X, X, 2, keep_prob=0.0),
    lambda: ops.flash_attention_score(X, X, X, 2, keep_prob=1.5),
    lambda: ops.flash_attention_score(X, X, X, 2, sparse_mode=5),
    lambda: ops.flash_attention_score(X, X, X, 2, sparse_mode=-1),
    lambda: attributes.positive_number("F", "a", True),
    lambda: attributes.positive_number("F", "a", "1"),
    lambda: attributes.positive_number("F", "a", 0),
    lambda: ops.interpolate(IMAGES, None, (1.0, -2.0)),
    lambda: ops.interpolate(IMAGES, None, (1.0, 0.0)),
    lambda: ops.interpolate(IMAGES, None, (1.0, 2.0, 3.0)),
    lambda: ops.matrix_power(M[:, :3], 2**64),
    lambda: ops.LRN(1)(M), lambda: ops.channel_shuffle(IMAGES, 3),
    lambda: ops.channel_shuffle(IMAGES, 0), lambda: ops.vander(M, 2),
    lambda: ops.SpaceToDepth(4)(IMAGES), lambda: ops.DepthToSpace(3)(IMAGES),
    lambda: of("FusedAddTopKDiv")(M, V, 1, 1, 1, 1, 1),
    lambda: of("FusedAddTopKDiv")(M, V, 1, 1, 1, 1, 0, True, 1.0, None, None, True),
    lambda: of("CTCLossV2Grad", 0, "mean")(V, X, INTS, INTS, INTS, V, X),
    lambda: of("Uniform", -1.0), lambda: of("Uniform", 0.0, -1.0),
    lambda: of("DeformableOffsetsGrad", (1,) * 4, (0,) * 4, (2, 2), modulated=False),
    lambda: of("ResizeV2", "align_corners", "nearest")(
        IMAGES[:, :, :1], V[0], V[0], Tensor([2, 4, 1, 3])),
    lambda: of("TupleToTensor")(("a",), ms.float32),
    lambda: nn.MatMul(1), lambda: ops.sparse_segment_mean(M, INTS, Tensor([0, 0])),
    lambda: ops.iou(V, V[None]), lambda: ops.iou(V[None], V[None, :3]),
    lambda: ops.iou(V[None], X), lambda: ops.NMSWithMask()(M), lambda: ops.NMSWithMask()(V),
    lambda: ops.NMSWithMask()(ONES((2, 3, 5))),
    lambda: ops.crop_and_resize(IMAGES[0], V[None], Tensor([0], ms.int32), (2, 2)),
    lambda: ops.crop_and_resize(IMAGES, V, Tensor([0], ms.int32), (2, 2)),
    lambda: ops.crop_and_resize(IMAGES, V[None, :3], Tensor([0], ms.int32), (2, 2)),
    lambda: ops.bias_add(V, V), lambda: ops.bias_add(M, M),
    lambda: ops.bias_add(M, V[:3]), lambda: ops.max_unpool2d(IMAGES, IMAGES[:1].long(), 2),
    lambda: ops.block_diag(X), lambda: ops.combinations(M, 2), lambda: ops.combinations(V, -1),
    lambda: ops.gather_nd(M, Tensor(1)), lambda: ops.gather_nd(M, Tensor([[0, 0, 0]])),
    lambda: ops.LayerNorm()(X, V, M), lambda: ops.LayerNorm()(X, M, V),
    lambda: ops.lrn(M),
    lambda: ops.diagonal(X, 0, 1, 1),
    lambda: ops.diagonal(X, 0, 1, -2), lambda: ops.pad(M, (1, 2, 3)),
    lambda: ops.pad(M, (1,) * 6),
    lambda: ops.MirrorPad("REFLECT")(M, Tensor([[0, 0]])),
    lambda: ops.MirrorPad("REFLECT")(M, Tensor([[0, 3], [0, 0]])),
    lambda: ops.MirrorPad("SYMMETRIC")(M, Tensor([[0, 4], [0, 0]])),
    lambda: ops.Pad(((0, 1),))(M), lambda: ops.Unstack(0, 2)(M),
    lambda: ops.Betainc()(V, V, M), lambda: ops.ExtractGlimpse()(
        IMAGES, Tensor([2, 2], ms.int32), ONES((1, 2))),
    lambda: of("InstanceNormV2")(M, M, M, M, M),
    lambda: of("InstanceNormV2")(ONES((2, 3, 1, 1)), *[ONES((2, 3, 1, 1))] * 4),
    lambda: of("InstanceNormV2")(IMAGES, *[ONES((2, 3, 1, 1))] * 4),
    lambda: of("PSROIPooling", 1.0, 2, 1)(IMAGES, ONES((1, 4, 2))),
    lambda: of("PSROIPooling", 1.0, 2, 1)(IMAGES, ONES((5, 2))),
    lambda: of("ResizeV2", "half_pixel", "linear")(
        IMAGES, V[0], V[0], Tensor([2, 4, 6, 3])),
    lambda: of("ResizeV2", "half_pixel", "cubic")(IMAGES, V[0], V[0], Tensor([2, 3, 6, 3])),
    lambda: of("ResizeV2", "half_pixel", "cubic")(IMAGES, V[0], V[0], Tensor([2, 6, 3])),
    lambda: of("ResizeV2", "half_pixel", "cubic")(IMAGES[0], V[0], V[0],
        Tensor([2, 4, 6, 3])),
    lambda: of("ResizeV2Grad", "half_pixel", "cubic")(IMAGES[0], V[0], V[0],
        Tensor([2, 4, 6, 3])),
    lambda: attention.multi_head_attention_forward(
        X, X, X, 3, 2, ONES((12, 4)), None, None, None, False, 0.0, ONES((4, 4)), None),
    lambda: attention.multi_head_attention_forward(
        X, X, X, 4, 3, ONES((12, 4)), None, None, None, False, 0.0, ONES((4, 4)), None),
    lambda: nn.MultiheadAttention(4, 2)(X, X, X[:, :2]),
    lambda: nn.MultiheadAttention(4, 2)(X, X[:, :2], X[:, :2]),
    lambda: nn.MultiheadAttention(4, 2)(X, X, X, attn_mask=ONES((2, 3)) > 0),
    lambda: ms.odeint(lambda y, t: y, V, M),
    lambda: ms.odeint(lambda y, t: y, V, V[:0]), lambda: ms.odeint(lambda y, t: M, V, V),
    lambda: of("SparseReorder")(Tensor([[0, 1]]), V[:2], (2, 2)),
    lambda: ops.MaxUnpool3D(2, output_shape=(1, 2))(VOLUMES, VOLUMES.long()),
    lambda: ops.CTCLoss()(ONES((3, 0, 2)), ops.zeros((0, 2), ms.int64),
        ops.zeros(0, ms.int32), ops.zeros(0, ms.int32)),
    lambda: ops.RaggedRange(ms.int64)(INTS[None], INTS[None], INTS[None]),
    lambda: ops.RaggedRange(ms.int64)(INTS, INTS[:2], INTS),
    lambda: ops.RaggedRange(ms.float32), lambda: ops.RaggedRange(ms.int64)(
        INTS, INTS.astype(ms.int32), INTS),
    lambda: ms.odeint(lambda y, t: y, INTS, V),
    lambda: ms.odeint(lambda y, t: y, (V, V.astype(ms.float64)), V),
    lambda: ops.adaptive_avg_pool2d(IMAGES, (2, -1)),
    lambda: of("PadAndShift")(INTS, Tensor([0, 1, 2]), 2),
    lambda: of("PadAndShift")(INTS, Tensor([0, 1, 2]), -1),
    lambda: ops.MaxUnpool3D(2)(VOLUMES[:, :, :1, :1, :1], ONES((2, 3, 1, 1, 1)).long() * 8),
    lambda: ops.MaxUnpool3D(2)(VOLUMES[:, :, :1, :1, :1], ONES((2, 3, 1, 1, 1)).long() * -1),
    lambda: ops.adaptive_avg_pool2d(IMAGES, (-1, 2)), lambda: ops.Unstack(num=2)(M),
    lambda: ops.transpose(M, (0, 0)),
    lambda: ops.Softmax(()), lambda: ops.TensorToScalar()(V),
    lambda: ops.RGBToHSV()(INTS),
    lambda: ops.SampleDistortedBoundingBoxV2(aspect_ratio_range=1.0),
    lambda: ops.SampleDistortedBoundingBoxV2(area_range=(1, 2)),
    lambda: ops.SampleDistortedBoundingBoxV2()(INTS, ONES((1, 1, 3)), Tensor([0.5])),
    lambda: ops.SampleDistortedBoundingBoxV2()(INTS, ONES((1, 1, 4)) * 0.5, V),
    lambda: ops.CombinedNonMaxSuppression()(ONES((1, 2, 1, 3)), ONES((1, 2, 1)),
                                            Tensor(1, ms.int32), Tensor(1, ms.int32), 0.5, 0.5),
    lambda: of("Correlate", "full")(M, V), lambda: of("Correlate", "full")(V, V[:0]),
    lambda: of("Correlate", "full")(V[:0], V),
    lambda: ops.FFTWithSize(1, False, False, "other"),
    lambda: ops.FFTWithSize(2, True, True, "ortho", True, (1,)),
    lambda: ops.Pad(((0, -1), (0, 0))), lambda: ops.Pad([[0, 1]]),
    lambda: ops.SGD(0.1, nesterov=True), lambda: ops.MaxPoolWithArgmax(data_format="NHWC")(IMAGES),
    lambda: ops.UniformCandidateSampler(2, 2, True, 4)(INTS[:, None]),
    lambda: ops.strided_slice(M, (0, 0), (1, 1), (1, 1), ellipsis_mask=3),
    lambda: ops.strided_slice(V, (0, 0), (1, 1), (1, 1)), lambda: ops.slice(M, (0,), (1, 1)),
    lambda: ops.slice(M, (0, 0), (1,)), lambda: ops.range(0, 9, 1, 3),
    lambda: ops.linspace(0.0, 1.0, -1), lambda: ops.movedim(M, (0, 0), (0, 1)),
    lambda: ops.movedim(M, (0, 1), (0, 0)), lambda: ops.movedim(M, (0, 1), (0,)),
    lambda: ops.roll(M, (1, 2), (0,)), lambda: ops.multinomial(X, 1),
    lambda: ops.choice_with_mask(M), lambda: ops.sort(M, descending=1),
    lambda: ops.searchsorted(V, V, side="middle"),
    lambda: ops.searchsorted(V, V, right=True, side="left"), lambda: ops.bucketize(V, 3),
    lambda: ops.bincount(INTS, minlength=-1), lambda: ops.split(M, 0), lambda: ops.split(M, -1),
    lambda: ops.hann_window(5, 1), lambda: ops.stft(X, 2), lambda: ops.stft(V, 9, center=False),
    lambda: ops.stft(V, 2, center=1), lambda: ops.stft(V, 2.0), lambda: ops.stft(V, True),
    lambda: ops.stft(V, 0), lambda: ops.stft(V, 2, win_length=3),
    lambda: ops.stft(V, 2, hop_length=0),
    lambda: ops.scatter_nd(Tensor(0), V[0], (3,)), lambda: ops.scatter_nd(
        Tensor([[0, 0]]), V[:1], (3,)), lambda: ops.unsorted_segment_sum(M, INTS[:2], 3),
    lambda: ops.unsorted_segment_sum(M, INTS[:, None], 3),
    lambda: ops.batch_to_space_nd(IMAGES, (3, 1), [[0, 0], [0, 0]]),
    lambda: ops.space_to_batch_nd(IMAGES, (4, 1), [[0, 0], [0, 0]]),
    lambda: ops.flatten(M, 1), lambda: ops.zeros((2, -1)), lambda: ops.diag_embed(Tensor(1.0)),
    lambda: ops.standard_laplace((-1,)),
    lambda: of("SparseSegmentSum")(M, Tensor([[0, 1]]), Tensor([0, 0])),
    lambda: of("SparseSegmentSumWithNumSegments")(M, Tensor([0, 1]), Tensor([0, 5]), Tensor(4)),
    lambda: of("RaggedTensorToSparse", ms.int64)([Tensor([1, 3])], INTS),
    lambda: of("RaggedTensorToSparse", ms.int64)([Tensor([0, 2])], INTS),
    lambda: of("RaggedTensorToSparse", ms.int64)([Tensor([0, 4, 3])], INTS),
    lambda: of("RaggedTensorToTensor", ["ROW_SPLITS"])(
        Tensor([-1, -1]), INTS, Tensor(0), [Tensor([0, 4, 3])]),
    lambda: of("CSRSparseMatrixToDense")(Tensor([2]), Tensor([0, 1]), Tensor([0, 1, 1]),
                                         Tensor([0]), V[:1]),
    lambda: of("CSRSparseMatrixToDense")(Tensor([2, 2]), Tensor([0, 1]), Tensor([0, 1, 1]),
                                         Tensor([0]), V[:2]),
    lambda: of("CSRSparseMatrixToDense")(Tensor([2, 2]), Tensor([0, 1]), Tensor([0, 1, 1]),
                                         Tensor([[0]]), V[:1, None]),
    lambda: of("CSRSparseMatrixToDense")(Tensor([2, 2]), Tensor([0, 2]), Tensor([0, 1, 1]),
                                         Tensor([0, 1]), V[:2]),
    lambda: of("CSRSparseMatrixToDense")(Tensor([2, 2]), Tensor([0, 1]), Tensor([0, 2, 1]),
                                         Tensor([0]), V[:1]),
    lambda: of("CSRSparseMatrixToDense")(Tensor([2, 2]), Tensor([0, 1]), Tensor([0, 1, 1]),
                                         Tensor([2]), V[:1]),
    lambda: of("CSRSparseMatrixToDense")(Tensor([2, 2]), Tensor([0, 1]), Tensor([0, 1, 1]),
                                         Tensor([-1]), V[:1]),
    lambda: of("DenseToCSRSparseMatrix")(M, Tensor([[0, 0, 0]])),
    lambda: of("DenseToCSRSparseMatrix")(M, Tensor([0, 0])),
    lambda: of("SparseDenseCwiseAdd")(Tensor([[0, 1]]), Tensor([3]), Tensor([2, 3]), V[:3]),
    lambda: ops.trace(V),
    lambda: ops.gather(M, INTS * 0, 1, 2), lambda: ops.gather(M, Tensor([0]), 0, 1),
    lambda: ops.interpolate(IMAGES, (3, 3), None, "nearest", True),
    lambda: ops.ResizeBilinearV2(True, True)(IMAGES, (2, 2)),
    lambda: ops.hstack(3), lambda: ops.column_stack(3), lambda: ops.dropout2d(V),
    lambda: ops.dropout3d(M),
    lambda: ops.Histogram(0)(V),
    lambda: ops.clip_by_global_norm((), 1.0), lambda: ops.max_pool2d(V, 2),
    lambda: ops.max_pool2d(M, 2),
    lambda: Tensor([V, M]), lambda: V.mT, lambda: M.new_zeros((2, -1)), lambda: M.set_const_arg(1),
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_refused(call):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=WORDS):
        call()


def test_a_mode_of_iou_is_a_key():
    with pytest.raises(KeyError, match="must be 'iou' or 'iof'"):
        ops.IOU("giou")


def test_what_stands_at_a_boundary_is_taken():
    assert ops.dropout(M, 1.0 - 1e-9, False).shape == M.shape
    assert ops.cosine_embedding_loss(M, M, INTS * 0 + 1, 1.0).shape == ()
    assert ops.cosine_embedding_loss(M, M, INTS * 0 + 1, -1.0).shape == ()
    assert ops.smooth_l1_loss(M, M * 2, 0.0).shape == (3, 4)
    assert ops.combinations(V, 0).size == 0 and ops.one_hot(INTS, 4, V[0], V[0], 1).shape == (3, 4)
    assert ops.MirrorPad("REFLECT")(M, Tensor([[2, 2], [3, 3]])).shape == (7, 10)
    assert ops.MirrorPad("SYMMETRIC")(M, Tensor([[3, 3], [4, 4]])).shape == (9, 12)
    assert ops.LSTM(2, 2, 1, True, False, 1.0) and ops.LSTM(2, 2, 1, True, False, 0.0, 1)
    assert ops.flash_attention_score(X, X, X, 2, keep_prob=1.0, sparse_mode=4).shape == X.shape
    assert ops.gather_nd(M, Tensor([[0, 1]])).shape == (1,)
    assert ops.MaxUnpool3D(2)(VOLUMES[:, :, :1, :1, :1],
                              ONES((2, 3, 1, 1, 1)).long() * 7).shape == (2, 3, 2, 2, 2)
    assert np.isfinite(ops.multi_margin_loss(M, INTS, 2).asnumpy())
