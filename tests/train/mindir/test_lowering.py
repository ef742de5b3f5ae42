"""MindIR nodes of single operations, at the limits of what they can be written for.

Each is written, read again and run; the truth is PyTorch's own kernel. `operations.py` has those
that MindSpore has run, too.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from lamella import nn
from lamella.tensors.tensor import wrap
from lamella.train.mindir import reading
from lamella.train.mindir.builder import Builder, Unwritable, Value, form
from lamella.train.mindir.lowering.table import TABLE
from lamella.train.mindir.messages import ATTRIBUTE, MODEL
from lamella.train.mindir.values import Weights, value
from lamella.train.wire_format import Message, parse, write

aten = torch.ops.aten
INF, NAN = math.inf, math.nan
pytestmark = pytest.mark.filterwarnings("ignore:var.*degrees of freedom",
                                        "ignore:indexing with dtype torch.uint8")


def lowered(target: Any, args: Any, options: dict[str, Any], raw: Any
            ) -> tuple[Builder, list[Value], Any]:
    """A graph with the nodes of an operation, its inputs, and what the nodes give."""
    graph, inputs = Builder(), []

    def noted(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            inputs.append(Value(f"main:x{len(inputs)}", value))
            return inputs[-1]
        return [noted(each) for each in value] if isinstance(value, (list, tuple)) else value

    found = TABLE[str(target).removeprefix("aten.")](
        graph, raw, *noted(args), **{key: noted(value) for key, value in options.items()})
    return graph, inputs, found


def computed(target: Any, *args: Any, **options: Any) -> list[tuple[Any, torch.Tensor]]:
    """What the nodes of an operation give, and what PyTorch does."""
    raw = target(*args, **options)
    graph, inputs, found = lowered(target, args, options, raw)
    several = isinstance(found, list)
    pairs = [(value, each) for value, each in zip(found if several else [found],
                                                  raw if several else [raw], strict=False)
             if value is not None]
    output = graph.node("MakeTuple", *[value for value, _ in pairs])
    model = Message(ir_version="1.1", little_endian=1, primitives=list(graph.primitives.values()),
                    graph=Message(name="main", node=graph.nodes, parameter=[], input=[
                        Message(name=each.name, tensor=[form(each.raw)]) for each in inputs],
                                  output=[Message(name=output.name)]))
    net = nn.GraphCell(reading._read(memoryview(write(model, MODEL)), "."))
    given: Any = net(*[wrap(each.raw) for each in inputs])
    return [(ours._raw, theirs) for ours, (_, theirs) in zip(given, pairs, strict=True)]


def check(target: Any, *args: Any, **options: Any) -> None:
    for ours, theirs in computed(target, *args, **options):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5, equal_nan=True)


def floats(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape)).float()


ODD = torch.tensor([NAN, -INF, INF, 0.0, -0.0, -1.5, 0.5, 2.5])
X = floats(2, 3, 4)


@pytest.mark.parametrize("correction, sizes", [
    (1, (1, 3)), (2, (1, 3)), (2, (2, 3)), (3, (2, 3)), (0, (1, 3)), (None, (1, 3)), (None, (2, 3)),
    (1.5, (3, 2)), (0.5, (1, 2))])
def test_variances_of_few_elements(correction, sizes):
    check(aten.var.correction, floats(*sizes), [0], correction=correction)
    check(aten.var.correction, floats(*sizes), [0], correction=correction, keepdim=True)


@pytest.mark.parametrize("kind", [torch.uint8, torch.int8, torch.int32, torch.int64, torch.float32])
def test_the_smallest_and_the_largest_elements(kind):
    """Also those whose negative the type doesn't have."""
    if kind.is_floating_point:
        x = torch.tensor([[2.0, -INF, 0.5, INF], [0.25, -2.0, -3.0, 1.0]])
    else:
        least, most = torch.iinfo(kind).min, torch.iinfo(kind).max
        x = torch.tensor([[3, least, 5, most], [2, 1, most - 1, least + 7]], dtype=kind)
    for largest in (True, False):
        check(aten.topk.default, x, 2, -1, largest)
        check(aten.topk.default, x, 4, 1, largest)


@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 2])
def test_rounding_to_decimals(decimals):
    x = torch.tensor([250.0, 350.0, -450.0, 14.5, 15.5, 25.0, 0.125, 0.375, 2.5, -3.5])
    check(aten.round.decimals, x, decimals=decimals)


@pytest.mark.parametrize("name", ["relu", "sign", "trunc", "round", "isnan", "isinf", "elu",
                                  "leaky_relu", "hardtanh", "logical_not", "neg", "sqrt"])
def test_numbers_that_are_none_or_infinite(name):
    check(getattr(aten, name).default, ODD)


def test_bounds():
    check(aten.clamp.default, ODD, -1.0, 1.0)
    check(aten.clamp.default, ODD, 1.0, -1.0)  # the upper one counts
    check(aten.clamp.default, torch.tensor([1, 5, -3]), 0.5)  # of floats: so is the result
    check(aten.clamp.Tensor, X, X[:1] - 0.1, X[:1] + 0.1)
    check(aten.hardtanh.default, X, -0.25, 0.75)
    check(aten.maximum.default, ODD, ODD.flip(0))
    check(aten.minimum.default, ODD, ODD.flip(0))


def test_slopes_and_scales():
    check(aten.leaky_relu.default, X, 0.3)
    check(aten.leaky_relu.default, X, -0.3)
    check(aten.elu.default, X, 0.5, 1.5, 2.5)
    check(aten.elu.default, X, 1.673, 1.05, 1.0)


BOOLS = torch.tensor([True, True, False, False]), torch.tensor([True, False, True, False])


@pytest.mark.parametrize("target", [
    aten.eq.Tensor, aten.ne.Tensor, aten.add.Tensor, aten.mul.Tensor, aten.bitwise_and.Tensor,
    aten.bitwise_or.Tensor, aten.bitwise_xor.Tensor, aten.logical_and.default,
    aten.logical_or.default, aten.logical_xor.default], ids=str)
def test_truth(target):
    check(target, *BOOLS)
    if "logical" in str(target):
        check(target, BOOLS[0], torch.tensor([0.0, NAN, -2.0, 0.5]))


@pytest.mark.parametrize("one, other", [
    (torch.int32, torch.float32), (torch.uint8, torch.int8), (torch.float16, torch.int64),
    (torch.float32, torch.float64), (torch.bool, torch.int32)])
def test_operands_of_two_types(one, other):
    x, y = (torch.tensor([3, 1, 2]).to(kind) for kind in (one, other))
    for target in (aten.add.Tensor, aten.mul.Tensor, aten.div.Tensor, aten.maximum.default,
                   aten.lt.Tensor, aten.eq.Tensor):
        check(target, x, y)
        check(target, y, x)
    check(aten.add.Tensor, x, y, alpha=3)
    check(aten.where.self, torch.tensor([True, False, True]), x, y)


@pytest.mark.parametrize("number", [2, 2.5, True])
@pytest.mark.parametrize("kind", [torch.int32, torch.float16, torch.bool])
def test_an_operand_that_is_a_number(kind, number):
    x = torch.tensor([0, 1, 3]).to(kind)
    for target in (aten.gt.Scalar, aten.eq.Scalar, aten.mul.Scalar, aten.add.Scalar):
        check(target, x, number)


@pytest.mark.parametrize("mode", [None, "floor", "trunc"])
@pytest.mark.parametrize("kind", [torch.int32, torch.int64, torch.float32])
def test_quotients(kind, mode):
    x, y = torch.tensor([7, -7, 7, -7, 0, 6]).to(kind), torch.tensor([2, 2, -2, -2, 3, 3]).to(kind)
    check(aten.div.Tensor_mode, x, y, rounding_mode=mode)
    check(aten.div.Scalar_mode, x, -3, rounding_mode=mode)


POOLED = torch.where(floats(1, 2, 5, 4) > 1, 2.0, torch.tensor(-INF))


@pytest.mark.parametrize("kernel, stride, padding, ceil", [
    ([3, 2], [2, 1], [1, 1], False), ([2, 2], [2, 3], [0, 1], True), ([3, 3], [], [1, 1], True),
    ([2, 3], [3, 3], [0, 0], True), ([1, 1], [2, 2], [0, 0], False)])
def test_windows_of_images(kernel, stride, padding, ceil):
    """The largest of a window at the edge is of the image, be it infinite."""
    for x in (floats(1, 2, 5, 4), POOLED, floats(1, 2, 6, 6), floats(1, 2, 7, 5).double()):
        check(aten.max_pool2d_with_indices.default, x, kernel, stride, padding, [1, 1], ceil)
    x = floats(1, 2, 7, 6)
    for included in (False, True):
        for divisor in (None, 3):
            check(aten.avg_pool2d.default, x, kernel, stride, padding, ceil, included, divisor)


def test_one_number_for_both_dimensions():
    check(aten.max_pool2d_with_indices.default, X[None], [2], [1], [1])
    check(aten.avg_pool2d.default, X[None], [2])
    check(aten._adaptive_avg_pool2d.default, X[None], [2, 3])
    check(aten.avg_pool1d.default, X, [3], [], [1], True)


def convolved(x: Any, weight: Any, bias: Any, *options: Any) -> None:
    check(aten.convolution.default, x, weight, bias, *options)


def test_convolutions_of_rows():
    """Also transposed, in groups, and with more at the end."""
    x, bias = floats(2, 4, 7), floats(6, seed=1)
    convolved(x, floats(6, 2, 3, seed=2), bias, [2], [1], [2], False, [0], 2)
    for more in (0, 1):
        convolved(x, floats(4, 3, 3, seed=3), bias, [2], [1], [1], True, [more], 2)
        convolved(x, floats(4, 6, 2, seed=3), None, [3], [1], [2], True, [more], 1)


def test_convolutions_of_images_and_volumes():
    x, bias = floats(1, 4, 5, 6), floats(6, seed=1)
    for more in ([0, 0], [1, 0], [0, 2]):
        convolved(x, floats(4, 3, 3, 4, seed=2), bias, [2, 3], [1, 2], [1, 1], True, more, 2)
    convolved(floats(1, 2, 4, 5, 6), floats(4, 1, 2, 1, 3, seed=2), floats(4), [1, 2, 1], [1, 0, 2],
              [2, 1, 1], False, [0, 0, 0], 2)


@pytest.mark.parametrize("rank", [2, 3, 4, 5])
def test_normalizations_of_any_rank(rank):
    x, (w, b, m), v = floats(*(2, 3, 2, 3, 2)[:rank]), floats(3, 3), floats(3).abs() + 0.5
    for weight, bias in ((w, b), (None, b), (w, None), (None, None)):
        check(aten._native_batch_norm_legit_no_training.default, x, weight, bias, m, v, 0.1, 0.01)
        check(aten._native_batch_norm_legit.no_stats, x, weight, bias, True, 0.1, 0.01)


@pytest.mark.parametrize("dims", [[1], [-1], [0, -1], [], None])
@pytest.mark.parametrize("keepdim", [False, True])
def test_sums_over_dimensions(dims, keepdim):
    check(aten.sum.dim_IntList, X, dims, keepdim)
    check(aten.mean.dim, X, dims, keepdim)
    if dims is not None:
        check(aten.amax.default, X, dims, keepdim)
        check(aten.any.dims, X > 1, dims or [0, 1, 2], keepdim)
    check(aten.sum.dim_IntList, X > 0, dims, keepdim)
    check(aten.sum.dim_IntList, X.int(), dims, keepdim, dtype=torch.float64)


@pytest.mark.parametrize("dim, keepdim", [(0, False), (-1, True), (1, True), (None, False)])
def test_where_the_largest_is(dim, keepdim):
    x = torch.tensor([[3.0, 1.0, 3.0], [-1.0, 4.0, 2.0]])
    for target in (aten.argmax.default, aten.argmin.default):
        check(target, x, dim, keepdim)
    if dim is not None:
        check(aten.max.dim, x, dim, keepdim)
        check(aten.min.dim, x, dim, keepdim)


def test_products_of_matrices():
    x, y, bias = floats(2, 3), floats(3, 4), floats(2, 4)
    check(aten.addmm.default, bias, x, y)
    check(aten.addmm.default, bias[0], x, y, beta=0.5)
    check(aten.addmm.default, bias, x, y, alpha=-2)
    check(aten.addmm.default, bias[:, :1], x, y, beta=2, alpha=0.5)


SLICES = [(0, None, None, 1), (1, 1, None, 1), (1, None, -1, 1), (-1, -3, -1, 1), (1, 0, 3, 1),
          (0, 0, 9, 1), (1, -9, 2, 1), (2, 0, 4, 2), (2, 1, 9, 3), (2, -2, 2 ** 62, 1),
          (2, 3, 4, 1), (1, 0, 0, 1), (1, 2, 0, 1), (0, 5, None, 1)]


@pytest.mark.parametrize("dim, start, end, step", SLICES)
def test_slices(dim, start, end, step):
    check(aten.slice.Tensor, X, dim, start, end, step)


def test_places_and_parts():
    for dim, at in ((0, 1), (0, -2), (1, 0), (-1, -1), (2, 3)):
        check(aten.select.int, X, dim, at)
    check(aten.split_with_sizes.default, X, [1, 2], -2)
    check(aten.split_with_sizes.default, X, [4], 2)
    check(aten.unbind.int, X, -1)
    check(aten.cat.default, [X, torch.zeros(0), X.int()], -2)
    check(aten.cat.default, [torch.zeros(0), X], 0)
    for dims in ([0], [-3], [0, 2], [1]):
        check(aten.squeeze.dims, X[:1, :, :1], dims)
    check(aten.squeeze.dim, X[:1, :1, :1], -1)
    check(aten.expand.default, X[:, :1], [5, -1, 3, 4])
    check(aten.expand.default, X, [2, 3, 4])
    check(aten.repeat.default, X, [2, 1, 1, 3])
    check(aten.full.default, [65, 63], 2.5)
    check(aten.full.default, [65, 64], 2.5, dtype=torch.int32)
    check(aten.arange.start_step, 5, -1, -2)


@pytest.mark.parametrize("offset, dim1, dim2", [(0, 0, 1), (1, 0, 2), (-1, 2, 1), (2, -1, -2),
                                                (-2, 1, 0), (3, 0, 1)])
def test_diagonals(offset, dim1, dim2):
    check(aten.diagonal.default, floats(3, 4, 5), offset, dim1, dim2)
    if {dim1, dim2} == {0, 1} and abs(offset) < 3:
        check(aten.diagonal.default, floats(3, 4), offset, dim1, dim2)


AT = torch.tensor([1, -1, 0])
ROWS = torch.tensor([[0], [-3]])


@pytest.mark.parametrize("indices", [[AT % 2], [None, AT], [None, None, AT.int()], [AT % 2, AT],
                                     [AT % 2, ROWS], [ROWS % 2], [None, ROWS], [AT % 2, AT, AT]],
                         ids=range(8))
def test_elements_by_their_places(indices):
    check(aten.index.Tensor, X, indices)


@pytest.mark.parametrize("indices, shape", [
    ([AT[:2]], (2, 3, 4)), ([AT[:2] % 2, AT[:2]], (2, 4)), ([AT[:2] % 2, AT[:2]], (4,)),
    ([AT[:2] % 2, AT[:2], AT[:2]], (2,)), ([AT[:2] % 2, None], (3, 4)),
    ([AT[:2] % 2, None, None], (1,)),
    ([ROWS % 2], (1, 3, 4))], ids=range(7))
@pytest.mark.parametrize("adds", [False, True])
def test_new_elements_by_their_places(indices, shape, adds):
    check(aten.index_put.default, X, indices, floats(*shape, seed=5), adds)


def test_new_elements_under_a_mask():
    for mask in (X > 0, X[:, :, 0] > 0, X[:, 0, 0] > 0):
        check(aten.index_put.default, X, [mask], torch.tensor(7.0))


# -- what has no form ------------------------------------------------------------------------------


def refused(target: Any, *args: Any, raw: Any = None, words: str, **options: Any) -> None:
    with pytest.raises(Unwritable, match=words):
        lowered(target, args, options, target(*args, **options) if raw is None else raw)


@pytest.mark.parametrize("target, args, options, words", [
    (aten.topk.default, (X, 2, 0), {}, "topk along another dimension than the last"),
    (aten.argmax.default, (X, None, True), {}, "over all elements with keepdim=True"),
    (aten.index.Tensor, (X, [X > 0]), {}, "a mask as an index"),
    (aten.index.Tensor, (X, [(X[:, 0, 0] > 0).byte()]), {}, "a mask as an index"),
    (aten.index.Tensor, (X, [None, AT, AT]), {}, "aren't the first ones"),
    (aten.index_put.default, (X, [None, AT], X[:, :1]), {}, "aren't the first ones"),
    (aten.index_put.default, (X, [X > 0], torch.ones(1)), {}, "a mask as an index"),
    (aten.index_put.default, (X, [X > 0], torch.tensor(1.0), True), {}, "a mask as an index"),
    (aten.scatter.src, (X, 0, torch.zeros(1, 3, 4).long(), X), {}, "an index smaller than the new"),
    (aten.constant_pad_nd.default, (X, [1, -1]), {}, "a negative padding"),
    (aten.max_pool2d_with_indices.default, (X, [2, 2], [1, 1], [0, 0], [1, 2]), {}, "dilation"),
    (aten._to_copy.default, (X,), {"dtype": torch.complex64}, "complex numbers"),
    (aten.grid_sampler_2d.default, (X[None], floats(1, 2, 2, 2), 2, 0, True), {}, "bicubic"),
    (aten.convolution.default, (X[None], floats(2, 1, 2, 2), None, [2, 2], [0, 0], [1, 1], True,
                                [0, 1], 1), {}, "with a negative padding"),
    (aten.convolution.default, (X[None, None], floats(1, 1, 2, 2, 2), None, [1] * 3, [0] * 3,
                                [1] * 3, True, [0] * 3, 1), {}, "of other than images"),
], ids=range(15))
def test_operations_that_have_no_form(target, args, options, words):
    refused(target, *args, words=words, **options)


class Varies:
    """A size that varies."""

    def __init__(self, name: str):
        self.name = name

    def __str__(self) -> str:
        return self.name

    def __add__(self, other: Any) -> Varies:
        return Varies(f"{self.name}+{other}")


N = Varies("n")


def open_value(*sizes: Any, kind: torch.dtype = torch.float32) -> Any:
    return Value("x", SimpleNamespace(shape=sizes, dtype=kind))


@pytest.mark.parametrize("name, args, raw, words", [
    ("var.correction", ([0],), None, "a variance over a size that varies"),
    ("max_pool2d_with_indices.default", ([2, 2], [2, 2], [0, 0], [1, 1], True),
     [SimpleNamespace(shape=(1, 1, N, N))] * 2, "ceil_mode=True of images whose size varies"),
    ("avg_pool2d.default", ([2, 2], [2, 2], [0, 0], True), SimpleNamespace(shape=(1, 1, N, N)),
     "ceil_mode=True of images whose size varies"),
    ("diagonal.default", (), None, "a diagonal of sizes that vary"),
    ("select.int", (2, Value("at", N)), None, "a place that varies"),
    ("split_with_sizes.default", ([1, Value("n", N)], 1), None, "parts whose sizes vary"),
    ("constant_pad_nd.default", ([0, Value("n", N)],), None, "a padding that varies"),
    ("native_layer_norm.default", ([Value("n", N)], None, None, 0.1), None, "sizes that vary"),
    ("topk.default", (Value("n", N),), None, "topk along another dimension"),
    ("upsample_nearest2d.vec", (None, None), SimpleNamespace(shape=(1, 1, 3, N)),
     "resized to sizes that vary"),
    ("upsample_bilinear2d.vec", (None, True, None), SimpleNamespace(shape=(1, 1, N, 3)),
     "resized to sizes that vary")], ids=range(11))
def test_sizes_that_vary_where_they_may_not(name, args, raw, words):
    with pytest.raises(Unwritable, match=words):
        TABLE[name](Builder(), raw, open_value(N, 2, N, N), *args)


@pytest.mark.parametrize("rank, transposed, names", [
    (1, False, {"stride": (1, 1, 1, 2), "dilation": (1, 1, 1, 3), "kernel_size": (1, 2)}),
    (2, False, {"stride": (1, 1, 2, 2), "dilation": (1, 1, 3, 3), "kernel_size": (2, 2)}),
    (2, True, {"stride": (1, 1, 2, 2), "dilation": (1, 1, 3, 3), "kernel_size": (2, 2)}),
    (3, False, {"stride": (2, 2, 2), "strides": (1, 1, 2, 2, 2), "dilation": (3, 3, 3),
                "dilations": (1, 1, 3, 3, 3), "kernel_size": (2, 2, 2)})])
def test_attributes_of_convolutions(rank, transposed, names):
    """As MindSpore 2.10 writes them: of volumes by two names."""
    x, weight = floats(1, 4, *[7] * rank), floats(4, 2, *[2] * rank)
    options = ([2] * rank, [1] * rank, [3] * rank, transposed, [0] * rank, 2)
    raw = aten.convolution.default(x, weight, None, *options)
    graph, *_ = lowered(aten.convolution.default, (x, weight, None, *options), {}, raw)
    kind = "Conv2DTranspose" if transposed else "Conv3D" if rank == 3 else "Conv2D"
    (made,) = [each for each in graph.primitives.values() if each.__dict__["op_type"] == kind]
    found = {each.__dict__["name"]: value(parse(write(each, ATTRIBUTE), ATTRIBUTE), Weights("."))
             for each in made.__dict__["attribute"]}
    pads = (0, 0, 1, 1) if rank == 1 else (1,) * (2 * rank)
    assert found.items() >= {**names, "pad": pads, "pad_list": pads, "pad_mode": "pad", "mode": 1,
                             "group": 2, "groups": 2, "out_channel": 4,
                             "format": "NCDHW" if rank == 3 else "NCHW"}.items()
    assert found["output_names"] == ("output",) and len(found["input_names"]) == 2 + transposed
