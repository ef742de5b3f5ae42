"""Comparisons and logic."""

from ..spec import ALL, WHOLE, binary, many

FEW = ("bool", "int32", "uint16", "uint64", "float16", "float32", "complex64")
CASES = [
    *binary(
        "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor",
        grad=False,
    ),
    *binary("== != < <= > >=", form="x {} y", grad=False),
    *binary("eq ne lt le gt ge", FEW, grad=False),
    *binary("tensor_ge tensor_gt tensor_le tensor_lt isclose approximate_equal", FEW, grad=False),
    *binary(
        "Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr LogicalXor "
        "ApproximateEqual",
        FEW,
        "P.{}()(x, y)",
        grad=False,
    ),
    *binary(
        "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift",
        ("bool", *WHOLE, "float32"),
        grad=False,
    ),
    *binary("& | ^ << >>", ("bool", *WHOLE, "float32"), "x {} y", grad=False),
    *many(
        """
        ops.isclose(x, y, rtol=0.5)
        ops.isclose(x, y, equal_nan=True)
        ops.isclose(x, y, rtol='a')
        ops.approximate_equal(x, y, 0.5)
        ops.equal(1.0, 1.0)
        ops.intopk(x.reshape(2, 4), ms.Tensor([1, 0], ms.int32), 2)
        x.all()
        x.any()
        ops.bitwise_left_shift(x, 33)
        ops.bitwise_right_shift(x, 33)
        ops.bitwise_left_shift(x, -1)
        x << 2
        x >> 1
        x >> 70
        x << 64
        x in [1, 2]
        bool(x[0])
        int(x[1])
        """,
        ALL,
        x="[8]!",
        y="[8]",
    ),
]
