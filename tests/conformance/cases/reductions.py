"""Reductions, extremes, statistics and scans."""

from ..spec import ALL, FLOATS, many, reduction

FEW = ("bool", "int8", "int32", "int64", "uint8", "uint16", "float16", "float32", "complex64")
FLAT = ("int32", *FLOATS, "complex64")
CASES = [
    *reduction("mean prod", keep="keep_dims"),
    *reduction("sum", axis="dim", keep="keepdim"),
    *reduction("all any", keep="keep_dims", grad=False),
    *reduction("amax amin"),
    *reduction("argmax", axis="dim", keep="keepdim", several=False, grad=False),
    *reduction("argmin", several=False, grad=False),
    *reduction("max min", FEW, several=False),
    *reduction("median", FEW, several=False),
    *reduction("std var", FEW),
    *reduction("std_mean var_mean", FLAT),
    *reduction("nansum nanmean", FLAT),
    *reduction("nanmedian", FLAT, several=False),
    *reduction("count_nonzero", FEW, keep="keep_dims", grad=False),
    *reduction("logsumexp", FLAT, axis="dim", keep="keepdim", whole=False),
    *reduction("aminmax", FLAT, several=False),
    *reduction("vector_norm", FLAT),
    *reduction("norm", FLAT, axis="dim", keep="keepdim"),
    *reduction(
        "sum mean prod all any max min argmax argmin std var amax amin median nansum "
        "logsumexp norm",
        ("bool", "int8", "int32", "uint8", "uint16", "float32", "complex64"),
        "Tensor.{}(x{})",
        keep="keepdims",
        several=False,
        grad=False,
    ),
    *reduction(
        "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceAll ReduceAny",
        ("bool", "int32", "uint16", "float32", "complex64"),
        "P.{}()(x{})",
        keep="",
        grad=False,
    ),
    *reduction("cumsum cummax cummin logcumsumexp", ALL, keep="", several=False, whole=False),
    *reduction("cumprod", ALL, axis="dim", keep="", several=False, whole=False),
    *[
        c
        for name in ("cumsum", "cumprod", "cummax")
        for c in reduction(
            name,
            ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32"),
            "Tensor.{}(x{})",
            keep="",
            several=False,
            whole=False,
            grad=False,
        )
    ],
    *many(
        """
        ops.sum(x, dtype=ms.float32)
        ops.prod(x, dtype=ms.int32)
        ops.cumsum(x, 0, dtype=ms.float32)
        ops.cumprod(x, 0, dtype=ms.float32)
        P.CumSum(True, False)(x, 0)
        P.CumSum(False, True)(x, 1)
        P.CumProd(True, True)(x, 1)
        ops.std(x, ddof=1)
        ops.var(x, 0, 1)
        ops.var(x, 0, True)
        x.std(ddof=1)
        x.var(0, 1)
        ops.amax(x, initial=2, where=y)
        ops.amin(x, 0, initial=-1)
        ops.max(x, 0, initial=1, where=y)
        ops.quantile(x, 0.5)
        ops.quantile(x, 0.25, 1)
        ops.nanquantile(x, 0.5, 0)
        ops.histc(x, 4)
        ops.histc(x, 4, -1.0, 1.0)
        ops.renorm(x, 2, 0, 1.0)
        ops.cov(x)
        ops.diff(x)
        ops.diff(x, 1, 0)
        ops.trapz(x)
        ops.trapz(x, dx=0.5, dim=0)
        ops.matrix_norm(x)
        ops.matrix_norm(x, 1)
        ops.norm(x, 1, 0)
        ops.norm(x, 'fro')
        ops.norm(x, 'nuc')
        ops.vector_norm(x, 1)
        ops.vector_norm(x, float('inf'), 0)
        ops.vector_norm(x, 0)
        x.ptp()
        x.argmax_with_value()
        x.argmin_with_value(1, True)
        P.ArgMaxWithValue(1)(x)
        P.ArgMinWithValue(0, True)(x)
        P.Argmax()(x)
        P.Argmin(0)(x)
        ops.reduce_sum(x)
        ops.reduce_max(x, 1)
        ops.reduce_mean(x, 0)
        x.sum(axis=0)
        x.sum(dim=0)
        x.sum(0, ms.float32)
        x.mean(axis=(0, 1))
        x.max(0)
        x.min(1)
        """,
        ALL,
        graph=True,
        x="[2,3]^",
        y="bool[2,3]",
    ),
    *many(
        """
        ops.cumprod(x, 0)
        ops.cumsum(x, 1)
        ops.prod(x, 1)
        ops.amax(x, 1)
        ops.max(x)
        ops.std(x)
        ops.var(x, 1)
        ops.norm(x)
        ops.logsumexp(x, 1)
        ops.cummax(x, 1)[0]
        ops.median(x, 1)[0]
        """,
        ("float32",),
        grad=True,
        x="float32[2,4]=1,1,0,2,0,0,-1,3",
    ),
]
