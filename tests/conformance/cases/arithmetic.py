"""Functions of two tensors: sums, products, powers, extremes and the like."""

from ..spec import ALL, FLOATS, binary, many

FEW = ("bool", "int32", "uint8", "uint16", "float16", "float32", "bfloat16", "complex64")
CASES = [
    *binary("add sub mul maximum minimum pow"),
    *binary("+ - * **", form="x {} y"),
    *binary("subtract multiply fmax fmin float_power xlogy hypot", FEW),
    *binary("atan2 logaddexp logaddexp2 copysign heaviside nextafter ldexp", FEW),
    *binary("arctan2 tensor_add tensor_mul tensor_pow", ("int32", "uint16", "float32")),
    *binary("igamma igammac", ("float32", "float64")),
    *binary("add subtract multiply pow maximum minimum", FEW, "Tensor.{}(x, y)"),
    *binary(
        "Add Sub Mul Pow Maximum Minimum Xlogy Hypot Atan2 SquaredDifference MulNoNan",
        FEW,
        "P.{}()(x, y)",
        grad=False,
    ),
    *many(
        """
        ops.addcmul(x, y, z)
        ops.addcmul(x, y, z, 2)
        ops.addcdiv(x, y, z)
        ops.addcdiv(x, y, z, 0.5)
        ops.addn((x, y, z))
        ops.accumulate_n([x, y, z])
        ops.lerp(x, y, 0.5)
        ops.lerp(x, y, z)
        ops.subtract(x, y, alpha=2)
        ops.clamp(x, y, z)
        ops.clamp(x, 1, 2)
        ops.clamp(x, 0.5)
        ops.clamp(x, max=1)
        ops.clip(x, -1, 1)
        ops.clip_by_value(x, 0, 1)
        ops.clip_by_value(x, y, z)
        ops.clip_by_norm(x, 1.0)
        ops.cross(x, y)
        ops.kron(x, y)
        ops.outer(x, y)
        ops.ger(x, y)
        ops.inner(x, y)
        ops.dot(x, y)
        ops.vecdot(x, y)
        ops.cosine_similarity(x, y, dim=0)
        ops.dist(x, y)
        ops.dist(x, y, 1)
        """,
        ALL,
        grad=True,
        graph=True,
        x="[3]",
        y="[3]",
        z="[3]+",
    ),
    *many(
        """
        x + y
        ops.add(x, y)
        ops.pow(x, y)
        """,
        FLOATS,
        x="[16]!",
        y="[16]+",
    ),
]
