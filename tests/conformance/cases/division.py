"""Division and what it leaves."""

from ..spec import ALL, binary, many

FEW = ("bool", "int8", "int32", "uint8", "uint32", "float16", "float32", "float64", "complex64")
CASES = [
    *binary(
        "div floor_divide remainder fmod floor_mod true_divide truncate_div truncate_mod xdivy"
    ),
    *binary("/ // %", form="x {} y"),
    *binary("div divide floor_divide floor_div remainder fmod true_divide", FEW, "Tensor.{}(x, y)"),
    *binary(
        "gcd lcm",
        (
            "bool",
            "int8",
            "int16",
            "int32",
            "int64",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
            "float32",
        ),
        grad=False,
    ),
    *binary("floordiv tensor_div tensor_floordiv tensor_mod floormod", FEW),
    *binary(
        "Div FloorDiv FloorMod Mod RealDiv TruncateDiv TruncateMod DivNoNan Xdivy",
        FEW,
        "P.{}()(x, y)",
        grad=False,
    ),
    *binary("trunc floor", FEW, "ops.div(x, y, rounding_mode='{}')"),
    *many(
        """
        ops.div(x, y, rounding_mode='up')
        ops.div(x, y, rounding_mode=1)
        x // 0
        x % 0
        x / 0
        ops.fmod(x, 0)
        ops.remainder(x, 0)
        ops.truncate_div(x, 0)
        5 // x
        5 % x
        5 / x
        -5 // x
        -5 % x
        """,
        ALL,
        x="[11]!",
        y="[11]",
    ),
]
