"""Rows of the table with other options than the usual ones, beside PyTorch's kernels.

The sizes, strides and factors of a call differ from each other, so that none can stand for another.
"""

import pytest
import torch

from lamella.graph.xla.lowering import TABLE

from . import samples

aten = torch.ops.aten


def t(*shape, seed=0, dtype=torch.float32):
    made = torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)),
                       dtype=torch.float64)
    return (made * 2).to(dtype)


def whole(most, *shape, seed=0):
    return torch.randint(most, shape, generator=torch.Generator().manual_seed(seed))


def definite(n, *batch):
    x = t(*batch, n, n)
    return x @ x.mT + torch.eye(n)


def _losses():
    x, y, g = t(3, 4), t(3, 4, seed=1), t(3, 4, seed=2)
    p, q = x.sigmoid(), y.sigmoid()
    for reduction in (0, 1, 2):
        back = g if reduction == 0 else g[0, 0].clone()
        yield aten.mse_loss.default, x, y, reduction
        yield aten.mse_loss_backward.default, back, x, y, reduction
        for beta in (0.0, 0.7):
            yield aten.smooth_l1_loss.default, x, y, reduction, beta
            if beta:
                yield aten.smooth_l1_loss_backward.default, back, x, y, reduction, beta
        yield aten.huber_loss.default, x, y, reduction, 1.3
        yield aten.huber_loss_backward.default, back, x, y, reduction, 1.3
        for weight in (None, t(3, 4, seed=3).abs())[reduction == 2:]:
            yield aten.binary_cross_entropy.default, p, q, weight, reduction
            yield aten.binary_cross_entropy_backward.default, back, p, q, weight, reduction
            for positive in (None, torch.tensor([0.5, 2, 3, 1])):
                if reduction != 2:
                    yield (aten.binary_cross_entropy_with_logits.default, x, q, weight, positive,
                           reduction)
        for weight in (None, torch.tensor([0.5, 2, 3, 0.25, 1]))[reduction == 2:]:
            for scores, target in ((t(5), torch.tensor(3)), (t(6, 5), whole(5, 6)),
                                   (t(2, 5, 3, 4), whole(5, 2, 3, 4))):
                name = "nll_loss2d" if scores.ndim == 4 else "nll_loss"
                forward = getattr(aten, f"{name}_forward").default
                made, total = forward(scores, target, weight, reduction, 2)
                yield forward, scores, target, weight, reduction, 2
                yield (getattr(aten, f"{name}_backward").default, t(*made.shape, seed=5), scores,
                       target, weight, reduction, 2, total)
    ends = torch.tensor([0.0, 1.0, 1e-30, 1 - 1e-7])  # where logarithms have a bound
    for one in (ends, ends.flip(0)):
        yield aten.binary_cross_entropy.default, one, torch.tensor([1.0, 0, 1, 0.5]), None, 0
        yield aten.binary_cross_entropy_backward.default, one, one, ends, None, 0
    at = torch.tensor([-1.5, -0.5, 0, 0.5, 1.5])  # the limits themselves
    for beta in (0.5, 1.5):
        yield aten.smooth_l1_loss.default, at, at * 0, 0, beta
        yield aten.smooth_l1_loss_backward.default, at + 3, at, at * 0, 0, beta
        yield aten.huber_loss.default, at, at * 0, 0, beta


def _shapes():
    x = t(3, 4, 5)
    for dim, index in ((0, 2), (-2, -1), (1, 3), (2, -5)):
        yield aten.select.int, x, dim, index
        sizes = [n for i, n in enumerate(x.shape) if i != dim % 3]
        yield aten.select_scatter.default, x, t(*sizes), dim, index
        yield aten.select_backward.default, t(*sizes), [3, 4, 5], dim, index
    for dim, start, end, step in ((1, 1, 3, 1), (-1, -4, -1, 2), (2, 0, 9, 3), (0, -9, 2, 1),
                                  (2, None, None, 2), (1, 3, 1, 1)):
        yield aten.slice.Tensor, x, dim, start, end, step
        part = aten.slice.Tensor(x, dim, start, end, step).shape
        yield aten.slice_scatter.default, x, t(*part), dim, start, end, step
        if start is not None:
            yield aten.slice_backward.default, t(*part), [3, 4, 5], dim, start, end, step
    yield aten.narrow.default, x, 2, -4, 3
    yield aten.narrow.default, x, -2, 1, 2
    yield aten.unbind.int, x, -1
    yield aten.split.Tensor, x, 2, -1
    yield aten.split_with_sizes.default, x, [1, 3], 1
    for offset, a, b in ((0, 0, 1), (1, 2, 0), (-2, 1, 2)):
        yield aten.diagonal.default, x, offset, a, b
        part = x.diagonal(offset, a, b).shape
        yield aten.diagonal_scatter.default, x, t(*part), offset, a, b
        yield aten.diagonal_backward.default, t(*part), [3, 4, 5], offset, a, b
    for dim, size, step in ((0, 2, 1), (-1, 3, 2)):
        yield aten.unfold.default, x, dim, size, step
        part = x.unfold(dim, size, step).shape
        yield aten.unfold_backward.default, t(*part), [3, 4, 5], dim, size, step
    yield aten.unfold.default, torch.tensor(3.0), 0, 1, 1
    yield aten.unfold_backward.default, torch.tensor([3.0]), [], 0, 1, 1
    yield aten.cat.default, [x, t(3, 2, 5), torch.zeros(0)], 1
    yield aten.cat.default, [x, x.double()], -1
    yield aten.cat.default, [torch.zeros(0), torch.zeros(0)], 0
    yield aten.stack.default, [x, t(3, 4, 5, seed=1)], -2
    for dims in ([], [0], [-1, 1]):
        yield aten.flip.default, x, dims
    for shifts, dims in (([7], []), ([1, -2], [0, 2])):
        yield aten.roll.default, x, shifts, dims
    yield aten.repeat.default, x[0], [2, 1, 3]
    for diagonal in (-1, 0, 2):
        yield aten.tril.default, x, diagonal
        yield aten.triu.default, x, diagonal
    for pad, value in (([1, 2], 0.5), ([0, 1, 3, 2], -1), ([-1, 2, 0, -2, 1, 0], 2)):
        yield aten.constant_pad_nd.default, x, pad, value
    yield aten.transpose.int, x, 0, -1
    yield aten.t.default, x[0]
    yield aten.t.default, x[0, 0]
    yield aten.permute.default, x, [2, 0, 1]
    yield aten.movedim.intlist, x, [0, 1], [2, 0]


def _pointwise():
    x, y = t(3, 4), t(4, seed=1)
    i, j = whole(9, 3, 4) - 4, whole(5, 4, seed=2) + 1
    a, b = i % 2 == 0, j % 2 == 0
    for name in ("add", "sub", "rsub"):
        function = getattr(aten, name)
        for alpha in (1, 3):
            yield function.Tensor, x, y, alpha
            yield function.Tensor, i, j, alpha
            yield function.Scalar, x, 2.5, alpha
        yield function.Tensor, x, y, -0.5
    yield aten.add.Tensor, a, b, 1
    yield aten.add.Tensor, a, b, 0
    yield aten.mul.Tensor, a, b
    yield aten.mul.Tensor, i, j
    halves = torch.tensor([[5.5, -5.5, 5.0, -7.0], [0, -0.0, 3, 1.2], [7, -7, 0.3, 2]])
    by = torch.tensor([2.0, -2.0, 1.5, 0.1])
    for mode in (None, "floor", "trunc"):
        for one, other in ((halves, by), (halves, -by), (i, j), (i, -j), (halves, by * 0)):
            if mode or one.dtype.is_floating_point:
                yield aten.div.Tensor_mode, one, other, mode
    for one, other in ((halves, by), (i, j), (i, -j), (halves, -by)):
        yield aten.floor_divide.default, one, other
        yield aten.remainder.Tensor, one, other
        yield aten.fmod.Tensor, one, other
    yield aten.remainder.Tensor, torch.tensor([0.5, -0.5, 1.5]), torch.tensor([2.0, 2.0, -2.0])
    for power in (0.5, -0.5, 1, 2, 3, -1, -2, 4, 0, 2.5, 0.25):
        yield aten.pow.Tensor_Scalar, x.abs() + 0.5, power
    yield aten.pow.Tensor_Tensor, x.abs(), y
    yield aten.pow.Tensor_Tensor, i, j
    yield aten.pow.Tensor_Tensor, torch.tensor([1, -1, -1, 2, -3, 5]), torch.tensor(
        [-3, -3, -2, -1, 0, 3])
    yield aten.pow.Scalar, 2.5, x
    for name in ("reciprocal", "rsqrt", "digamma", "round", "frac", "sinc", "exp2", "erfc",
                 "deg2rad", "rad2deg"):
        yield getattr(aten, name).default, x.abs() + 0.25
    yield aten.digamma.default, torch.tensor([0.0, -0.0, 1.5])
    yield aten.frac.default, x
    yield aten.round.default, torch.tensor([0.5, 1.5, -2.5, 2.4])
    yield aten.xlogy.Tensor, torch.tensor([0.0, 0, 2, 3]), torch.tensor([0, torch.nan, 0.5, 4])
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        yield getattr(aten, name).Tensor, i, j
        yield getattr(aten, name).Tensor_Scalar, i, 2
    yield aten.where.self, a, x, y
    yield aten.masked_fill.Scalar, x, a, 2.5
    for least, most in ((None, 1.0), (-0.5, None), (-1, 2)):
        yield aten.clamp.default, x, least, most
    yield aten.clamp.Tensor, x, -y.abs(), y.abs()
    yield aten.clamp_min.default, x, 0.5
    yield aten.clamp_max.default, x, 0.5
    for weight in (-1.0, 0.25, 0.5, 0.75, 2):
        yield aten.lerp.Scalar, x, t(3, 4, seed=1), weight
    yield aten.lerp.Tensor, x, t(3, 4, seed=1), t(3, 4, seed=2)
    yield aten.addcmul.default, x, t(3, 4, seed=1), t(3, 4, seed=2)
    odd = torch.tensor([torch.nan, torch.inf, -torch.inf, 2])
    for nan, above, below in ((None, None, None), (1.5, 2.5, -3.5), (None, 7.0, None)):
        yield aten.nan_to_num.default, odd, nan, above, below
    yield aten.nan_to_num.default, i, 1.5, None, None
    # PyTorch's gives 0 for NaN
    yield aten.heaviside.default, torch.tensor([-1, 0, 2, torch.nan]), by
    yield aten._to_copy.default, x
    yield aten.logical_xor.default, a, b
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        yield getattr(aten, name).Tensor, i, j
        yield getattr(aten, name).Scalar, i, 1


def _matrices():
    square, wide, vector = t(2, 3, 3) + 3 * torch.eye(3), t(2, 3, 4), t(2, 3)
    turned = torch.tensor([[0.0, 2, 1], [3, 0.5, 2], [1, 4, -1]])  # its rows are exchanged
    one = torch.stack([turned, square[0]])
    yield aten.linalg_inv_ex.default, one, False
    yield aten.linalg_inv_ex.default, turned, False
    yield aten.linalg_lu_factor_ex.default, one
    for a, b, left in ((one, wide, True), (one, t(2, 4, 3), False), (one, vector, True),
                       (turned, t(3), True), (turned, t(3, 2), True)):
        yield aten._linalg_solve_ex.default, a, b, left
    for a in (one, turned):
        yield (aten._linalg_det.default if a is turned else aten._linalg_slogdet.default), a
        lu, pivots = torch.linalg.lu_factor(a)
        yield aten.lu_unpack.default, lu, pivots, True, True
        for left in (True, False):
            for adjoint in (True, False) if a is one else (left,):
                b = t(*a.shape[:-2], *((3, 4) if left else (4, 3)))
                yield aten.linalg_lu_solve.default, lu, pivots, b, left, adjoint
    good = definite(3, 2)
    for upper in (True, False):
        yield aten.linalg_cholesky_ex.default, good, upper, False
        factor = torch.linalg.cholesky(good, upper=upper)
        yield aten.cholesky_solve.default, wide, factor, upper
        yield aten.cholesky_inverse.default, factor, upper
        for unit in (True, False):
            yield aten.linalg_solve_triangular.default, square, wide, upper, True, unit
            yield aten.linalg_solve_triangular.default, square, t(2, 4, 3), upper, False, unit
    yield aten.linalg_solve_triangular.default, torch.zeros(0, 0), torch.zeros(0, 2), True
    yield aten._linalg_svd.default, wide, True, False
    yield aten.trace.default, t(3, 4)
    for offset, a, b in ((0, 0, 1), (1, -1, 0), (-2, 1, 2)):
        yield aten.diag_embed.default, t(3, 4), offset, a, b
    yield aten.linalg_cross.default, t(3, 4), t(3, 4, seed=1), 0
    yield aten.linalg_cross.default, t(2, 1, 3), t(1, 4, 3), -1


def _reductions():
    x, i = t(3, 4, 5), whole(4, 3, 4, 5)
    for name in ("amax", "amin", "logsumexp", "sum", "mean", "any", "all", "count_nonzero"):
        function = getattr(aten, name)
        function = {"sum": "dim_IntList", "mean": "dim", "any": "dims", "all": "dims",
                    "count_nonzero": "dim_IntList"}.get(name, "default"), function
        for dims in ([1], [0, -1]):
            args = (x if name != "count_nonzero" else i, dims)
            yield getattr(function[1], function[0]), *args
            if name != "count_nonzero" and len(dims) == 1:
                yield getattr(function[1], function[0]), *args, True
    for name in ("max", "min"):
        for dim, keep in ((0, False), (-2, True)):
            yield getattr(aten, name).dim, x, dim, keep
        yield getattr(aten, name).dim, torch.tensor(2.0), 0
        yield getattr(aten, name).default, x
        for dim in (None, 1, -1):
            yield getattr(aten, f"arg{name}").default, x, dim
        yield getattr(aten, f"arg{name}").default, x, 1, True
        yield getattr(aten, f"arg{name}").default, torch.tensor(2.0), 0
    yield aten.prod.default, x
    yield aten.prod.dim_int, x, 1, True
    yield aten.any.dim, i == 3, 2, True
    yield aten.all.dim, i != 3, 2
    for dims, correction, keep in ((None, None, False), ([1], 0, True), ([0, 2], 2.5, False),
                                   ([1], 4, False), ([1], 5, False)):
        for name in ("var", "std_mean") if keep else ("std", "var_mean"):
            yield (getattr(aten, name).correction, x, dims, correction, keep)
    endless = torch.tensor([[torch.inf, 1], [-torch.inf, -torch.inf], [-200, -201], [88, 90]])
    yield aten.logsumexp.default, endless, [1]
    for order in (0, 1, 2, 3, 0.5, -1, torch.inf, -torch.inf):
        yield aten.linalg_vector_norm.default, x, order, [0, 2], True
    for dim in (0, -2):
        yield aten.cumsum.default, x, dim
        yield aten.cumprod.default, x, dim
    yield aten.cumsum.default, torch.tensor(2.0), 0
    yield aten.cumprod.default, torch.tensor(2.0), 0
    for dim, down in ((0, True), (-2, False)):
        yield (aten.sort.stable, i, {"stable": True, "dim": dim, "descending": down})
        yield (aten.argsort.stable, i == 2, {"stable": True, "dim": dim, "descending": down})
        yield aten.topk.default, x, 2, dim, down
    yield aten.sort.default, torch.tensor(2.0)
    yield aten.argsort.default, torch.tensor(2.0)
    rows = t(3, 7).sort(-1).values
    for right in (True, False):
        found = torch.cat([rows[:, 1:3], t(3, 5)], 1)
        yield (aten.searchsorted.Tensor, rows, found, {"right": right})
        yield (aten.searchsorted.Tensor, rows[0], rows[0, 2].clone(), {"right": right})
        yield (aten.bucketize.Tensor, found, rows[0].clone(),
               {"right": right, "out_int32": True})
    yield (aten.searchsorted.Tensor, rows, rows[:, 2:4].contiguous(), {"side": "right"})


def _indexing():
    x, at = t(4, 5, 3), torch.tensor([2, -1, 0, 2])
    yield aten.index.Tensor, x, [at, torch.tensor([1, -5, 4, 0])]
    yield aten.index.Tensor, x, [None, torch.tensor([[1, -2]])]
    for accumulate in (True, False):
        own = torch.tensor([2, -1, 0]) if not accumulate else torch.tensor([2, -1, 2])
        yield aten.index_put.default, x, [own], t(3, 5, 3), accumulate
        yield aten.index_put.default, x, [None, own], t(4, 3, 3), accumulate
        for mask in (x > 0.5, x[:, :, 0] > 0.5, x[:, 0, 0] > 0):
            yield aten.index_put.default, x, [mask], torch.tensor(7.5), accumulate
    yield aten.index_select.default, x, -2, torch.tensor([4, 0, 0])
    yield aten.index_select.default, torch.tensor(2.0), 0, torch.tensor([0])
    yield aten.embedding.default, x[:, :, 0], torch.tensor([[3, 0], [1, 1]])
    for padding in (-1, 0, 3):
        yield (aten.embedding_dense_backward.default, t(2, 3, 6), torch.tensor(
            [[0, 3, 1], [3, 0, 1]]), 5, padding, False)
    yield aten.take.default, x, torch.tensor([[7, -1], [-60, 59]])
    for dim in (0, 1, -1):
        index = whole(x.shape[dim], 2, 3, 2)
        once = torch.arange(2)[:, None, None].expand(2, 3, 2) if dim == 0 else None
        yield aten.gather.default, x, dim, index
        yield aten.scatter_add.default, x, dim, index, t(2, 4, 3)
        for reduce in ("sum", "prod", "amax", "amin")[dim:dim + 2 if dim >= 0 else None]:
            yield aten.scatter_reduce.two, x, dim, index, t(3, 3, 2), reduce
        yield aten.scatter.value, x, dim, index, 2.5
        for reduce in ("add", "multiply"):
            yield (aten.scatter.reduce, x, dim, index, t(2, 4, 3), {"reduce": reduce})
            yield (aten.scatter.value_reduce, x, dim, index, 1.5, {"reduce": reduce})
        if once is not None:
            yield aten.scatter.src, x, dim, once, t(2, 4, 3)
    yield aten.gather.default, torch.tensor(2.0), 0, torch.tensor([0, 0])
    yield aten.gather.default, t(4), 0, torch.tensor(2)
    for dim, n in ((0, 4), (-2, 5)):
        index = torch.tensor([n - 1, 0])
        part = list(x.shape)
        part[dim] = 2
        for alpha in (1, 2.5):
            yield (aten.index_add.default, x, dim, index, t(*part), {"alpha": alpha})
        yield aten.index_copy.default, x, dim, index, t(*part)
        yield aten.index_fill.int_Scalar, x, dim, index, 1.5


def _activations():
    x = torch.cat([t(12), torch.tensor([-3, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 3, 4])])
    g = t(22, seed=9)
    for threshold, value in ((0.0, 0.5), (1.5, -2.0)):
        yield aten.threshold.default, x, threshold, value
        yield aten.threshold_backward.default, g, x, threshold
    yield aten.leaky_relu.default, x, 0.3
    yield aten.leaky_relu_backward.default, g, x, 0.3, False
    yield aten._prelu_kernel.default, x, torch.tensor(0.3)
    yield aten._prelu_kernel_backward.default, g, x, torch.full_like(x, 0.3)
    for name in ("none", "tanh"):
        yield (aten.gelu.default, x, {"approximate": name})
        yield (aten.gelu_backward.default, g, x, {"approximate": name})
    for name in ("silu", "mish", "hardswish", "hardsigmoid"):
        yield getattr(aten, name).default, x
        yield getattr(aten, f"{name}_backward").default, g, x
    yield aten.hardtanh.default, x, -0.5, 1.5
    yield aten.hardtanh_backward.default, g, x, -0.5, 1.5
    for beta, threshold in ((1, 20), (2, 3), (0.5, 0.75)):
        yield aten.softplus.default, x, beta, threshold
        yield aten.softplus_backward.default, g, x, beta, threshold
    for name in ("softshrink", "hardshrink"):
        yield getattr(aten, name).default, x, 0.5
    yield aten.softshrink_backward.default, g, x, 0.5
    yield aten.hardshrink_backward.default, g, x, 0.5
    yield aten.elu.default, x, 1.3, 0.7, 0.6
    for is_result in (True, False):
        yield (aten.elu_backward.default, g, 1.3, 0.7, 0.6, is_result,
               aten.elu.default(x, 1.3, 0.7, 0.6) if is_result else x)
    yield aten.log_sigmoid_forward.default, x
    yield aten.log_sigmoid_backward.default, g, x, aten.log_sigmoid_forward.default(x)[1]
    y = x[:20].reshape(4, 5)
    for dim in (0, -1):
        for name in ("_softmax", "_log_softmax"):
            made = getattr(aten, name).default(y, dim, False)
            yield getattr(aten, name).default, y, dim, False
            yield (getattr(aten, f"{name}_backward_data").default, g[:20].reshape(4, 5), made, dim,
                   torch.float32)
    for name in ("_softmax", "_log_softmax"):
        for empty in (torch.tensor(2.0), torch.zeros(3, 0)):
            yield getattr(aten, name).default, empty, 0, False


def _normalizations():
    x, g = t(3, 4, 5), t(3, 4, 5, seed=1)
    for shape in ([5], [4, 5]):
        for weight, bias in ((t(*shape), t(*shape, seed=4)), (None, t(*shape)), (t(*shape), None),
                             (None, None)):
            yield aten.native_layer_norm.default, x, shape, weight, bias, 0.3
            _, mean, scale = aten.native_layer_norm.default(x, shape, weight, bias, 0.3)
            if weight is not None and bias is not None:
                yield (aten.native_layer_norm_backward.default, g, x, shape, mean, scale, weight,
                       bias, [True, True, True])


def _products():
    x, y = t(3, 4), t(4, 5)
    for beta, alpha in ((1, 1), (0.5, 3), (0, 2), (2, 1)):
        yield (aten.addmm.default, t(3, 5), x, y, {"beta": beta, "alpha": alpha})
        yield (aten.addmv.default, t(3), x, t(4), {"beta": beta, "alpha": alpha})
        yield (aten.baddbmm.default, t(2, 3, 5), t(2, 3, 4), t(2, 4, 5),
               {"beta": beta, "alpha": alpha})
        yield (aten.addr.default, t(3, 4), t(3), t(4), {"beta": beta, "alpha": alpha})
    yield (aten.addmm.default, t(3, 5) * torch.nan, x, y, {"beta": 0})
    yield aten._euclidean_dist.default, t(3, 4), t(5, 4)
    yield aten._euclidean_dist.default, t(2, 3, 4), t(2, 5, 4)
    yield (aten.linspace.default, 1, 4, 7)
    yield aten.eye.m, 3, 5


def _complexes():
    x, real = t(3, 4, 6, dtype=torch.complex64) + 1j * t(3, 4, 6, seed=1), t(3, 4, 6)
    yield aten.polar.default, t(3, 4).abs(), t(4)
    yield aten.angle.default, torch.tensor([-2.0, 0, 3, torch.nan])
    yield aten.angle.default, x
    for kind in (0, 1, 2):
        for dims in ([2], [0, 1], [1, 0, 2]):
            for forward in (True, False):
                yield aten._fft_c2c.default, x, dims, kind, forward
        for half in (True, False):
            yield aten._fft_r2c.default, real, [0, 2], kind, half
        for length in (10, 11):
            yield aten._fft_c2r.default, x, [1, 2], kind, length


FAMILIES = {"losses": _losses, "shapes": _shapes, "pointwise": _pointwise, "matrices": _matrices,
            "reductions": _reductions, "indexing": _indexing, "activations": _activations,
            "normalizations": _normalizations, "products": _products, "complexes": _complexes}


@pytest.mark.parametrize("family", FAMILIES)
def test_rows(family):
    calls = []
    for func, *given in FAMILIES[family]():
        assert str(func).removeprefix("aten.") in TABLE, func
        kwargs = given.pop() if isinstance(given[-1], dict) else {}
        named = [each.name for each in func._schema.arguments if each.kwarg_only]
        count = len(func._schema.arguments) - len(named)
        kwargs |= zip(named, given[count:], strict=False)  # what may only be given by name
        args = tuple(given[:count])
        calls.append((func, args, kwargs, func(*args, **kwargs)))
    wrong = samples.check(calls)
    assert not wrong, "\n".join(wrong)
