"""Order: sort, topk, unique, search."""

from ..spec import ALL, REAL, WHOLE, many

CASES = [
    *many(
        """
        ops.sort(x)
        ops.sort(x, 0)
        ops.sort(x, descending=True)
        ops.sort(x, 5)
        ops.msort(x)
        ops.argsort(x)
        ops.argsort(x, 0, True)
        x.sort()
        x.argsort(axis=0)
        ops.topk(x, 2)
        ops.topk(x, 2, 0)
        ops.topk(x, 2, largest=False)
        ops.topk(x, 7)
        ops.topk(x, 2.0)
        x.topk(1)
        P.TopK()(x, 2)
        P.Sort()(x)
        ops.unique(x.reshape(-1))
        ops.unique_consecutive(x)
        ops.unique_consecutive(x.reshape(-1), True, True)
        ops.unique_with_pad(x.reshape(-1), 0)
        ops.nonzero(x)
        ops.nonzero(x, as_tuple=True)
        ops.argwhere(x)
        ops.count_nonzero(x)
        ops.isin(x, x)
        """,
        ALL,
        graph=False,
        x="[2,3]^",
    ),
    *many(
        """
        ops.searchsorted(x, y)
        ops.searchsorted(x, y, right=True)
        ops.searchsorted(x, y, side='right')
        ops.searchsorted(x, y, out_int32=True)
        ops.bucketize(y, [-1.0, 0.0, 1.0])
        ops.bucketize(y, [0.0, 1.0], right=True)
        """,
        REAL,
        x="[4]=0,1,2,3",
        y="[3]",
    ),
    *many(
        """
        ops.bincount(x)
        ops.bincount(x, minlength=5)
        ops.bincount(x, y)
        ops.bincount(x, y, 4)
        """,
        (*WHOLE, "float32", "bool"),
        x="[5]=0,1,1,3,0",
        y="float32[5]",
    ),
    *many(
        """
        ops.sort(x)[0]
        ops.topk(x, 2)[0]
        ops.msort(x)
        """,
        (),
        grad=True,
        x="float32[2,3]^",
    ),
    *many(
        """
        ops.bincount(x)
        """,
        ("int32", "int64"),
        x="[3]=-1,0,1",
    ),
]
