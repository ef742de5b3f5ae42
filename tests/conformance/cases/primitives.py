"""Primitive classes, made with their arguments and called."""

from ..spec import many, unary

CASES = [
    *unary(
        "ACos Abs Acosh Asin Asinh Atan Atanh BesselI0 Ceil Cos Cosh Digamma Erf Erfc Erfinv Exp "
        "Expm1 Floor Inv Invert IsFinite IsInf IsNan Lgamma Log Log1p LogicalNot Neg OnesLike "
        "PopulationCount Reciprocal Rint Round Rsqrt Sign Sin Sinc Sinh Sqrt Square Tan Trunc "
        "ZerosLike",
        ("bool", "int32", "uint16", "float16", "float32", "complex64"),
        "P.{}()(x)",
        grad=False,
        graph=False,
    ),
    *many(
        """
        P.AddN()((x, y))
        P.Addcmul()(x, y, z, ms.Tensor([1.0], x.dtype))
        P.Addcdiv()(x, y, z, ms.Tensor([1.0], x.dtype))
        P.ArgMaxWithValue()(x)
        P.BiasAdd()(x, y[0])
        P.BroadcastTo((2, 2, 3))(x)
        P.Cast()(x, ms.float32)
        P.Concat(1)((x, y))
        P.Cross(1)(x, y)
        P.Cummax(0)(x)
        P.Cummin(1)(x)
        P.CumulativeLogsumexp()(x, 0)
        P.Diag()(x[0])
        P.DiagPart()(x[:, :2])
        P.Eps()(x)
        P.EqualCount()(x, y)
        P.EuclideanNorm()(x, (0,))
        P.ExpandDims()(x, 0)
        P.Eye()(2, 3, ms.float32)
        P.Fill()(ms.float32, (2,), 1)
        P.FillDiagonal(1.0)(x)
        P.FillV2()((2,), ms.Tensor(3, ms.float32))
        P.Fills()(x, 2.0)
        P.Flatten()(x)
        P.Fmax()(x, y)
        P.Gather()(x, ms.Tensor([0, 1]), 1)
        P.GatherD()(x, 1, ms.Tensor([[0], [1]]))
        P.GatherNd()(x, ms.Tensor([[0, 1]]))
        P.Ger()(x[0], y[1])
        P.Heaviside()(x, y)
        P.HistogramFixedWidth(4)(x, ms.Tensor([-1.0, 1.0], x.dtype))
        P.Identity()(x)
        P.IndexAdd(0)(ms.Parameter(x), ms.Tensor([0, 1], ms.int32), y)
        P.IndexFill()(x, 0, ms.Tensor([0], ms.int32), 2.0)
        P.IsClose()(x, y)
        P.KLDivLoss()(x, z)
        P.L2Normalize(1)(x)
        P.LayerNorm()(x, y[0], z[0])
        P.Lerp()(x, y, z)
        P.LogMatrixDeterminant()(x[:, :2])
        P.Logit(0.1)(z)
        P.LpNorm((0,))(x)
        P.MaskedFill()(x, y > 0, 2.0)
        P.MaskedSelect()(x, y > 0)
        P.MatrixBandPart()(x, 0, 1)
        P.MatrixDeterminant()(x[:, :2])
        P.MatrixInverse()(x[:, :2])
        P.Median()(x)
        P.Meshgrid()((x[0], y[0]))
        P.MirrorPad('REFLECT')(x, ms.Tensor([[0, 0], [1, 1]]))
        P.NanToNum()(x)
        P.NonZero()(x)
        P.OneHot()(ms.Tensor([0, 2]), 3, ms.Tensor(1.0), ms.Tensor(0.0))
        P.PReLU()(x, ms.Tensor([0.5], x.dtype))
        P.Pad(((0, 1), (1, 0)))(x)
        P.Padding(2)(x[:, :1])
        P.Range()(ms.Tensor(0), ms.Tensor(4), ms.Tensor(2))
        P.Rank()(x)
        P.ReduceStd(0)(x)
        P.Renorm(2, 0, 1.0)(x)
        P.Reshape()(x, (3, 2))
        P.ReverseSequence(1)(x, ms.Tensor([1, 2]))
        P.ReverseV2([0])(x)
        P.Roll(1, 0)(x)
        P.ScatterNd()(ms.Tensor([[0], [1]]), x, (3, 3))
        P.SearchSorted()(x[0], y[0])
        P.Select()(x > 0, x, y)
        P.Shape()(x)
        P.Size()(x)
        P.Slice()(x, (0, 1), (1, 2))
        P.Split(1, 3)(x)
        P.SquareSumAll()(x, y)
        P.Squeeze()(x)
        P.Stack(1)((x, y))
        P.StridedSlice()(x, (0, 0), (2, 2), (1, 1))
        P.TensorScatterAdd()(x, ms.Tensor([[0], [1]]), y)
        P.TensorScatterUpdate()(x, ms.Tensor([[0], [5]]), y)
        P.TensorScatterElements(1)(x, ms.Tensor([[0], [1]]), y[:, :1])
        P.Tile()(x, (2, 1))
        P.Trace()(x[:, :2])
        P.Transpose()(x, (1, 0))
        P.Tril()(x)
        P.Triu(1)(x)
        P.TupleToArray()((1, 2))
        P.Unique()(x[0])
        P.UnsortedSegmentSum()(x, ms.Tensor([0, 1]), 2)
        P.Unstack(0)(x)
        P.ScalarToTensor()(1.5)
        P.Zeta()(z + 1, z)
        P.LinSpace()(ms.Tensor(0.0), ms.Tensor(1.0), 5)
        P.ComplexAbs()(x)
        P.Real()(x)
        P.Conj()(x)
        P.Softmax(0)(x)
        P.LogSoftmax(0)(x)
        P.Concat(5)((x, y))
        P.Split(1, 2)(x)
        P.Reshape()(x, (4, 4))
        P.Squeeze(0)(x)
        P.Transpose()(x, (0, 0))
        P.ReLU('a')(x)
        P.Softmax(5)(x)
        P.OneHot('a')(x, 3, 1, 0)
        """,
        ("float32", "int32", "uint16", "bool", "complex64", "float16"),
        grad=True,
        graph=False,
        x="[2,3]",
        y="[2,3]",
        z="[2,3]+",
    ),
    *many(
        """
        P.AvgPool(2, 1)(x)
        P.MaxPool(2, 2, 'same')(x)
        P.MaxPoolWithArgmax(2, 2)(x)
        P.AdaptiveAvgPool2D((2, 1))(x)
        P.AdaptiveMaxPool2D((2, 2))(x)
        P.BatchNorm(True)(x, x[0, :, 0, 0], x[0, :, 0, 1], x[0, :, 1, 0], ops.abs(x[0, :, 1, 1]))
        P.Conv2D(2, 2)(x, x[:, :, :2, :2])
        P.Conv2DTranspose(2, 2)(x, x[:, :, :2, :2], (2, 2, 5, 5))
        P.DepthToSpace(1)(x)
        P.SpaceToDepth(2)(x)
        P.LRN()(x)
        P.ResizeNearestNeighbor((2, 2))(x)
        P.ResizeBilinearV2()(x, (5, 5))
        P.ChannelShuffle(2)(x)
        P.Im2Col(2)(x)
        P.GridSampler2D()(x, ops.tanh(x).transpose(0, 2, 3, 1))
        P.ExtractImagePatches([1, 1, 2, 2], [1, 1, 1, 1], [1, 1, 1, 1])(x)
        P.UpsampleNearest3D()(x[:, :, None], (2, 8, 8), None)
        """,
        ("float32", "float16", "int32"),
        grad=True,
        x="[2,2,4,4]^",
    ),
]
