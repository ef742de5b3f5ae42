"""Operators as objects under the names of MindSpore's generated modules."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, mint, ops
from lamella.mint import extended, operators
from lamella.ops.primitive import Primitive
from lamella.ops.primitives.attention import FlashAttentionScore

RNG = np.random.RandomState(0)


def drawn(*shape):
    return Tensor(RNG.randn(*shape).astype(np.float32))


X, M, ONE = drawn(2, 4, 6), drawn(3, 3), Tensor([1])
F = mint.nn.functional
CALLS = [
    ("argmax_with_value_impl", (X, 1, True), lambda: ops.ArgMaxWithValue(1, True)(X)),
    ("argmin_with_value_impl", (X, 0, False), lambda: ops.ArgMinWithValue(0)(X)),
    ("binary_cross_entropy_with_logits_impl", (X, X.abs(), None, None, "sum"),
     lambda: F.binary_cross_entropy_with_logits(X, X.abs(), reduction="sum")),
    ("concat_impl", ((X, X), 1), lambda: ops.cat((X, X), 1)),
    ("conv1d_ext_op", (X, drawn(3, 4, 2), None, 1, 0, 1, 1), None),
    ("cross_impl", (M, M + 1, 1), lambda: ops.cross(M, M + 1, 1)),
    ("elu_ext_impl", (X, 2.0), lambda: F.elu(X, 2.0)),
    ("embedding_op", (ONE, M, None, None, 2.0, False), lambda: M[ONE]),
    ("flash_attention_score_impl", (*[X] * 3, *[None] * 7, 2, 1.0, 0.5, 2**31 - 1, 2**31 - 1, 0,
                                    "BSH", 0),
     lambda: FlashAttentionScore(2, scale_value=0.5)(X, X, X)),
    ("glu_impl", (X, 1), lambda: ops.glu(X, 1)),
    ("index_add_ext_op", (M, 0, ONE, M[:1], 2), lambda: M.index_add(0, ONE, M[:1], alpha=2)),
    ("isclose_impl", (X, X, 1e-5, 1e-8, True), lambda: X == X),
    ("matmul_ext_op", (M, M), lambda: M @ M),
    ("meshgrid_impl", ((M[0], M[1]), "ij"), lambda: ops.meshgrid(M[0], M[1], indexing="ij")),
    ("nllloss_impl", (M, Tensor([0, 1, 2], ms.int32), M[0], "sum", -100),
     lambda: ops.NLLLoss("sum")(M, Tensor([0, 1, 2], ms.int32), M[0])),
    ("one_hot_ext_impl", (ONE, 3, Tensor(1), Tensor(0), -1), lambda: Tensor([[0, 1, 0]])),
    ("reduce_all_impl", (X > 0, (0,), True), lambda: (X > 0).all(0, True)),
    ("reduce_max_impl", (X, (1,), True), lambda: ops.amax(X, (1,), True)),
    ("reduce_min_impl", (X, None, False), lambda: X.min()),
    ("reverse_v2_impl", (X, (0, 1)), lambda: ops.flip(X, (0, 1))),
    ("rms_norm_impl", (X, X[0, 0], 1e-5), lambda: ops.rms_norm(X, X[0, 0], 1e-5)),
    ("roll_impl", (X, (1,), (2,)), lambda: ops.roll(X, 1, 2)),
    ("softmax_impl", (X, (1,)), lambda: ops.softmax(X, 1)),
    ("squeeze_impl", (X[:1], (0,)), lambda: X[0]),
    ("stack_ext_impl", ((M, M), 1), lambda: ops.stack((M, M), 1)),
    ("triu_impl", (M, 1), lambda: ops.triu(M, 1)),
    ("unique_consecutive_impl", (Tensor([1, 1, 2]), False, False, None), lambda: Tensor([1, 2])),
]


def flat(value):
    return [one for part in value for one in flat(part)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("name, args, wanted", CALLS, ids=[c[0] for c in CALLS])
def test_values(name, args, wanted):
    op = getattr(operators, name)
    assert isinstance(op, Primitive) and op is getattr(operators, name)
    found = flat(op(*args))
    if wanted is None:
        return np.testing.assert_array_equal(found[0].asnumpy(), F.conv1d(*args).asnumpy())
    for one, other in zip(found, flat(wanted()), strict=True):
        assert one.dtype is other.dtype
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6)


def test_what_they_draw_is_the_seeds():
    half, seeds = mint.full((200,), 0.5), (Tensor(3), Tensor(4))
    for name, args in (("bernoulli_ext_op", (half,)), ("dropout_ext_op", (half, 0.5)),
                       ("multinomial_ext_op", (half, 20, False)), ("randint_op", (0, 9, (50,))),
                       ("inplace_normal_op", (half.copy(), 1.0, 2.0)),
                       ("inplace_uniform_op", (half.copy(), 1.0, 2.0))):
        op = getattr(operators, name)
        one, same, other = (flat(op(*args, *s))[0].asnumpy().copy() for s in (
            seeds, seeds, (Tensor(5), Tensor(6))))
        assert (one == same).all() and (one != other).any()
    left, kept = operators.dropout_ext_op(half, 0.5, *seeds)
    assert (left == kept).all() and 60 < kept.sum() < 140


PLANE = Tensor([[[[0.0, 1.0], [2.0, 3.0]]]])
CLASSES = [
    ("AvgPool2D", (PLANE, 2, 1), lambda: Tensor([[[[1.5]]]])),
    ("Embedding", (ONE, M), lambda: M[ONE]),
    ("ExpandDimsView", (M, 1), lambda: M.unsqueeze(1)),
    ("InnerIndex", (M, [ONE, ONE]), lambda: M[1, 1].reshape(1)),
    ("InnerInplaceIndexPut", (ops.zeros(3), [ONE], ops.ones(1)), lambda: Tensor([0.0, 1.0, 0.0])),
    ("InnerNonZero", (Tensor([[0, 4], [5, 0]]),), lambda: Tensor([[0, 1], [1, 0]])),
    ("LinSpaceExt", (0, 1, 3), lambda: Tensor([0.0, 0.5, 1.0])),
    ("LogSigmoid", (M,), lambda: (ops.logsigmoid(M), ops.exp(-ops.abs(M)))),
    ("NewOnes", (M, (2,)), lambda: ops.ones(2)),
    ("NewZeros", (M, (2,), ms.int32), lambda: ops.zeros(2, ms.int32)),
    ("ScatterAddExt", (ops.zeros(3), 0, Tensor([1, 1]), ops.ones(2)),
     lambda: Tensor([0.0, 2.0, 0.0])),
    ("SliceExtView", (X, -1, 1, 6, 2), lambda: X[..., 1:6:2]),
    ("Unique2", (Tensor([3, 1, 3]),), lambda: (Tensor([1, 3]), Tensor([1, 0, 1]), Tensor([1, 2]))),
    ("UniqueDim", (Tensor([[3], [1], [3]]), True, True, 0),
     lambda: (Tensor([[1], [3]]), Tensor([1, 0, 1]), Tensor([1, 2]))),
    ("UpsampleBilinear2D", (PLANE, (3, 3), None, True),
     lambda: Tensor([[[[0.0, 0.5, 1.0], [1.0, 1.5, 2.0], [2.0, 2.5, 3.0]]]])),
    ("XLogYScalarOther", (M, 3.0), lambda: M * np.log(np.float32(3))),
    ("XLogYScalarSelf", (2.0, X.abs()), lambda: 2.0 * X.abs().log()),
]


@pytest.mark.parametrize("name, args, wanted", CLASSES, ids=[c[0] for c in CLASSES])
def test_classes(name, args, wanted):
    kind = getattr(operators, name)
    assert issubclass(kind, Primitive) and kind is getattr(operators, name)
    for one, other in zip(flat(kind()(*args)), flat(wanted()), strict=True):
        assert one.dtype is other.dtype
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6)


def test_functions_by_their_names_among_ops():
    view = extended.transpose_ext_view(X, 0, 1)
    assert view.shape == (4, 2, 6) and extended.kthvalue(M, 1)[0].shape == (3,)
    assert extended.add_ext(Tensor([1]), Tensor([2]), 3).tolist() == [7]
    assert extended.sub_ext(Tensor([4.0]), Tensor([1]), 0.5).tolist() == [3.5]
    assert extended.mean_ext(M, 1, True).shape == extended.mean_ext(M, 1, keep_dims=True).shape
    assert extended.mean_ext(M, axis=0).tolist() == extended.mean_ext(M, dim=0).tolist()
    assert extended.index(M, [ONE, ONE]).tolist() == [M[1, 1].tolist()]
    assert extended.inplace_hardtanh(Tensor([2.0, -0.5])).tolist() == [1.0, -0.5]
    np.testing.assert_allclose(extended.inplace_elu(X.copy(), 2.0).asnumpy(),
                               F.elu(X, 2.0).asnumpy())
    assert extended.new_ones(M, (2,)).tolist() == [1, 1]
    assert extended.new_zeros(M, 2, dtype=ms.int32).dtype is ms.int32
    drawn = extended.uniform_ext(X, 3.0, 4.0)
    assert drawn.shape == X.shape and drawn.min() >= 3 and drawn.max() < 4
    assert extended.linalg_norm(M) == mint.linalg.norm(M)
    for name in dir(extended):
        assert callable(getattr(extended, name))


def test_every_name_has_an_object():
    for name in operators.__all__:
        assert name[0].isupper() or repr(getattr(operators, name)).startswith("Prim[")
    with pytest.raises(AttributeError, match="no attribute 'nothing_op'"):
        _ = operators.nothing_op


def test_the_first_type_of_what_is_joined_counts():
    found = mint.cat((Tensor([0.5]), Tensor([1]), Tensor([2])))
    assert found.dtype is ms.float32 and found.tolist() == [0.5, 1.0, 2.0]
