"""Primitives that write to places, sum segments, and what else is about places."""

from ..spec import each, many

IN, OUT = "[2]=0,1", ("[2]=0,5", "[2]=0,-1", "[2]=1,1")
ROWS = """
    P.ScatterAdd()(ms.Parameter(x), i, u)
    P.ScatterSub()(ms.Parameter(x), i, u)
    P.ScatterMul()(ms.Parameter(x), i, u)
    P.ScatterDiv()(ms.Parameter(x), i, u)
    P.ScatterMax()(ms.Parameter(x), i, u)
    P.ScatterMin()(ms.Parameter(x), i, u)
    P.ScatterUpdate()(ms.Parameter(x), i, u)
    ops.scatter_sub(ms.Parameter(x), i, u)
    P.ScatterNdAdd()(ms.Parameter(x), i[:, None], u)
    P.ScatterNdSub()(ms.Parameter(x), i[:, None], u)
    P.ScatterNdMul()(ms.Parameter(x), i[:, None], u)
    P.ScatterNdDiv()(ms.Parameter(x), i[:, None], u)
    P.ScatterNdMax()(ms.Parameter(x), i[:, None], u)
    P.ScatterNdMin()(ms.Parameter(x), i[:, None], u)
    P.ScatterNdUpdate()(ms.Parameter(x), i[:, None], u)
    P.ScatterNonAliasingAdd()(ms.Parameter(x), i[:, None], u)
    ops.scatter_nd_sub(ms.Parameter(x), i[:, None], u)
    ops.scatter_nd_div(ms.Parameter(x), i[:, None], u)
    ops.scatter_nd_min(ms.Parameter(x), i[:, None], u)
    x.tensor_scatter_div(i[:, None], u)
    P.TensorScatterSub()(x, i[:, None], u)
    P.TensorScatterMul()(x, i[:, None], u)
    P.TensorScatterDiv()(x, i[:, None], u)
    P.TensorScatterMax()(x, i[:, None], u)
    P.TensorScatterMin()(x, i[:, None], u)
    P.UnsortedSegmentMax()(u, i, 3)
    P.UnsortedSegmentMin()(u, i, 3)
    P.UnsortedSegmentProd()(u, i, 3)
    P.UnsortedSegmentSum()(u, i, 3)
    P.SegmentMax()(u, i)
    P.SegmentMin()(u, i)
    P.SegmentMean()(u, i)
    P.SegmentProd()(u, i)
    P.SegmentSum()(u, i)
    ops.sparse_segment_mean(x, i, i)
    P.IndexAdd(0)(ms.Parameter(x), i, u)
    P.InplaceIndexAdd(0)(ms.Parameter(x), i, u)
    ops.inplace_index_add(ms.Parameter(x), i, u, 0)
    P.InplaceAdd((0, 1))(x, u)
    P.InplaceSub((0, 1))(x, u)
    P.InplaceUpdate((0, 1))(x, u)
    P.InplaceUpdateV2()(x, (0, 1), u)
    P.IndexPut()(x, u[0], [i, i])
    P.IndexPut(1)(x, u[0, :2], [i, i])
    x.index_put((i, i), u[0, :2])
    x.index_put((i,), u, True)
    P.IndexSelect()(x, 0, i)
    P.MaskedScatter()(x, x > 0, u)
    P.GatherV2()(x, i, 0)
    P.Gather(1)(x[None], i[None], 1)
    P.UnsortedSegmentSum()(u, i, Tensor(3, ms.int32))
    P.InTopK(2)(x, i)
    P.NthElement()(x, 1)
    P.NthElement(True)(x, Tensor(0, ms.int32))
    P.InvertPermutation()(i)
    P.ListDiff()(i, i[:1])
    P.UniqueWithPad()(i, 9)
    P.UniqueConsecutive(True, True)(i)
    P.Bincount()(i, Tensor(4, ms.int32), u[0, :2])
    P.UnravelIndex()(i, Tensor([2, 2], ms.int32))
    P.LowerBound()(x, u)
    P.UpperBound()(x, u)
    P.Bucketize([-1.0, 0.0, 1.0])(x)
    P.EmbeddingLookup()(x, i, 0)
    P.EmbeddingLookup()(x, i, 1)
    P.SparseToDense()(i[:, None], u[0, :2], (6,))
    nn.SparseToDense()(ms.COOTensor(ms.ops.stack((i, i), 1), u[0, :2], (3, 3)))
    P.SparseTensorDenseMatmul()(ops.stack((i, i), 1), u[0, :2], (3, 3), x)
    nn.SparseTensorDenseMatmul()(ops.stack((i, i), 1), u[0, :2], (3, 3), x)
    P.SparseGatherV2()(x, i, 0)
    """
LINES = [line.strip() for line in ROWS.splitlines() if line.strip()]
TYPES = ("float32", "int32", "uint16", "int8", "bool", "float16", "complex64")


def _each(line: str, types: tuple[str, ...], mode: str = "value", i: str = "int32" + IN) -> list:
    """A line about those of x, u and i that it has."""
    return [
        c
        for c in many(line, types, x="[3,3]", u="[2,3]^", i=i)
        if mode == "value"
        or any(name != "i" for name, _ in c.inputs)
    ]


CASES = [
    *[c for line in LINES for c in _each(line, TYPES)],
    *[c for line in LINES for c in _each(line, ("float32",), i="int64" + IN)],
    *[c for line in LINES for c in _each(line, ("float32",), i="float32" + IN)],
    *[c for line in LINES for places in OUT for c in _each(line, ("float32",), i="int32" + places)],
    *[
        c._replace(mode="grad")
        for line in LINES
        if "Parameter" not in line and ("x" in line or "u" in line.replace("put", ""))
        for c in _each(line, ("float32",), "grad")
        if any("float" in text for _, text in c.inputs)
    ],
    *each("ops.scatter_add(ms.Parameter(x), i, x)", x="[3,3]", i="int32[2]=0,1"),
]
