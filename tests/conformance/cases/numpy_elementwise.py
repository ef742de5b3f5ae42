"""`mindspore.numpy`, element by element: every function of one and of two arrays."""

from ..spec import binary, case, each, many, unary

TYPES = ("bool", "int8", "int32", "int64", "uint8", "uint16", "uint64", "float16", "float32",
         "float64", "complex64")
MIXED = (("float16", "float32"), ("float32", "float64"), ("int32", "float16"), ("int8", "uint8"),
         ("int32", "int64"), ("bool", "int32"), ("uint64", "int64"), ("float32", "bool"),
         ("complex64", "float16"))
ONE = """abs arccos arccosh arcsin arcsinh arctan arctanh bitwise_not cbrt ceil cos cosh deg2rad exp
    exp2 expm1 fabs fix floor invert isfinite isinf isnan isneginf isposinf log log10 log1p log2
    logical_not negative positive rad2deg reciprocal rint sign signbit sin sinh sqrt square tan
    tanh trunc around"""
TWO = """add arctan2 bitwise_and bitwise_or bitwise_xor copysign divide divmod equal float_power
    floor_divide fmod gcd greater greater_equal heaviside hypot isclose lcm less less_equal
    logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum mod multiply not_equal
    power remainder subtract"""
NO_DTYPE = ("fix", "isneginf", "isposinf", "isclose", "around")

CASES = [
    *unary(ONE, TYPES, "mnp.{}(x)", grad=False, graph=False),
    *binary(TWO, TYPES, "mnp.{}(x, y)", grad=False, mixed=MIXED),
]
for name in ONE.split():
    if name not in NO_DTYPE:
        for dtype in ("mnp.float16", "mnp.int32", "mnp.bool_", "'float64'", "'int'", "float",
                      "'uint8'", "'x'", "3"):
            CASES += [case(f"mnp.{name}(x, dtype={dtype})", x="float32[2,3]"),
                      case(f"mnp.{name}(x, {dtype})", x="int32[3]")]
for name in TWO.split():
    if name not in NO_DTYPE:
        for dtype in ("mnp.float16", "mnp.int32", "mnp.bool_", "'float64'", "'x'"):
            CASES += [case(f"mnp.{name}(x, y, dtype={dtype})", x="float32[2,3]", y="float32[3]"),
                      case(f"mnp.{name}(x, y, {dtype})", x="int32[3]", y="int32[1]")]
CASES += many("""
    mnp.around(x, 1)
    mnp.around(x, decimals=-1)
    mnp.around(x, decimals=1.5)
    mnp.around(x, None)
    mnp.clip(x, 0, 1)
    mnp.clip(x, -1, None)
    mnp.clip(x, None, 2)
    mnp.clip(x, None, None)
    mnp.clip(x, 2, 0)
    mnp.clip(x, 0.5, 1.5)
    mnp.clip(x, y, 2)
    mnp.clip(x, y, x)
    mnp.clip(x, [0, 1, 2], 2)
    mnp.clip(x, 0, 2, dtype=mnp.int32)
    mnp.clip(x, 0, 2, 'float16')
    mnp.clip(x, 'a', 2)
    mnp.clip(x, True, False)
    mnp.isclose(x, y, rtol=0.5)
    mnp.isclose(x, y, atol=1)
    mnp.isclose(x, y, 0, 0.5)
    mnp.isclose(x, y, 0.0, 0.5, True)
    mnp.isclose(x, y, 'a')
    mnp.isclose(x, y, equal_nan=1)
""", TYPES, x="[2,3]", y="[3]")
CASES += each("mnp.isclose(x, y, equal_nan=True)", ("float16", "float32", "float64", "int32"),
              x="[16]!", y="[16]!")
CASES += many("""
    mnp.where(c, x, y)
    mnp.where(c, x, 2)
    mnp.where(c, 1.5, x)
    mnp.where(x, y, x)
    mnp.where(c)
    mnp.where(c, x)
    mnp.where(c, True, x)
    mnp.where(c, [1, 2, 3], x)
    mnp.where(True, x, y)
    mnp.where([True, False, True], x, y)
""", TYPES, x="[2,3]", y="[3]", c="bool[2,1]")
CASES += many("""
    mnp.around([1, 2])
    mnp.around([1.25, 2], 1)
    mnp.around(2, 1)
    mnp.rint([1, 2])
    mnp.rint(3)
    mnp.rint(x)
    mnp.floor([1, 2])
    mnp.abs([1, -2])
    mnp.sqrt(4)
    mnp.exp(True)
    mnp.invert([1, 2])
    mnp.sign([-2, 0])
    mnp.square(3)
    mnp.negative([True])
    mnp.mod(7, [2, 3])
    mnp.divmod([7, 8], 2)
    mnp.floor_divide(x, 2)
    mnp.add([1, 2], (3, 4))
    mnp.isclose([1, 2], 1)
    mnp.logical_not(x)
    mnp.gcd(12, [8, 9])
    mnp.hypot(x, x)
    mnp.arctan2(x, 2)
""", ("int8", "int32", "bool"), x="[3]")
