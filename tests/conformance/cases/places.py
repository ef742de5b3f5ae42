"""Elements named by index tensors: gather, scatter, select, masks, segments."""

from ..spec import ALL, SOME, each, many

FEW = (*SOME, "int8", "uint32", "uint64", "float16", "bfloat16", "complex64")
IN, OUT = "[2]=0,1", ("[2]=0,5", "[2]=0,-1", "[2]=-7,1")
FUNCTIONS = """
    ops.gather(x, i, 0)
    ops.gather(x, i, 1)
    ops.gather(x, i, 4)
    ops.gather_nd(x, i.reshape(2, 1))
    ops.gather_nd(x, i)
    ops.gather_elements(x, 0, i.reshape(1, 2))
    ops.gather_elements(x, 1, i.reshape(2, 1))
    ops.gather_d(x, 0, i.reshape(1, 2))
    ops.index_select(x, 0, i)
    ops.index_select(x, 1, i)
    ops.take(x, i)
    x.take(i)
    x.take(i, 1)
    x.take(i, 0, mode='wrap')
    x[i]
    x[:, i]
    x.gather(i, 0)
    x.index_select(0, i)
    ops.scatter(x, 0, i.reshape(1, 2), x[:1, :2])
    ops.scatter(x, 1, i.reshape(2, 1), x[:2, :1])
    ops.tensor_scatter_elements(x, i.reshape(1, 2), x[:1, :2])
    ops.tensor_scatter_elements(x, i.reshape(1, 2), x[:1, :2], 0, 'add')
    x.tensor_scatter_update(i.reshape(2, 1), x[:2])
    ops.scatter_nd(i.reshape(2, 1), x[0, :2], (4,))
    ops.tensor_scatter_update(x, i.reshape(2, 1), x[:2])
    ops.tensor_scatter_add(x, i.reshape(2, 1), x[:2])
    ops.tensor_scatter_sub(x, i.reshape(2, 1), x[:2])
    ops.tensor_scatter_mul(x, i.reshape(2, 1), x[:2])
    ops.tensor_scatter_div(x, i.reshape(2, 1), x[:2])
    ops.tensor_scatter_max(x, i.reshape(2, 1), x[:2])
    ops.tensor_scatter_min(x, i.reshape(2, 1), x[:2])
    ops.unsorted_segment_sum(x[:2], i, 2)
    ops.unsorted_segment_max(x[:2], i, 2)
    ops.unsorted_segment_min(x[:2], i, 2)
    ops.unsorted_segment_prod(x[:2], i, 2)
    ops.index_add(ms.Parameter(x), i, x[:2], 0)
    ops.index_fill(x, 0, i, 2)
    x.index_add(0, i, x[:2])
    ops.inplace_update(x, x[:2], (0, 1))
    ops.inplace_add(x, x[:2], (0, 1))
    ops.inplace_sub(x, x[:2], (0, 5))
    ops.scatter_update(ms.Parameter(x), i, x[:2])
    ops.scatter_add(ms.Parameter(x), i, x[:2])
    ops.scatter_max(ms.Parameter(x), i, x[:2])
    ops.scatter_min(ms.Parameter(x), i, x[:2])
    ops.scatter_mul(ms.Parameter(x), i, x[:2])
    ops.scatter_div(ms.Parameter(x), i, x[:2])
    ops.scatter_nd_add(ms.Parameter(x), i.reshape(2, 1), x[:2])
    ops.scatter_nd_update(ms.Parameter(x), i.reshape(2, 1), x[:2])
    ops.scatter_nd_max(ms.Parameter(x), i.reshape(2, 1), x[:2])
    ops.scatter_nd_mul(ms.Parameter(x), i.reshape(2, 1), x[:2])
    """
LINES = [line.strip() for line in FUNCTIONS.splitlines() if line.strip()]
CASES = [
    *[c for line in LINES for c in each(line, FEW, x="[3,3]", i="int32" + IN)],
    *[
        c
        for line in LINES
        for kind in ("int64",)
        for c in each(line, ("float32",), x="[3,3]", i=kind + IN)
    ],
    *[
        c
        for line in LINES
        for places in OUT
        for c in each(line, ("float32",), x="[3,3]", i="int32" + places)
    ],
    *[
        c
        for line in LINES
        for kind in ("float32", "int8", "uint8", "bool")
        for c in each(line, ("float32",), x="[3,3]", i=kind + IN)
    ],
    *[
        c
        for line in LINES
        if "Parameter" not in line
        for c in each(line, ("float32",), "grad", x="[3,3]", i="int32" + IN)
    ],
    *[
        c
        for line in LINES
        if "Parameter" not in line
        for c in each(line, ("float32",), "graph", x="[3,3]", i="int32" + IN)
    ],
    *many(
        """
        ops.where(m, x, y)
        ops.where(m, x, 2)
        ops.where(m, 1.5, y)
        ops.where(m, 1, 2)
        ops.where(m, x, 'a')
        ops.where(x, x, y)
        ops.select(m, x, y)
        ops.select(m, x, 1)
        ops.select(m, 2.0, x)
        ops.masked_fill(x, m, 2)
        ops.masked_fill(x, m, 2.5)
        ops.masked_fill(x, m, y[0, 0])
        ops.masked_fill(x, y, 1)
        ops.masked_select(x, m)
        ops.masked_select(x, y)
        x.masked_scatter(m, y)
        ops.nonzero(x)
        ops.tril(x)
        ops.triu(x)
        ops.eye(2, 3, x.dtype)
        ops.matrix_band_part(x, 0, 1)
        ops.select_scatter(x, y[0], 0, 1)
        ops.slice_scatter(x, y[:1], 0, 1, 2)
        ops.diagonal_scatter(x, y[0, :2])
        ops.sequence_mask(ms.Tensor([1, 2]), 3)
        ops.choice_with_mask(m, 0)
        ops.reverse_sequence(x, ms.Tensor([1, 2]), 1)
        x.masked_fill(m, 1)
        x.where(m, y)
        x.fill_diagonal(1.0)
        x.trace()
        x[m]
        """,
        ALL,
        grad=True,
        graph=True,
        x="[2,3]",
        y="[2,3]",
        m="bool[2,3]",
    ),
]
