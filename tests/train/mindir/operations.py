"""Every operation of the table of MindIR nodes, as a function with inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

import lamella as ms
from lamella import nn
from lamella.tensors.tensor import wrap

aten = torch.ops.aten
_draw = np.random.default_rng(33)


class Case(NamedTuple):
    """A function of raw tensors, made of operations of the table."""

    function: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]


def _with(operation: Callable[..., Any], *rest: Any) -> Callable[..., Any]:
    """An operation of a tensor and of what is the same in every call."""
    return lambda x: operation(x, *rest)


class Network(nn.Cell):
    """A Cell that computes cases one after the other."""

    def __init__(self, cases: list[Case]):
        super().__init__()
        self.cases = cases

    def construct(self, *inputs: Any) -> Any:
        """The results of all cases."""
        left, found = list(inputs), []
        for function, given in self.cases:
            results = function(*[left.pop(0)._raw for _ in given])
            found += results if isinstance(results, (list, tuple)) else [results]
        return tuple(wrap(each) for each in found)


def floats(*shape: int) -> np.ndarray:
    return _draw.standard_normal(shape).astype(np.float32)


def between(low: float, high: float, *shape: int) -> np.ndarray:
    return _draw.uniform(low, high, shape).astype(np.float32)


def whole(high: int, *shape: int, low: int = 0, kind: Any = np.int64) -> np.ndarray:
    return _draw.integers(low, high, shape).astype(kind)


def bools(*shape: int) -> np.ndarray:
    return _draw.random(shape) > 0.5


def _of_one() -> dict[str, Case]:
    inside = ("acos", "asin", "atanh", "erfinv")
    above = ("acosh",)
    positive = ("digamma", "lgamma", "log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sqrt")
    others = ("abs", "asinh", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor",
              "neg", "relu", "sigmoid", "sign", "sin", "sinh", "tan", "tanh", "trunc", "clone",
              "alias", "detach", "gelu", "elu", "leaky_relu", "hardtanh", "round", "isnan",
              "lift_fresh_copy", "isinf")
    made = {}
    for names, values in ((inside, between(-0.9, 0.9, 2, 3)), (above, between(1.1, 3, 2, 3)),
                          (positive, between(0.2, 3, 2, 3)), (others, 2 * floats(2, 3))):
        made |= {f"{name}.default": Case(getattr(aten, name).default, (values,)) for name in names}
    return made


ELEMENTWISE: dict[str, Case] = {
    **_of_one(),
    **{f"{name}.Tensor": Case(getattr(aten, name).Tensor, (floats(2, 3), between(0.5, 2, 3)))
       for name in ("add", "sub", "mul", "div", "fmod", "remainder")},
    **{f"{name}.Scalar": Case(_with(getattr(aten, name).Scalar, 2.5), (floats(2, 3),))
       for name in ("add", "sub", "mul", "div", "fmod", "remainder", "gt", "ge", "lt", "le")},
    **{f"{name}.Tensor": Case(getattr(aten, name).Tensor, (whole(3, 4, 3), whole(3, 4, 3)))
       for name in ("eq", "ne", "gt", "ge", "lt", "le")},
    **{f"{name}.Scalar": Case(_with(getattr(aten, name).Scalar, 1), (whole(3, 7),))
       for name in ("eq", "ne")},
    **{f"{name}.default": Case(getattr(aten, name).default, (floats(2, 3), between(0.5, 2, 3)))
       for name in ("maximum", "minimum", "atan2")},
    **{f"{name}.default": Case(getattr(aten, name).default, (bools(4, 3), bools(4, 3)))
       for name in ("logical_and", "logical_or", "logical_xor")},
    **{f"bitwise_{name}.Tensor": Case(getattr(aten, f"bitwise_{name}").Tensor,
                                      (whole(9, 6), whole(9, 6))) for name in ("and", "or", "xor")},
    **{f"bitwise_{name}.Scalar": Case(_with(getattr(aten, f"bitwise_{name}").Scalar, 5),
                                      (whole(9, 6),))
        for name in ("and", "or", "xor")},
    "logical_not.default": Case(aten.logical_not.default, (bools(5),)),
    "bitwise_not.default": Case(lambda x, y: [aten.bitwise_not(x), aten.bitwise_not(y)],
                                (whole(9, 5), bools(5))),
    "add of bools": Case(lambda x, y: [x + y, x * y, x & y, x | y, x ^ y], (bools(6), bools(6))),
    "types": Case(lambda x, y: [x + y, x * 2.5, x / y, x > 1.5, torch.exp(y)],
                  (floats(4), whole(5, 4, low=1, kind=np.int32))),
    "alpha": Case(lambda x, y: [aten.add.Tensor(x, y, alpha=3), aten.sub.Tensor(x, y, alpha=2),
                                aten.add.Scalar(x, 2.5, 3), aten.sub.Scalar(y, 2.5, 2)],
                  (floats(3), floats(3))),
    "pow.Tensor_Tensor": Case(aten.pow.Tensor_Tensor, (between(0.5, 2, 3), floats(3))),
    "pow.Tensor_Scalar": Case(lambda x: x ** 3, (floats(4),)),
    "pow.Scalar": Case(lambda x: 2.0 ** x, (floats(4),)),
    "div.Tensor_mode": Case(lambda x, y: [aten.div.Tensor_mode(x, y, rounding_mode="floor"),
                                          aten.div.Tensor_mode(x, y, rounding_mode="trunc")],
                            (3 * floats(6), between(0.5, 2, 6))),
    "div of integers": Case(lambda x, y: [aten.div.Tensor_mode(x, y, rounding_mode="floor"),
                                          aten.div.Tensor_mode(x, y, rounding_mode="trunc"),
                                          aten.div.Scalar_mode(x, 3, rounding_mode="trunc")],
                            (whole(9, 8, low=-9), whole(5, 8, low=1))),
    "div.Scalar_mode": Case(lambda x: aten.div.Scalar_mode(x, 0.7, rounding_mode="floor"),
                            (floats(6),)),
    "round.decimals": Case(lambda x: aten.round.decimals(x, decimals=2), (floats(6),)),
    "clamp.default": Case(lambda x: [aten.clamp(x, -0.5, 0.5), aten.clamp(x, min=0.1),
                                     aten.clamp(x, max=0.1)], (floats(6),)),
    "clamp.Tensor": Case(lambda x, y: aten.clamp.Tensor(x, y, None), (floats(6), floats(6))),
    "where.self": Case(aten.where.self, (bools(3, 1), floats(3, 4), floats(4))),
    "where of a number": Case(lambda x: torch.where(x > 0, x, -1.0), (floats(5),)),
    "gelu of tanh": Case(lambda x: aten.gelu(x, approximate="tanh"), (floats(6),)),
    "_to_copy.default": Case(lambda x: [x.to(torch.int32), x.to(torch.float64), x.to(torch.bool)],
                             (3 * floats(6),)),
}

SHAPES: dict[str, Case] = {
    "view.default": Case(lambda x: [aten.view(x, [4, 3]), aten.view(x, [2, 6])], (floats(2, 6),)),
    "permute.default": Case(lambda x: aten.permute(x, [2, 0, -2]), (floats(2, 3, 4),)),
    "expand.default": Case(lambda x: aten.expand(x, [5, 2, 3]), (floats(2, 1),)),
    "unsqueeze.default": Case(lambda x: [aten.unsqueeze(x, 0), aten.unsqueeze(x, -1)],
                              (floats(2, 3),)),
    "squeeze.dim": Case(lambda x: [aten.squeeze.dim(x, 1), aten.squeeze.dim(x, 0)],
                        (floats(2, 1, 3),)),
    "squeeze.dims": Case(lambda x: aten.squeeze.dims(x, [0, 2]), (floats(1, 3, 1),)),
    "slice.Tensor": Case(lambda x: [x[1:], x[:, 1:-1], x[:, ::2], x[-2:], x[:, 10:], x[:, -20:2]],
                         (floats(4, 5),)),
    "select.int": Case(lambda x: [x[1], x[:, -1], x[-2, :, 0]], (floats(3, 4, 2),)),
    "cat.default": Case(lambda x, y: [torch.cat([x, y]), torch.cat([x, y, x], -2)],
                        (floats(2, 3), floats(4, 3))),
    "split_with_sizes.default": Case(lambda x: list(torch.split(x, [1, 2, 2], 1)), (floats(2, 5),)),
    "unbind.int": Case(lambda x: list(torch.unbind(x, 1)), (floats(2, 3),)),
    "flip.default": Case(lambda x: torch.flip(x, [0, -1]), (floats(2, 3),)),
    "repeat.default": Case(lambda x: x.repeat(2, 1, 3), (floats(2, 3),)),
    "constant_pad_nd.default": Case(lambda x: aten.constant_pad_nd(x, [1, 2, 0, 1], 0.5),
                                    (floats(2, 3, 4),)),
    "reflection_pad1d.default": Case(lambda x: aten.reflection_pad1d(x, [1, 2]),
                                     (floats(1, 2, 5),)),
    "reflection_pad2d.default": Case(lambda x: aten.reflection_pad2d(x, [1, 2, 0, 1]),
                                     (floats(1, 2, 4, 5),)),
    "replication_pad2d.default": Case(lambda x: aten.replication_pad2d(x, [1, 2, 0, 1]),
                                      (floats(1, 2, 4, 5),)),
    "replication_pad3d.default": Case(lambda x: aten.replication_pad3d(x, [1, 2, 0, 1, 2, 0]),
                                      (floats(1, 2, 3, 4, 5),)),
    "full.default": Case(lambda x: [x + aten.full([3], 2.0), aten.full([70, 70], 1.5)],
                         (floats(3),)),
    "full_like.default": Case(lambda x: x + aten.full_like(x, 2), (floats(3),)),
    "fill.Scalar": Case(lambda x: aten.fill.Scalar(x, 2), (floats(3),)),
    "scalar_tensor.default": Case(lambda x: x + aten.scalar_tensor(2.0), (floats(3),)),
    "arange.start_step": Case(lambda x: x + aten.arange.start_step(1, 7, 2), (floats(3),)),
    "diagonal.default": Case(lambda x: [torch.diagonal(x, 0, 0, 1), torch.diagonal(x, 1, 2, 1)],
                             (floats(3, 4, 4),)),
    "tril": Case(lambda x: [torch.tril(x), torch.triu(x, 1)], (floats(4, 5),)),
    "dimensions from the last": Case(lambda x, y: [
        aten.unsqueeze(x, -3), x[..., -3:-1], x[:, -20:, 1:4:2], aten.select.int(x, -1, -2),
        torch.cat([x, torch.zeros(0), y], -2), *torch.split(x, [1, 3], -1), *torch.unbind(y, -2),
        torch.flip(x, [-2]), aten.squeeze.dim(y, -2), aten.squeeze.dims(y, [-2, 0]),
        aten.permute(x, [-1, 0, 1])], (floats(2, 3, 4), floats(2, 1, 4))),
    "more dimensions": Case(lambda x, y: [
        x.repeat(2, 1, 3, 1), aten.expand(y, [4, -1, 5]), aten.expand(x, [2, 2, 3]),
        aten.diagonal(x.unsqueeze(0).repeat(3, 1, 1), -1, 1, 0), torch.diagonal(x, -1),
        torch.tril(x, -1), torch.triu(x, -1)], (floats(2, 3), floats(3, 1))),
    "a tensor of rank 0": Case(lambda x: [
        aten.view(x, [1, 1]), aten.expand(x, [2, 3]), aten.unsqueeze(x, 0), aten.squeeze.dim(x, 0),
        aten.full_like(x, 3)], (np.array(1.5, np.float32),)),
    "constants": Case(lambda x: [
        x + aten.full([64, 64], 2.0)[0, :3], aten.full([4097], 1.5),
        aten.full([2, 3], 7, dtype=torch.int32), aten.full_like(x, 2, dtype=torch.int64),
        x + aten.arange.start_step(0.5, 2.0, 0.5), aten.arange.start_step(7, 1, -2)],
        (floats(3),)),
    "pads of some sides": Case(lambda x: [
        aten.constant_pad_nd(x, [0, 2]), aten.constant_pad_nd(x, [0, 0, 1, 0], -1.0),
        aten.constant_pad_nd(x, [1, 0, 0, 2, 3, 0], 2.0), aten.constant_pad_nd(x, [0, 0]),
        aten.reflection_pad2d(x, [2, 0, 0, 1])], (floats(2, 3, 4),)),
}

REDUCTIONS: dict[str, Case] = {
    **{f"{name}.default": Case(getattr(torch, name), (floats(2, 3),)) for name in (
        "mean", "amax", "amin", "sum", "prod", "argmax", "argmin")},
    **{f"{name}.default": Case(getattr(torch, name), (bools(2, 3),)) for name in ("any", "all")},
    "any.dim": Case(lambda x: [x.any(1), x.any(0, True)], (bools(2, 3),)),
    "all.dim": Case(lambda x: [x.all(1), x.all(0, True)], (bools(2, 3),)),
    "any.dims": Case(lambda x: aten.any.dims(x, [0, 2]), (bools(2, 3, 2),)),
    "all.dims": Case(lambda x: aten.all.dims(x, [0, 2]), (bools(2, 3, 2),)),
    "mean.dim": Case(lambda x: [x.mean(1), x.mean((0, 2), True)], (floats(2, 3, 4),)),
    "sum.dim_IntList": Case(lambda x, y: [x.sum(-1), x.sum((0, 1)), y.sum(0)],
                            (floats(2, 3, 4), bools(3, 2))),
    "amax over dims": Case(lambda x: [x.amax(1), x.amin((0, 2), True)], (floats(2, 3, 4),)),
    "prod.dim_int": Case(lambda x: x.prod(1), (floats(2, 3),)),
    "var.correction": Case(lambda x: [x.var(1), x.var((0, 1), correction=0, keepdim=True), x.std()],
                           (floats(3, 4),)),
    "var.dim": Case(lambda x: aten.var.dim(x, [0], False), (floats(3, 4),)),
    "max.dim": Case(lambda x: [*torch.max(x, 1), *torch.max(x, 0, True)], (floats(3, 4),)),
    "min.dim": Case(lambda x: [*torch.min(x, 1)], (floats(3, 4),)),
    "argmax over dims": Case(lambda x: [x.argmax(1), x.argmin(0, True)], (floats(3, 4),)),
    "cumsum.default": Case(lambda x: [x.cumsum(1), x.cumsum(0)], (floats(3, 4),)),
    "cumprod.default": Case(lambda x: x.cumprod(1), (floats(3, 4),)),
    "_softmax.default": Case(lambda x: [x.softmax(-1), x.softmax(0)], (floats(3, 4),)),
    "_log_softmax.default": Case(lambda x: x.log_softmax(-1), (floats(3, 4),)),
    "sort.default": Case(lambda x: [*torch.sort(x), *torch.sort(x, 0, True)], (floats(3, 4),)),
    "sort.stable": Case(lambda x: [*torch.sort(x, stable=True)], (floats(3, 4),)),
    "topk.default": Case(lambda x: [*torch.topk(x, 2), *torch.topk(x, 2, largest=False)],
                         (floats(3, 4),)),
    "logsumexp": Case(lambda x: torch.logsumexp(x, 1), (floats(3, 4),)),
    "reductions from the last dimension": Case(lambda x, b: [
        x.prod(-2), x.prod(0, True), x.cumsum(-2), x.cumprod(-1), x.argmax(-2), x.argmin(-1, True),
        *torch.max(x, -2), *torch.min(x, -1, True), b.any(-2), b.all(-1, True), x.softmax(-2),
        x.log_softmax(0), *torch.sort(x, -2), x.var(-1), x.var((0, -1), correction=2),
        x.mean((-1, 0)), x.amin(-2, True), *torch.topk(x, 1, -1)],
        (floats(2, 3, 4), bools(2, 3, 4))),
    "reductions of a tensor of rank 0": Case(lambda x, b: [
        x.sum(), x.mean(), x.amax(), x.prod(), b.any(), b.all(), b.sum()],
        (np.array(1.5, np.float32), np.array(True))),
    "reductions of another type": Case(lambda x, b: [
        x.sum(), x.sum(1, dtype=torch.float32), x.prod(), b.prod(0), b.cumsum(0), x.any(), x.all(0),
        x.mean(0, dtype=torch.float64), x.softmax(0, dtype=torch.float32)],
        (whole(5, 2, 3, low=-2, kind=np.int32), bools(4))),
    "mm.default": Case(lambda x, y: [x @ y, y.T @ x.T], (floats(2, 3), floats(3, 4))),
    "bmm.default": Case(lambda x, y: [torch.bmm(x, y), torch.bmm(x, y.mT.contiguous().mT)],
                        (floats(2, 2, 3), floats(2, 3, 4))),
    "addmm.default": Case(lambda b, x, y: [torch.addmm(b, x, y), torch.addmm(
        b, x, y, beta=0.5, alpha=2)], (floats(4), floats(2, 3), floats(3, 4))),
    "linear": Case(torch.nn.functional.linear, (floats(2, 5, 3), floats(4, 3), floats(4))),
}

INDEXING: dict[str, Case] = {
    "embedding.default": Case(aten.embedding.default, (floats(5, 3), whole(5, 2, 4))),
    "index_select.default": Case(lambda x, i: torch.index_select(x, 1, i),
                                 (floats(2, 5), whole(5, 3))),
    "gather.default": Case(lambda x, i: torch.gather(x, 1, i), (floats(2, 5), whole(5, 2, 3))),
    "index.Tensor": Case(lambda x, i, j: [x[i], x[:, j], x[i, j]],
                         (floats(4, 5, 2), whole(4, 3, low=-4), whole(5, 3, low=-5))),
    "index_put.default": Case(lambda x, i, y: [
        torch.index_put(x, (i,), y), torch.index_put(x, (i, i), y[:, 0], accumulate=True)],
        (floats(4, 5), np.array([0, -1, 2]), floats(3, 5))),
    "index_put of a mask": Case(lambda x, y: torch.index_put(x, (x > 0,), y.sum()),
                                (floats(4, 5), floats(2))),
    "scatter.src": Case(lambda x, i, y: torch.scatter(x, 1, i, y),
                        (floats(2, 5), np.array([[0, 3], [4, 1]]), floats(2, 2))),
    "scatter.value": Case(lambda x, i: torch.scatter(x, 1, i, 2.5),
                          (floats(2, 5), np.array([[0, 3], [4, 1]]))),
    "scatter_add.default": Case(lambda x, i, y: torch.scatter_add(x, 1, i, y),
                                (floats(2, 5), np.array([[0, 0], [4, 1]]), floats(2, 2))),
}

INDEXING |= {
    "indices of several dimensions": Case(lambda x, i, j, k: [
        x[i, j, k], x[i, j], x[:, :, k], x[i[:, None], j], x[i.int()], x[2, j]],
        (floats(4, 5, 2), whole(4, 3, low=-4), whole(5, 3, low=-5), whole(2, 3, low=-2))),
    "other dimensions": Case(lambda x, i, y: [
        torch.index_select(x, -1, i[0]), torch.index_select(x, 0, i[1]), torch.gather(x, 0, i),
        torch.gather(x, -1, i), torch.scatter(x, 0, i, y), torch.scatter(x, -1, i, 1.5),
        torch.scatter_add(x, 0, i, y)], (floats(3, 3), np.array([[0, 2, 1], [1, 0, 2]]),
                                         floats(2, 3))),
    "new elements": Case(lambda x, i, j, y, m: [
        torch.index_put(x, (i, j), y), torch.index_put(x, (i, j), y[0], accumulate=True),
        torch.index_put(x, (i,), y[:1]), torch.index_put(x, (m,), y.sum()),
        torch.index_put(x, (x > 0,), y.sum(), accumulate=False)],
        (floats(4, 3, 2), np.array([0, -1, 2]), np.array([1, 1, -3]), floats(3, 2), bools(4))),
}

_channels = (floats(4), floats(4), floats(4), between(0.5, 2, 4))
LAYERS: dict[str, Case] = {
    "convolution.default": Case(
        lambda x, w, b, d: [torch.conv2d(x, w, b, 2, 1), torch.conv2d(x, w, None, 1, (2, 1), 2),
                            torch.conv2d(x, d, None, groups=3)],
        (floats(2, 3, 9, 8), floats(4, 3, 3, 3), floats(4), floats(6, 1, 2, 2))),
    "convolution of rows": Case(lambda x, w, b: torch.conv1d(x, w, b, 2, 1),
                                (floats(2, 3, 9), floats(4, 3, 3), floats(4))),
    "convolution of volumes": Case(lambda x, w: torch.conv3d(x, w, None, 1, 1),
                                   (floats(1, 2, 4, 5, 4), floats(3, 2, 3, 3, 3))),
    "convolution transposed": Case(
        lambda x, w, b: [torch.conv_transpose2d(x, w, b, 2, 1),
                         torch.conv_transpose2d(x, w, None, 2, 1, 1)],
        (floats(2, 3, 5, 4), floats(3, 4, 3, 3), floats(4))),
    "max_pool2d_with_indices.default": Case(
        lambda x: [torch.max_pool2d(x, 2), torch.max_pool2d(x, 3, 2, 1),
                   torch.max_pool2d(x, 3, 2, 0, 1, True)], (floats(2, 3, 8, 8),)),
    "avg_pool2d.default": Case(
        lambda x: [aten.avg_pool2d(x, [2, 2]), aten.avg_pool2d(x, [3, 3], [2, 2], [1, 1]),
                   aten.avg_pool2d(x, [3, 3], [2, 2], [1, 1], False, False),
                   aten.avg_pool2d(x, [3, 3], [2, 2], [0, 0], True),
                   aten.avg_pool2d(x, [3, 3], [2, 2], [1, 1], True, True),
                   aten.avg_pool2d(x, [2, 2], [2, 2], [0, 0], False, True, 3)],
        (floats(2, 3, 8, 8),)),
    "avg_pool1d.default": Case(lambda x: [aten.avg_pool1d(x, [2]), aten.avg_pool1d(x, [3], [2],
                                                                                   [1])],
                               (floats(2, 3, 8),)),
    "_adaptive_avg_pool2d.default": Case(lambda x: aten._adaptive_avg_pool2d(x, [3, 2]),
                                         (floats(2, 3, 8, 7),)),
    "_native_batch_norm_legit_no_training.default": Case(
        lambda x, y, w, b, m, v: [torch.batch_norm(each, w, b, m, v, False, 0.1, 1e-5, False)
                                  for each in (x, y)], (floats(2, 4, 3, 3), floats(3, 4),
                                                        *_channels)),
    "_native_batch_norm_legit.no_stats": Case(
        lambda x, w, b: aten._native_batch_norm_legit.no_stats(x, w, b, True, 0.1, 1e-5),
        (floats(2, 4, 3, 3), floats(4), floats(4))),
    "windows that differ by dimension": Case(
        lambda x: [torch.max_pool2d(x, (2, 3), (1, 2), (1, 0)),
                   torch.max_pool2d(x, (3, 2), (2, 1), (0, 1), 1, True),
                   aten.avg_pool2d(x, [2, 3]), aten.avg_pool2d(x, [3, 2], [1, 2], [0, 1]),
                   aten.avg_pool2d(x, [2, 3], [2, 1], [1, 0], True, False),
                   aten.avg_pool2d(x, [2, 3], [2, 3], [1, 1], True, True),
                   aten.avg_pool2d(x, [2, 3], [1, 2], [0, 1], False, True, 5),
                   aten._adaptive_avg_pool2d(x, [2, 5])], (floats(2, 3, 9, 8),)),
    "windows of rows": Case(
        lambda x: [aten.avg_pool1d(x, [3], [1], [1], False, False),
                   aten.avg_pool1d(x, [3], [2], [0], True),
                   aten.avg_pool1d(x, [2], [3], [1], True, False)], (floats(2, 3, 10),)),
    "convolutions that differ by dimension": Case(
        lambda x, w, b, t: [torch.conv2d(x, w, b, (2, 1), (1, 2), (1, 3), 2),
                            torch.conv2d(x, w, None, (1, 3), (0, 1), (2, 1), 2),
                            torch.conv_transpose2d(x, t, b, (2, 3), (1, 2), (1, 2)),
                            torch.conv_transpose2d(x, t, None, (1, 2), (0, 1), dilation=(2, 1))],
        (floats(2, 4, 9, 8), floats(6, 2, 3, 2), floats(6), floats(4, 6, 3, 4))),
    "convolutions of rows and volumes": Case(
        lambda x, w, y, v, b: [torch.conv1d(x, w, b, 3, 2, 2, 2), torch.conv1d(x, w, groups=2),
                               torch.conv3d(y, v, b, (1, 2, 1), (0, 1, 2), (1, 1, 2))],
        (floats(2, 4, 12), floats(4, 2, 3), floats(1, 2, 4, 6, 5), floats(4, 2, 3, 2, 2),
         floats(4))),
    "statistics without weights": Case(
        lambda x, y, z, m, v, w: [
            *(torch.batch_norm(each, None, None, m, v, False, 0.1, 0.5, False)
              for each in (x, y, z)), torch.batch_norm(z, w, None, m, v, False, 0.1, 0.5, False),
            *aten._native_batch_norm_legit.no_stats(z, None, None, True, 0.1, 0.5),
            *aten._native_batch_norm_legit.no_stats(y, w, m, True, 0.1, 0.5)],
        (floats(2, 4, 3, 2), floats(3, 4), floats(2, 4, 5), floats(4), between(0.5, 2, 4),
         floats(4))),
    "normalized with a large number added": Case(
        lambda x, w: [torch.layer_norm(x, [3, 2], w, None, 0.5), torch.layer_norm(x, [2], eps=0.5),
                      torch.group_norm(x, 4, eps=0.5), torch.group_norm(x, 1)],
        (floats(2, 4, 3, 2), floats(3, 2))),
    "sizes that differ by dimension": Case(
        lambda x, g: [aten.upsample_nearest2d.vec(x, [7, 3], None),
                      aten.upsample_bilinear2d.vec(x, None, False, [0.5, 3.0]),
                      aten.grid_sampler_2d(x, g, 0, 2, True),
                      aten.grid_sampler_2d(x, g, 1, 0, False)],
        (floats(2, 3, 4, 5), between(-1.3, 1.3, 2, 4, 3, 2))),
    "attention of different lengths": Case(
        lambda q, k, v, m: [torch.nn.functional.scaled_dot_product_attention(q, k, v),
                            torch.nn.functional.scaled_dot_product_attention(q, k, v, m,
                                                                             scale=0.3)],
        (floats(2, 2, 4, 3), floats(2, 2, 5, 3), floats(2, 2, 5, 3), floats(4, 5))),
    "native_layer_norm.default": Case(
        lambda x, w, b: [torch.layer_norm(x, [4], w, b), torch.layer_norm(x, [3, 4])],
        (floats(2, 3, 4), floats(4), floats(4))),
    "native_group_norm.default": Case(
        lambda x, w, b: [torch.group_norm(x, 2, w, b), torch.group_norm(x, 2)],
        (floats(2, 4, 3, 3), floats(4), floats(4))),
    "upsample_bilinear2d.vec": Case(
        lambda x: [aten.upsample_bilinear2d.vec(x, [7, 9], False, None),
                   aten.upsample_bilinear2d.vec(x, [7, 9], True, None)], (floats(2, 3, 4, 5),)),
    "upsample_nearest2d.vec": Case(lambda x: aten.upsample_nearest2d.vec(x, None, [2.0, 2.0]),
                                   (floats(2, 3, 4, 5),)),
    "grid_sampler_2d.default": Case(
        lambda x, g: [aten.grid_sampler_2d(x, g, 0, 0, False), aten.grid_sampler_2d(x, g, 1, 1,
                                                                                    True)],
        (floats(2, 3, 4, 5), between(-1.2, 1.2, 2, 3, 3, 2))),
    "attention": Case(lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(
        q, k, v, is_causal=True), (floats(2, 2, 4, 3), floats(2, 2, 4, 3), floats(2, 2, 4, 3))),
    "lstm": Case(lambda x, h, c, a, b: list(torch.lstm(
        x, (h, c), (a, b), False, 1, 0.0, False, False, True)),
        (floats(2, 4, 3), floats(1, 2, 2), floats(1, 2, 2), floats(8, 3), floats(8, 2))),
}

FAMILIES = {"elementwise": ELEMENTWISE, "shapes": SHAPES, "reductions": REDUCTIONS,
            "indexing": INDEXING, "layers": LAYERS}


def tensors(case: Case) -> list[Any]:
    return [ms.Tensor(each) for each in case.inputs]
