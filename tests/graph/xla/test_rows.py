"""Rows of the table with arguments that PyTorch's first samples don't have."""

import pytest
import torch

from lamella.graph.xla.lowering import TABLE

from . import samples

_made = torch.Generator().manual_seed(7)


def rand(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=_made)


def share(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=_made) * 0.8 + 0.1


def whole(most: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, most, shape, generator=_made)


NONE, MEAN, SUM = 0, 1, 2
X, Y, G, V = rand(3, 5), rand(3, 5), rand(3, 5), rand(5)
P, Q, CUBE = share(3, 5), share(3, 5), rand(2, 3, 4)
PICTURE, CLASSES, GRID = rand(2, 3, 4, 5), whole(5, 3), whole(3, 2, 4, 5)
INTEGERS, OTHERS = whole(9, 3, 5) - 4, whole(5, 3, 5) - 2
SQUARE = rand(2, 4, 4)
POSITIVE = SQUARE @ SQUARE.mT + torch.eye(4)
FACTOR = torch.linalg.cholesky(POSITIVE)
MASK = torch.tensor([True, False, True])

CALLS = {
    "losses": [
        *[("binary_cross_entropy_with_logits", X * 3, P, weight, positive, by)
          for weight, positive, by in ((None, None, NONE), (Q, None, MEAN), (None, share(5), SUM),
                                       (Q, share(5) * 3, NONE))],
        *[("binary_cross_entropy", P, Q, weight, by)
          for weight, by in ((None, NONE), (share(3, 5), MEAN), (share(5), SUM))],
        *[("binary_cross_entropy_backward", G if by == NONE else rand(), P, Q, weight, by)
          for weight, by in ((None, NONE), (share(3, 5), MEAN), (share(3, 5), SUM))],
        *[(f"{name}_loss", X * 2, Y, by, *rest) for by in (NONE, MEAN, SUM)
          for name, *rest in (("mse",), ("smooth_l1", 0.7), ("huber", 1.3))],
        *[(f"{name}_loss_backward", G if by == NONE else rand(), X * 2, Y, by, *rest)
          for by in (NONE, MEAN, SUM)
          for name, *rest in (("mse",), ("smooth_l1", 0.7), ("huber", 1.3))],
        ("smooth_l1_loss", X, Y, NONE, 0.0), ("smooth_l1_loss_backward", G, X, Y, NONE, 0.0),
        *[("nll_loss_forward", X, CLASSES, weight, by, ignored)
          for weight, by, ignored in ((None, NONE, -100), (share(5), MEAN, int(CLASSES[1])),
                                      (share(5), SUM, -100), (share(5), NONE, int(CLASSES[0])))],
        *[("nll_loss2d_forward", PICTURE, GRID, weight, by, ignored)
          for weight, by, ignored in ((None, MEAN, 1), (share(3), NONE, 2), (share(3), SUM, -1))],
        *[("nll_loss_backward", rand(3) if by == NONE else rand(), X, CLASSES, weight, by, ignored,
           torch.tensor(2.5))
          for weight, by, ignored in ((None, NONE, -100), (share(5), MEAN, int(CLASSES[1])),
                                      (share(5), SUM, -100))],
        ("nll_loss2d_backward", rand(2, 4, 5), PICTURE, GRID, share(3), NONE, 2, torch.tensor(1.0)),
    ],
    "normalization": [
        ("native_layer_norm", PICTURE, [4, 5], rand(4, 5), None, 0.1),
        ("native_layer_norm", PICTURE, [5], None, rand(5), 1e-5),
        ("native_layer_norm_backward", rand(2, 3, 4), CUBE, [3, 4], rand(2, 1, 1), share(2, 1, 1),
         rand(3, 4), rand(3, 4), [True, True, True]),
        ("native_layer_norm_backward", rand(2, 3, 4), CUBE, [4], rand(2, 3, 1), share(2, 3, 1),
         None, None, [True, False, False]),
    ],
    "reductions": [
        *[(name, CUBE, *rest) for name in ("sum.dim_IntList", "mean.dim") for rest in (
            ([0, 2], False), ([-1], True), ([1], False))],
        *[(f"{name}.dim", CUBE, dim, keep) for name in ("max", "min") for dim, keep in (
            (1, False), (-1, True), (0, True))],
        *[(name, CUBE, dim, keep) for name in ("argmax", "argmin") for dim, keep in (
            (None, False), (1, False), (-1, True))],
        *[(name, CUBE, *rest) for name in ("amax", "amin") for rest in (([0, 2],), ([1], True))],
        ("prod.dim_int", CUBE, 1), ("prod.dim_int", CUBE, -1, True), ("prod", X),
        *[(f"{name}.dim", INTEGERS > 0, dim, keep) for name in ("any", "all")
          for dim, keep in ((0, False), (1, True))],
        *[(f"{name}.correction", CUBE, dim, {"correction": correction, "keepdim": keep})
          for name in ("var", "std", "var_mean", "std_mean")
          for dim, correction, keep in (([0, 2], 1, False), ([1], 0, True), (None, 2, False))],
        ("logsumexp", CUBE, [0, 2]), ("logsumexp", CUBE * 50, [1], True),
        *[("linalg_vector_norm", CUBE, order, dim, keep)
          for order, dim, keep in ((1, [0], False), (2, [1, 2], True), (float("inf"), None, False),
                                   (float("-inf"), [1], True), (0, [2], False), (3, [0], False))],
        ("norm.ScalarOpt_dim", X, None, [0]), ("norm.ScalarOpt_dim", X, 3, [1], True),
        ("norm.Scalar", X, 1), ("cumsum", CUBE, 1), ("cumsum", INTEGERS, -1), ("cumprod", CUBE, 0),
        ("count_nonzero", INTEGERS), ("count_nonzero.dim_IntList", INTEGERS, [0]),
        ("sort", X, 0, True), ("sort.stable", INTEGERS, {"stable": True, "dim": 0}),
        ("argsort", X, 1, True),
        ("topk", X, 2, 1, False), ("topk", CUBE, 3, 2), ("topk", X, 2, 0),
        ("searchsorted.Tensor", V.sort()[0], X), ("bucketize.Tensor", X, V.sort()[0]),
        ("searchsorted.Tensor", V.sort()[0], V, {"right": True}),
    ],
    "shapes": [
        ("select.int", CUBE, 1, 2), ("select.int", CUBE, -1, -3), ("narrow", CUBE, 2, 1, 2),
        ("narrow", CUBE, 1, -2, 2), ("slice.Tensor", CUBE, 2, 1, -1, 2),
        ("slice.Tensor", CUBE, 1, -2, 9), ("slice.Tensor", CUBE, 1, None, -1),
        ("split_with_sizes", CUBE, [1, 3], 2), ("split.Tensor", CUBE, 2, 1), ("chunk", CUBE, 3, 2),
        ("unbind.int", CUBE, 1), ("diagonal", CUBE, 1, 0, 2), ("diagonal", CUBE, -1, 1, 2),
        ("unfold", CUBE, 2, 2, 1), ("unfold", CUBE, 1, 2, 2), ("unfold", rand(), 0, 1, 1),
        ("unfold_backward", rand(2, 3, 3, 2), [2, 3, 4], 2, 2, 1),
        ("unfold_backward", rand(2, 1, 4, 2), [2, 3, 4], 1, 2, 2),
        ("select_backward", rand(2, 4), [2, 3, 4], 1, -2),
        ("slice_backward", rand(2, 3, 2), [2, 3, 4], 2, 1, 4, 2),
        ("slice_backward", rand(2, 1, 4), [2, 3, 4], 1, -2, -1, 1),
        ("slice_backward", rand(2, 0, 4), [2, 3, 4], 1, 2, 2, 1),
        ("diagonal_backward", rand(3, 2), [2, 3, 4], 1, 0, 2),
        ("select_scatter", CUBE, rand(2, 4), 1, -1), ("select_scatter", CUBE, rand(2, 3), 2, 1),
        ("slice_scatter", CUBE, rand(2, 3, 2), 2, 1, 4, 2),
        ("slice_scatter", CUBE, rand(2, 2, 4), 1, -2, None, 1),
        ("diagonal_scatter", CUBE, rand(4, 2), 1, 0, 1), ("roll", CUBE, [1, -2], [0, 2]),
        ("roll", CUBE, [5]), ("flip", CUBE, [0, 2]), ("tril", CUBE, -1), ("triu", CUBE, 1),
        ("cat", [CUBE, rand(2, 1, 4)], 1), ("stack", [X, Y], -1), ("repeat", X, [2, 1, 3]),
        ("constant_pad_nd", CUBE, [1, -2, 0, 3], 0.5),
    ],
    "indexing": [
        ("index_put", X, [MASK], torch.tensor(2.5)), ("index_put", X, [MASK], torch.tensor(2.5),
                                                      True),
        ("index_put", X, [whole(3, 4), whole(5, 4)], rand(4), True),
        ("index_put", CUBE, [None, whole(3, 2)], rand(2, 2, 4), True),
        ("index.Tensor", CUBE, [whole(2, 3), None, whole(4, 3)]),
        ("index.Tensor", CUBE, [None, whole(3, 2, 2)]),
        ("index_select", CUBE, 2, whole(4, 6)), ("index_select", rand(), 0, torch.tensor([0])),
        ("embedding_dense_backward", rand(2, 3, 4), whole(6, 2, 3), 6, -1, False),
        ("embedding_dense_backward", rand(2, 3, 4), whole(3, 2, 3), 6, 1, False),
        ("embedding_dense_backward", rand(2, 3, 4), whole(2, 2, 3), 6, 0, False),
        ("take", CUBE, whole(48, 2, 3) - 24), ("gather", CUBE, 1, whole(3, 2, 5, 4)),
        ("gather", CUBE, -1, whole(4, 1, 2, 3)), ("gather", rand(), 0, torch.tensor(0)),
        ("gather", V, 0, torch.tensor(3)),
        ("scatter.src", X, 1, whole(5, 3, 1), rand(3, 4)), ("scatter.value", X, 0,
                                                            whole(3, 1, 5), 1.5),
        ("scatter_add", X, 0, whole(3, 2, 5), rand(3, 5)),
        *[("scatter_reduce.two", X, dim, whole(3, 3, 4), rand(3, 5), name, {"include_self": own})
          for name in ("sum", "prod", "amax", "amin") for dim, own in ((0, True), (1, True))],
        ("index_add", CUBE, 1, whole(3, 4), rand(2, 4, 4)),
        ("index_add", X, 0, whole(3, 2), rand(2, 5), {"alpha": -2.5}),
        ("index_copy", CUBE, 2, torch.tensor([3, 0]), rand(2, 3, 2)),
        ("index_fill.int_Scalar", CUBE, 1, torch.tensor([-1]), 2.5),
        ("index_fill.int_Tensor", CUBE, 2, torch.tensor([0, 3]), torch.tensor(-1.5)),
    ],
    "matrices": [
        ("linalg_lu_factor_ex", SQUARE), ("linalg_inv_ex", SQUARE),
        ("cholesky_inverse", FACTOR), ("cholesky_inverse", FACTOR.mT.contiguous(), True),
        ("cholesky_solve", rand(2, 4, 3), FACTOR), ("cholesky_solve", rand(2, 4, 3),
                                                    FACTOR.mT.contiguous(), True),
        *[("linalg_solve_triangular", a, rand(2, 4, 3) if left else rand(2, 3, 4),
           {"upper": upper, "left": left, "unitriangular": unit})
          for upper, a in ((False, FACTOR), (True, FACTOR.mT.contiguous()))
          for left, unit in ((True, False), (False, True), (False, False))],
        ("_linalg_solve_ex", SQUARE, rand(2, 4, 3)), ("_linalg_solve_ex", SQUARE, rand(2, 3, 4),
                                                      {"left": False}),
        ("linalg_lu_solve", *torch.linalg.lu_factor(SQUARE), rand(2, 4, 3)),
        ("linalg_lu_solve", *torch.linalg.lu_factor(SQUARE), rand(2, 3, 4), {"left": False}),
        ("linalg_lu_solve", *torch.linalg.lu_factor(SQUARE), rand(2, 4, 3), {"adjoint": True}),
        ("lu_unpack", *torch.linalg.lu_factor(SQUARE[0])), ("_linalg_det", SQUARE),
        ("_linalg_slogdet", SQUARE), ("linalg_cholesky_ex", POSITIVE, {"upper": True}),
        ("_linalg_eigh", POSITIVE, "L", False), ("_linalg_svd", rand(2, 4, 3), False, False),
        ("linalg_qr", rand(2, 3, 4)), ("diag_embed", X, 1, 0, 2), ("diag_embed", X, -2),
        ("linalg_cross", rand(3, 4), rand(3, 4), {"dim": 0}),
        ("linalg_cross", rand(2, 3), rand(2, 3)),
        ("trace", X), ("addr", X, rand(3), V, {"beta": 0.5, "alpha": -2}),
        ("outer", rand(4), V), ("_euclidean_dist", rand(2, 3, 4), rand(2, 5, 4)),
    ],
    "transforms": [
        *[("_fft_r2c", CUBE, dims, kind, half) for half in (True, False)
          for dims, kind in (([0, 2], 0), ([1, 0, 2], 0), ([2], 0), ([0, 1], 0))],
        *[("_fft_c2c", torch.complex(CUBE, CUBE.flip(0)), dims, 0, forward)
          for dims in ([1], [0, 2]) for forward in (True, False)],
        *[("_fft_c2r", torch.fft.rfftn(CUBE, dim=dims), dims, 0, CUBE.shape[dims[-1]])
          for dims in ([2], [0, 2], [2, 1])],
    ],
    "pointwise": [
        *[("pow.Tensor_Scalar", P, y) for y in (0.5, -0.5, 1.0, 2.0, 3.0, -1.0, -2.0, 2.7, 4)],
        ("pow.Tensor_Tensor", INTEGERS, OTHERS.abs()), ("pow.Tensor_Tensor", P, Y),
        ("pow.Scalar", 2.5, X), ("pow.Tensor_Scalar", INTEGERS, 3),
        *[(name, a, b) for name in ("remainder.Tensor", "fmod.Tensor", "floor_divide")
          for a, b in (
            (INTEGERS, OTHERS.where(OTHERS != 0, 3)), (X * 3, Y))],
        *[("div.Tensor_mode", INTEGERS, OTHERS.where(OTHERS != 0, 3), {"rounding_mode": mode})
          for mode in ("floor", "trunc", None)],
        ("div.Tensor_mode", X * 5, Y, {"rounding_mode": "trunc"}),
        ("bitwise_left_shift.Tensor", INTEGERS, OTHERS.abs()),
        ("bitwise_right_shift.Tensor_Scalar", INTEGERS, 1),
        ("clamp", X, -0.5, 0.25), ("clamp", X, None, 0.1), ("clamp", X, 0.2, None),
        ("clamp.Tensor", X, Y, None), ("nan_to_num", X / Y.round(), 0.5, 9.0, -7.0),
        ("nan_to_num", X / Y.round()), ("add.Tensor", X, Y, {"alpha": -2.5}),
        ("sub.Tensor", X, V, {"alpha": 3}), ("rsub.Scalar", X, 2, 3),
        ("rsub.Tensor", X, Y, {"alpha": 0.5}),
        ("lerp.Scalar", X, Y, 0.3), ("lerp.Tensor", X, Y, P), ("where.self", X > 0, X, Y),
        ("addcmul", X, Y, P, {"value": -1.5}), ("addcdiv", X, Y, P, {"value": 2.5}),
        ("masked_fill.Scalar", X, Y > 0, 3.5), ("logical_xor", X > 0, Y > 0), ("hypot", X, Y),
        ("atan2", X, Y), ("copysign.Tensor", X, Y), ("xlogy.Tensor", P, Q), ("square", X),
    ],
    "activations": [
        ("threshold", X, 0.2, -1.5), ("threshold_backward", G, X, 0.3), ("hardtanh", X, -0.4, 0.6),
        ("hardtanh_backward", G, X, -0.4, 0.6), ("leaky_relu", X, 0.3), ("elu", X, 1.5, 2.0, 0.7),
        ("leaky_relu_backward", G, X, 0.3, False),
        ("elu_backward", G, 1.5, 2.0, 0.7, False, X), ("elu_backward", G, 1.5, 2.0, 0.7, True, X),
        *[(name, *given, {"approximate": by}) for by in ("none", "tanh")
          for name, *given in (("gelu", X), ("gelu_backward", G, X))],
        ("softplus", X * 9, 1.7, 5.0), ("softplus_backward", G, X * 9, 1.7, 5.0),
        ("log_sigmoid_backward", G, X, (-X.abs()).exp()), ("_prelu_kernel", X, share(5)),
        ("_prelu_kernel_backward", G, X, share(3, 5)), ("_softmax", CUBE, 1, False),
        ("_log_softmax", CUBE, 0, False), ("hardsigmoid", X * 4), ("hardswish", X * 4),
        ("_softmax_backward_data", rand(2, 3, 4), CUBE.softmax(1), 1, torch.float32),
        ("_log_softmax_backward_data", rand(2, 3, 4), CUBE.log_softmax(0), 0, torch.float32),
        ("hardsigmoid_backward", G, X * 4), ("hardswish_backward", G, X * 4), ("mish", X * 3),
        ("sigmoid_backward", G, P), ("tanh_backward", G, P), ("silu_backward", G, X),
    ],
}


@pytest.mark.parametrize("family", CALLS)
def test_rows_with_other_arguments(family: str) -> None:
    calls = []
    for name, *args in CALLS[family]:
        options = args.pop() if isinstance(args[-1], dict) else {}
        packet, _, overload = name.partition(".")
        func = getattr(getattr(torch.ops.aten, packet), overload or "default")
        assert str(func).removeprefix("aten.") in TABLE, name
        calls.append((func, tuple(args), options, func(*args, **options)))
    assert not (found := samples.check(calls)), "\n".join(found)
