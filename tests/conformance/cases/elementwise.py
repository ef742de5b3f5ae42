"""Functions of one tensor, element by element."""

from ..spec import ALL, FLOATS, WHOLE, many, unary

CASES = [
    *unary(
        "abs absolute neg negative square sign sgn positive real imag conj angle exp "
        "reciprocal rsqrt sqrt logical_not isnan isinf isfinite"
    ),
    *unary(
        "acos acosh asin asinh atan atanh cos cosh sin sinh tan tanh erf erfc log log1p log2 "
        "expm1 sigmoid",
        ("bool", "int8", "int64", "uint8", "uint16", *FLOATS, "complex64"),
    ),
    *unary(
        "arccos arccosh arcsin arcsinh arctan arctanh deg2rad rad2deg digamma lgamma exp2 log10 "
        "erfinv logit sinc i0 inv",
        ("bool", "int32", "uint8", *FLOATS, "complex64"),
    ),
    *unary(
        "ceil floor round trunc frac isneginf isposinf isreal signbit is_complex "
        "is_floating_point nan_to_num",
        ("bool", *WHOLE, *FLOATS, "complex64"),
    ),
    *unary("invert population_count bitwise_not", ALL, "Tensor.{}(x)", grad=False),
    *unary("invert population_count", ALL, grad=False),
    *unary(
        "bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0 bessel_k0e "
        "bessel_k1 bessel_k1e bessel_y0 bessel_y1",
        ("float16", "float32", "float64", "int32"),
    ),
    *unary(
        "abs neg exp log sqrt square sigmoid tanh erf round floor sign isnan logical_not "
        "reciprocal rsqrt cos sin acos expm1 log1p trunc frac",
        ("bool", "int32", "uint16", "float32", "bfloat16", "complex64"),
        "Tensor.{}(x)",
        graph=False,
    ),
    *unary("- + ~", ALL, "{}x", grad=False),
    *many(
        """
        ops.round(x, decimals=1)
        ops.round(x, decimals=-1)
        ops.nan_to_num(x, 1.0)
        ops.nan_to_num(x, 1.0, 2.0, -2.0)
        ops.nan_to_num(x, nan='a')
        ops.logit(x, 0.25)
        ops.logit(x, 'a')
        ops.polygamma(1, x)
        ops.polygamma(-1, x)
        ops.mvlgamma(x, 2)
        ops.angle(x)
        ops.polar(x, y)
        ops.view_as_real(x)
        x.real
        x.imag
        """,
        ("float32", "float64", "float16", "int32", "complex64"),
        x="[4]+",
        y="[4]+",
    ),
]
