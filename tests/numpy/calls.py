"""Calls of `mindspore.numpy`, one on each line, evaluated by MindSpore, of NumPy and of Lamella.

A call is an expression over `np` (the module) and `T(data, dtype)` (its arrays). Those written by
hand are in calls.txt.
"""

from pathlib import Path

TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64")

_UNARY = """
    abs absolute arccos arccosh arcsin arcsinh arctan arctanh around cbrt ceil cos cosh deg2rad exp
    exp2 expm1 fabs fix floor isfinite isinf isnan isneginf isposinf log log10 log1p log2
    logical_not negative positive rad2deg radians reciprocal rint sign signbit sin sinh sqrt square
    tan tanh trunc
    amax amin argmax argmin average cumprod cumsum max mean min nancumsum nanmax nanmean nanmin
    nanstd nansum nanvar ptp std sum var sometrue count_nonzero norm
    array asarray asfarray copy diag diff ediff1d ones_like zeros_like empty_like ravel unique tril
    flip ones_like invert bitwise_not polyder polyint vander gradient trapz bincount unwrap size
    argwhere atleast_2d fliplr2 roll2 squeeze expand_dims2 nansum2 cumsum2
    """.split()
_BINARY = """
    add subtract multiply divide true_divide power float_power minimum maximum floor_divide
    remainder mod fmod divmod heaviside hypot arctan2 copysign logaddexp logaddexp2 gcd lcm
    equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
    bitwise_and bitwise_or bitwise_xor isclose matmul dot inner outer kron polyadd polysub polymul
    convolve correlate concatenate2 where2 append in1d isin setdiff1d intersect1d searchsorted
    digitize array_equal array_equiv tensordot1
    """.split()
_SPELT = {
    "fliplr2": "np.fliplr(np.atleast_2d({0}))", "roll2": "np.roll({0}, 1)",
    "expand_dims2": "np.expand_dims({0}, 0)", "nansum2": "np.nansum({0}, 0)",
    "cumsum2": "np.cumsum({0}, 0)", "concatenate2": "np.concatenate(({0}, {1}))",
    "where2": "np.where(T([True, False, True]), {0}, {1})",
    "tensordot1": "np.tensordot({0}, {1}, 1)",
}


def _typed(dtype: str, name: str) -> str:
    values = "[0.5, 1.0, 0.25]" if dtype.startswith("float") else "[1, 0, 3]"
    if name in ("reciprocal",) and dtype == "bool":
        return "T([True, True, True], 'bool')"
    if name in ("arccosh", "log", "log2", "log10", "reciprocal", "floor_divide", "divmod", "mod",
                "remainder", "fmod", "divide", "true_divide", "power", "float_power"):
        values = "[1.5, 2.0, 4.0]" if dtype.startswith("float") else "[1, 2, 3]"
    return f"T({'[True, False, True]' if dtype == 'bool' else values}, '{dtype}')"


def by_type() -> list[str]:
    """Every elementwise function and reduction at every type, and at pairs of types."""
    calls = []
    for name in _UNARY:
        form = _SPELT.get(name, f"np.{name}({{0}})")
        calls += [form.format(_typed(dtype, name)) for dtype in TYPES]
    pairs = [(a, a) for a in TYPES] + [
        ("int32", "float32"), ("uint8", "int8"), ("bool", "int32"), ("int64", "float16"),
        ("float32", "float64"), ("int8", "int32")]
    for name in _BINARY:
        form = _SPELT.get(name, f"np.{name}({{0}}, {{1}})")
        calls += [form.format(_typed(a, name), _typed(b, name)) for a, b in pairs]
    return calls


CALLS = Path(__file__).with_name("calls.txt").read_text().splitlines()


def all_calls() -> list[str]:
    """Every call, each once."""
    return list(dict.fromkeys([*CALLS, *by_type()]))
