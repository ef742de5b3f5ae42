"""The names of this package; `make stubs` writes this file."""

from lamella.mint import batch_statistics as batch_statistics
from lamella.mint import creation as creation
from lamella.mint import distributed as distributed
from lamella.mint import elementwise as elementwise
from lamella.mint import forms as forms
from lamella.mint import linalg as linalg
from lamella.mint import nn as nn
from lamella.mint import optim as optim
from lamella.mint import random as random
from lamella.mint import reduce as reduce
from lamella.mint import shape as shape
from lamella.mint import special as special
from lamella.mint.batch_statistics import (
    batch_norm_elemt as batch_norm_elemt,
    batch_norm_gather_stats_with_counts as batch_norm_gather_stats_with_counts,
    batch_norm_stats as batch_norm_stats,
)
from lamella.mint.creation import (
    empty as empty, empty_like as empty_like, full as full, linspace as linspace, ones as ones,
    zeros as zeros,
)
from lamella.mint.elementwise import (
    add as add, addcdiv as addcdiv, addcmul as addcmul, allclose as allclose,
    bitwise_not as bitwise_not, cdist as cdist, clamp as clamp, clip as clip, clone as clone,
    div as div, eq as eq, equal as equal, fix as fix, floor_divide as floor_divide,
    fmod as fmod, frac as frac, ge as ge, greater_equal as greater_equal, histc as histc,
    isnan as isnan, item as item, lerp as lerp, less as less, lt as lt, mul as mul,
    npu_gelu as npu_gelu, remainder as remainder, sqrt as sqrt, sub as sub,
    triangular_solve as triangular_solve, vdot as vdot, where as where, xlogy as xlogy,
)
from lamella.mint.nn.functional import conv2d as conv2d, softmax as softmax
from lamella.mint.random import (
    bernoulli as bernoulli, multinomial as multinomial, normal as normal, rand as rand,
    rand_like as rand_like, randint as randint, randint_like as randint_like, randn as randn,
    randn_like as randn_like, randperm as randperm,
)
from lamella.mint.reduce import (
    all as all, amax as amax, amin as amin, any as any, argmin as argmin, argsort as argsort,
    bincount as bincount, count_nonzero as count_nonzero, cummax as cummax, cummin as cummin,
    cumsum as cumsum, kthvalue as kthvalue, max as max, mean as mean, median as median,
    min as min, nansum as nansum, norm as norm, prod as prod, sort as sort, std as std,
    std_mean as std_mean, topk as topk, unique as unique, var as var, var_mean as var_mean,
)
from lamella.mint.shape import (
    addr_ as addr_, baddbmm as baddbmm, bmm as bmm, cat as cat, chunk as chunk,
    concat as concat, conv_tbc as conv_tbc, diag as diag, diff as diff, flatten as flatten,
    gather as gather, index_add as index_add, index_select as index_select,
    meshgrid as meshgrid, mv as mv, narrow as narrow, permute as permute,
    repeat_interleave as repeat_interleave, scatter as scatter, scatter_add as scatter_add,
    select as select, split as split, squeeze as squeeze, stack as stack,
    transpose as transpose,
)
from lamella.ops.activation import sigmoid as sigmoid, tanh as tanh
from lamella.ops.added_products import addbmm as addbmm, addmm as addmm, addmv as addmv
from lamella.ops.arithmetic import (
    abs as abs, float_power as float_power, neg as neg, negative as negative, pow as pow,
    reciprocal as reciprocal, rsqrt as rsqrt, sign as sign, square as square,
)
from lamella.ops.bitwise import (
    bitwise_and as bitwise_and, bitwise_or as bitwise_or, bitwise_xor as bitwise_xor,
)
from lamella.ops.classify import isfinite as isfinite, isinf as isinf, isneginf as isneginf
from lamella.ops.combine import logaddexp as logaddexp, logaddexp2 as logaddexp2
from lamella.ops.compare import (
    greater as greater, gt as gt, isclose as isclose, le as le, less_equal as less_equal,
    logical_and as logical_and, logical_not as logical_not, logical_or as logical_or,
    logical_xor as logical_xor, ne as ne, not_equal as not_equal,
)
from lamella.ops.complex import imag as imag, polar as polar, real as real
from lamella.ops.creation import (
    eye as eye, full_like as full_like, ones_like as ones_like, zeros_like as zeros_like,
)
from lamella.ops.diagonal import tril as tril, triu as triu
from lamella.ops.division import divide as divide, gcd as gcd
from lamella.ops.elementary import (
    ceil as ceil, exp as exp, exp2 as exp2, expm1 as expm1, floor as floor, log as log,
    log10 as log10, log1p as log1p, log2 as log2, nan_to_num as nan_to_num, round as round,
    trunc as trunc,
)
from lamella.ops.extrema import argmax as argmax, maximum as maximum, minimum as minimum
from lamella.ops.gather import take as take
from lamella.ops.join import dstack as dstack, hstack as hstack
from lamella.ops.linalg import inverse as inverse, trace as trace
from lamella.ops.products import (
    cross as cross, dot as dot, einsum as einsum, matmul as matmul, mm as mm, outer as outer,
)
from lamella.ops.ranges import arange as arange
from lamella.ops.rearrange import (
    flip as flip, roll as roll, swapaxes as swapaxes, t as t, tile as tile,
)
from lamella.ops.reduce import logsumexp as logsumexp, sum as sum
from lamella.ops.scan import cumprod as cumprod
from lamella.ops.select import masked_select as masked_select, nonzero as nonzero
from lamella.ops.shape import (
    broadcast_to as broadcast_to, ravel as ravel, reshape as reshape, unsqueeze as unsqueeze,
)
from lamella.ops.sorting import (
    searchsorted as searchsorted, unique_consecutive as unique_consecutive,
)
from lamella.ops.special import erf as erf, erfc as erfc, erfinv as erfinv
from lamella.ops.split import unbind as unbind
from lamella.ops.trigonometry import (
    acos as acos, acosh as acosh, arccos as arccos, arccosh as arccosh, arcsin as arcsin,
    arcsinh as arcsinh, arctan as arctan, arctan2 as arctan2, arctanh as arctanh, asin as asin,
    asinh as asinh, atan as atan, atan2 as atan2, atanh as atanh, cos as cos, cosh as cosh,
    sin as sin, sinc as sinc, sinh as sinh, tan as tan,
)
from lamella.tensors.tensor import Tensor as Tensor
