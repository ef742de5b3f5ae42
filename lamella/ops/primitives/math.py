"""Primitive classes of elementwise mathematics."""

from __future__ import annotations

from typing import Any

import torch

from ...core.errors import op
from ...core.tape import TapeFunction
from ...tensors.kernels import lowest, trunc_remainder
from ...tensors.tensor import Tensor, wrap
from .. import (
    arithmetic,
    bessel,
    bitwise,
    classify,
    combine,
    compare,
    division,
    elementary,
    extrema,
    special,
    trigonometry,
)
from .. import complex as complex_numbers
from ..operands import both, sides
from ..primitive import primitive
from .attributes import with_attributes

__all__ = [
    "ACos", "Abs", "AccumulateNV2", "Acosh", "Add", "AddN", "Addcdiv", "Addcmul", "Angle",
    "ApproximateEqual", "Asin", "Asinh", "Atan", "Atan2", "Atanh", "BesselI0", "BesselI0e",
    "BesselI1", "BesselI1e", "BesselJ0", "BesselJ1", "BesselK0", "BesselK0e", "BesselK1",
    "BesselK1e", "BesselY0", "BesselY1", "Betainc", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Ceil",
    "CompareAndBitpack", "Complex", "ComplexAbs", "Conj", "Cos", "Cosh", "Digamma", "Div",
    "DivNoNan", "Eps", "Equal", "EqualCount", "Erf", "Erfc", "Erfinv", "Exp", "Expm1",
    "FloatStatus", "Floor", "FloorDiv", "FloorMod", "Fmax", "Fmin", "Gcd", "Greater",
    "GreaterEqual", "Heaviside", "Hypot", "Igamma", "Igammac", "Imag", "Inv", "Invert", "IsClose",
    "IsFinite", "IsInf", "IsNan", "Lcm", "LeftShift", "Lerp", "LerpScalar", "Less", "LessEqual",
    "Lgamma", "Log", "Log1p", "LogicalAnd", "LogicalNot", "LogicalOr", "LogicalXor", "Logit",
    "Maximum", "Minimum", "Mod", "Mul", "MulNoNan", "Mvlgamma", "NanToNum", "Neg", "NextAfter",
    "NotEqual", "Polar", "Polygamma", "PopulationCount", "Pow", "Real", "RealDiv", "Reciprocal",
    "RightShift", "Rint", "Round", "Rsqrt", "Sign", "Sin", "Sinc", "Sinh", "Sqrt", "Square",
    "SquaredDifference", "Sub", "Tan", "TensorAdd", "Trunc", "TruncateDiv", "TruncateMod", "Xdivy",
    "Xlogy", "Zeta",
]


class _MulNoNan(TapeFunction):
    """The product that is 0 where the second factor is 0, with gradients under the same rule."""

    generate_vmap_rule = True

    @staticmethod
    def forward(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return torch.where(b == 0, 0, a * b)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:  # type: ignore[override]
        a, b = ctx.saved_tensors
        return ((_MulNoNan.apply(grad, b)).sum_to_size(a.shape),
                (_MulNoNan.apply(a, grad)).sum_to_size(b.shape))


@op
def div_no_nan(x1: Any, x2: Any) -> Tensor:
    """`x1` / `x2`, and 0 where `x2` is 0."""
    a, b = both(x1, x2)
    return wrap(torch.where(b == 0, 0, a / torch.where(b == 0, 1, b)))


@op
def mul_no_nan(x: Any, y: Any) -> Tensor:
    """`x` * `y`, and 0 where `y` is 0, even if `x` is infinite or nan."""
    a, b = both(x, y)
    return wrap(_MulNoNan.apply(a, b))


@op
def squared_difference(x: Any, y: Any) -> Tensor:
    """(`x` - `y`)^2; of complex numbers the product with the conjugate."""
    a, b = both(x, y)
    gap = a - b
    return wrap(gap * gap.conj() if gap.is_complex() else torch.square(gap))


@op
def equal_count(x: Tensor, y: Tensor) -> Tensor:
    """How many elements of two tensors are equal, as one element in their type."""
    return wrap((x._raw == y._raw).sum().reshape(1).to(x._raw.dtype))


@op
def truncated_mod(x: Any, y: Any) -> Tensor:
    """What division rounded towards 0 leaves; of integers by 0 what the processor makes."""
    return wrap(trunc_remainder(*sides(x, y), lowest))


@op
def complex_abs(x: Tensor) -> Tensor:
    """The magnitude of complex numbers, as real ones."""
    return wrap(torch.abs(x._raw))


@op
def make_complex(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers from their parts."""
    return wrap(torch.complex(real._raw, imag._raw))


@op
def rounded(input: Tensor, decimals: int = 0) -> Tensor:
    """`ops.round`, with the number of decimals by position."""
    return elementary.round(input, decimals=decimals)


@op
def rint(input_x: Tensor) -> Tensor:
    """The nearest integer, of two the even one."""
    return elementary.round(input_x)


@op
def logit(x: Tensor, *, eps: float) -> Tensor:
    """The inverse of the sigmoid; `eps` below 0 clamps nothing."""
    return elementary.logit(x, None if eps < 0 else eps)


@op
def float_status(x: Tensor) -> Tensor:
    """1 if any element is infinite or nan, else 0, as one element of float32."""
    return wrap(torch.isfinite(x._raw).all().logical_not().float().reshape(1))


ACos = primitive("ACos", trigonometry.acos)
Abs = primitive("Abs", arithmetic.abs)
AccumulateNV2 = primitive("AccumulateNV2", combine.addn)
Acosh = primitive("Acosh", trigonometry.acosh)
Add = primitive("Add", arithmetic.add)
AddN = primitive("AddN", combine.addn)
Addcdiv = primitive("Addcdiv", combine.addcdiv)
Addcmul = primitive("Addcmul", combine.addcmul)
Angle = primitive("Angle", complex_numbers.angle)
Asin = primitive("Asin", trigonometry.asin)
Asinh = primitive("Asinh", trigonometry.asinh)
Atan = primitive("Atan", trigonometry.atan)
Atan2 = primitive("Atan2", trigonometry.atan2)
Atanh = primitive("Atanh", trigonometry.atanh)
BesselI0 = primitive("BesselI0", bessel.bessel_i0)
BesselI0e = primitive("BesselI0e", bessel.bessel_i0e)
BesselI1 = primitive("BesselI1", bessel.bessel_i1)
BesselI1e = primitive("BesselI1e", bessel.bessel_i1e)
BesselJ0 = primitive("BesselJ0", bessel.bessel_j0)
BesselJ1 = primitive("BesselJ1", bessel.bessel_j1)
BesselK0 = primitive("BesselK0", bessel.bessel_k0)
BesselK0e = primitive("BesselK0e", bessel.bessel_k0e)
BesselK1 = primitive("BesselK1", bessel.bessel_k1)
BesselK1e = primitive("BesselK1e", bessel.bessel_k1e)
BesselY0 = primitive("BesselY0", bessel.bessel_y0)
BesselY1 = primitive("BesselY1", bessel.bessel_y1)
Betainc = primitive("Betainc", special.betainc)
BitwiseAnd = primitive("BitwiseAnd", bitwise.bitwise_and)
BitwiseOr = primitive("BitwiseOr", bitwise.bitwise_or)
BitwiseXor = primitive("BitwiseXor", bitwise.bitwise_xor)
Ceil = primitive("Ceil", elementary.ceil)
ComplexAbs = primitive("ComplexAbs", complex_abs)
Conj = primitive("Conj", complex_numbers.conj)
Cos = primitive("Cos", trigonometry.cos)
Cosh = primitive("Cosh", trigonometry.cosh)
Digamma = primitive("Digamma", special.digamma)
Div = primitive("Div", division.div)
Eps = primitive("Eps", elementary.eps)
Equal = primitive("Equal", compare.equal)
Erf = primitive("Erf", special.erf)
Erfc = primitive("Erfc", special.erfc)
Erfinv = primitive("Erfinv", special.erfinv)
Exp = primitive("Exp", elementary.exp)
Expm1 = primitive("Expm1", elementary.expm1)
Floor = primitive("Floor", elementary.floor)
FloorDiv = primitive("FloorDiv", division.floor_divide)
FloorMod = primitive("FloorMod", division.floor_mod)
Fmax = primitive("Fmax", extrema.fmax)
Fmin = primitive("Fmin", extrema.fmin)
Gcd = primitive("Gcd", division.gcd)
Greater = primitive("Greater", compare.greater)
GreaterEqual = primitive("GreaterEqual", compare.greater_equal)
Heaviside = primitive("Heaviside", combine.heaviside)
Hypot = primitive("Hypot", combine.hypot)
Igamma = primitive("Igamma", special.igamma)
Igammac = primitive("Igammac", special.igammac)
Imag = primitive("Imag", complex_numbers.imag)
Inv = primitive("Inv", arithmetic.inv)
Invert = primitive("Invert", bitwise.invert)
IsFinite = primitive("IsFinite", classify.isfinite)
IsInf = primitive("IsInf", classify.isinf)
IsNan = primitive("IsNan", classify.isnan)
Lcm = primitive("Lcm", division.lcm)
LeftShift = primitive("LeftShift", bitwise.bitwise_left_shift)
Lerp = primitive("Lerp", combine.lerp)
Less = primitive("Less", compare.less)
LessEqual = primitive("LessEqual", compare.less_equal)
Lgamma = primitive("Lgamma", special.lgamma)
Log = primitive("Log", elementary.log)
Log1p = primitive("Log1p", elementary.log1p)
LogicalAnd = primitive("LogicalAnd", compare.logical_and)
LogicalNot = primitive("LogicalNot", compare.logical_not)
LogicalOr = primitive("LogicalOr", compare.logical_or)
LogicalXor = primitive("LogicalXor", compare.logical_xor)
Maximum = primitive("Maximum", extrema.maximum)
Minimum = primitive("Minimum", extrema.minimum)
Mod = primitive("Mod", truncated_mod)
Mul = primitive("Mul", arithmetic.mul)
Neg = primitive("Neg", arithmetic.neg)
NextAfter = primitive("NextAfter", combine.nextafter)
NotEqual = primitive("NotEqual", compare.not_equal)
Polar = primitive("Polar", complex_numbers.polar)
Polygamma = primitive("Polygamma", special.polygamma)
PopulationCount = primitive("PopulationCount", bitwise.population_count)
Pow = primitive("Pow", arithmetic.pow)
Real = primitive("Real", complex_numbers.real)
RealDiv = primitive("RealDiv", division.tensor_div)
Reciprocal = primitive("Reciprocal", arithmetic.reciprocal)
RightShift = primitive("RightShift", bitwise.bitwise_right_shift)
Round = primitive("Round", rounded)
Rsqrt = primitive("Rsqrt", arithmetic.rsqrt)
Sign = primitive("Sign", arithmetic.sign)
Sin = primitive("Sin", trigonometry.sin)
Sinc = primitive("Sinc", trigonometry.sinc)
Sinh = primitive("Sinh", trigonometry.sinh)
Sqrt = primitive("Sqrt", arithmetic.sqrt)
Square = primitive("Square", arithmetic.square)
Sub = primitive("Sub", arithmetic.sub)
Tan = primitive("Tan", trigonometry.tan)
Trunc = primitive("Trunc", elementary.trunc)
TruncateDiv = primitive("TruncateDiv", division.truncate_div)
TruncateMod = primitive("TruncateMod", division.truncate_mod)
Xdivy = primitive("Xdivy", division.xdivy)
Xlogy = primitive("Xlogy", combine.xlogy)
Zeta = primitive("Zeta", special.zeta)
DivNoNan = primitive("DivNoNan", div_no_nan)
MulNoNan = primitive("MulNoNan", mul_no_nan)
SquaredDifference = primitive("SquaredDifference", squared_difference)
EqualCount = primitive("EqualCount", equal_count)
Complex = primitive("Complex", make_complex)
Rint = primitive("Rint", rint)
FloatStatus = primitive("FloatStatus", float_status)
TensorAdd = Add
Logit = with_attributes("Logit", logit, eps=-1.0)
Mvlgamma = with_attributes("Mvlgamma", special.mvlgamma, "p")
ApproximateEqual = with_attributes("ApproximateEqual", compare.approximate_equal, tolerance=1e-5)
IsClose = with_attributes("IsClose", compare.isclose, rtol=1e-5, atol=1e-8, equal_nan=False)
NanToNum = with_attributes("NanToNum", elementary.nan_to_num, nan=None, posinf=None, neginf=None)


@op
def compare_and_bitpack(x: Tensor, threshold: Tensor) -> Tensor:
    """Which elements are above a threshold: a bit each, the first the highest, 8 a byte."""
    raw = x._raw
    if raw.dim() == 0 or raw.shape[-1] % 8:
        raise ValueError(f"For 'CompareAndBitpack', the last dimension must be a multiple of 8, "
                         f"but got shape {x.shape}.")
    bits = (raw > threshold._raw).unflatten(-1, (-1, 8))
    weights = 1 << torch.arange(7, -1, -1, device=raw.device)
    return wrap((bits * weights).sum(-1).to(torch.uint8))


CompareAndBitpack = primitive("CompareAndBitpack", compare_and_bitpack)
LerpScalar = primitive("LerpScalar", combine.lerp)
