"""Calls beside NumPy's: every option, axes of different lengths, values at limits.

Each call is made twice: with NumPy and its arrays, and with `lamella.numpy` and Tensors.
"""

import numpy as onp
import pytest

import lamella as ms
import lamella.numpy as mnp

RNG = onp.random.default_rng(21)
ARRAYS = {
    "x": RNG.standard_normal((2, 3, 4)).astype("float32"),
    "m": RNG.standard_normal((3, 5)).astype("float32"),
    "v": onp.float32([0.5, -1.5, 2.0, 4.0]), "w": onp.float32([1.0, 3.0, -2.0]),
    "i": onp.int32([[5, -2, 7], [0, 3, -4]]), "k": onp.int32([2, 0, 3, 1]),
    "b": onp.array([[True, False, True], [False, False, True]]),
    "holes": onp.float32([[1, onp.nan, 3, -2], [onp.nan, onp.nan, 0, 6]]),
    "q": RNG.standard_normal((4, 4)).astype("float32"), "s": onp.float32(1.5),
    "up": onp.float32([-1, 0, 0.5, 2, 2, 7]),
}

CALLS = [
    # choosing
    "np.where(b, i, 2.5)", "np.take(m, [0, 4, 2], 1)", "np.take(m, [16, 3, -9], mode='wrap')",
    "np.take(m, [16, 3], mode='clip')", "np.take(x, [[1, 0], [3, 2]], -1)",
    "np.take_along_axis(m, np.argmax(m, 1)[:, None], 1)",
    "np.take_along_axis(x, np.array([[[1, 0, 2, 1]], [[0, 0, 1, 2]]]), 1)",
    "np.take_along_axis(m, np.array([7, 0, 14]), None)", "np.argwhere(i)", "np.argwhere(b)",
    "np.select([i > 4, i < 0], [i, -i], 9)", "np.select([i > 4, i > 2], [i * 10, i])",
    "np.select([b, np.logical_not(b)], [i, i - 1])",
    "np.choose(k, [v, v + 1, v + 2, v + 3])", "np.choose(k + 2, [v, v * 2, v * 3], mode='wrap')",
    "np.choose(k - 1, [v, v * 2, v * 3], mode='clip')", "np.choose(1, [v, v * 2])",
    "np.choose(np.array([[1], [0]]), [v, -v])",
    "np.piecewise(v, [v < 0, v >= 2], [-1.0, 1.0])", "np.piecewise(v, [v < 0], [-1.0, 8.0])",
    "np.piecewise(v, [v < 0, v >= 2], [lambda t: -t, lambda t: t * 2, lambda t: t + 100])",
    "np.piecewise(v, [v < 0, v > 3], [lambda t, a: t + a, lambda t, a: t * a], 5)",
    "np.apply_along_axis(lambda t: t[0] - t[-1], 1, x)",
    "np.apply_along_axis(lambda t: t[::-1] * 2, 0, x)",
    "np.apply_along_axis(lambda t: t[:2], -2, x)",
    "np.apply_over_axes(np.sum, x, (0, -1))", "np.apply_over_axes(np.sum, x, 1)",
    "np.unravel_index(k + 5, (3, 4))", "np.unravel_index(k + 5, (3, 4), order='F')",
    "np.unravel_index(np.array(17), (2, 3, 4))",
    "np.unravel_index(np.array([0, 23, 22]), (2, 3, 4), order='F')",
    "np.select([i > 4, i < 0], [i, -i], i * 100)", "np.piecewise(i, [i < 0, i >= 0], [-1, 1])",
    "np.piecewise(v, [True, False, True, False], [1.0, 2.0])",
    "np.ravel_multi_index(((1, 0, 2), (3, 1, 0)), (3, 4))",
    "np.ravel_multi_index(((1, 0, 2), (3, 1, 0)), (3, 4), order='F')",
    "np.ravel_multi_index(((1, 0, 1), (2, 1, 0), (3, 0, 2)), (2, 3, 4), 'clip')",
    "np.ravel_multi_index(((3, -1, 0), (4, 2, -5)), (3, 4), 'clip')",
    "np.ravel_multi_index(((3, -1, 0), (4, 2, -5)), (3, 4), 'wrap', 'F')",
    # pads
    "np.pad(m, 2)", "np.pad(m, (1, 2))", "np.pad(m, ((1, 0), (0, 2)), constant_values=3)",
    "np.pad(m, ((2, 3),), 'constant', constant_values=((1, 2), (3, 4)))",
    "np.pad(m, (1, 2), constant_values=(7, 8))", "np.pad(i, (2,), 'edge')",
    "np.pad(m, ((1, 2), (3, 1)), 'linear_ramp', end_values=((4, 5), (6, -1)))",
    "np.pad(m, 3, 'linear_ramp')", "np.pad(np.array([[2, 4], [4, 8]]), 1, 'mean')",
    "np.pad(i, 2, 'maximum')", "np.pad(i, ((0, 1), (1, 0)), 'linear_ramp')",
    "np.pad(m, ((1, 2), (3, 1)), 'maximum')", "np.pad(m, ((1, 2), (3, 1)), 'minimum')",
    "np.pad(m, ((1, 2), (3, 1)), 'mean')", "np.pad(m, 1, 'mean', stat_length=2)",
    "np.pad(m, 2, 'maximum', stat_length=((1, 2), (3, 1)))",
    "np.pad(m, 2, 'minimum', stat_length=(2, 100))", "np.pad(m, ((5, 4), (7, 9)), 'wrap')",
    "np.pad(m, ((5, 4), (7, 9)), 'reflect')", "np.pad(m, ((5, 4), (7, 9)), 'symmetric')",
    "np.pad(m, ((5, 4), (7, 9)), 'reflect', reflect_type='odd')",
    "np.pad(m, ((5, 4), (7, 9)), 'symmetric', reflect_type='odd')",
    "np.pad(m[:1], ((2, 1), (0, 0)), 'reflect')", "np.pad(x, ((0, 1), (2, 0), (1, 1)), 'edge')",
    # histograms
    "np.histogram(v, 3)", "np.histogram(up, up[:4])", "np.histogram(v, 4, (-1, 2))",
    "np.histogram(m, 5, density=True)", "np.histogram(v, 3, weights=np.array([1., 2., 4., 8.]))",
    "np.histogram(v, [-2.0, 0.5, 2.0, 4.0])", "np.histogram(np.array([2.0, 2.0]), 2)",
    "np.histogram_bin_edges(v, 4)", "np.histogram_bin_edges(v, 4, (1, 1))",
    "np.histogram_bin_edges(v, 2, (0, 3))", "np.histogram_bin_edges(np.zeros(0), 2)",
    "np.histogram2d(v, v[::-1], 3)", "np.histogram2d(v, v * 2, (2, 4), ((-1, 3), (-4, 5)))",
    "np.histogramdd(m.T, (2, 3, 4))[0]", "np.histogramdd(m.T, 3, density=True)",
    "np.histogramdd(m.T, (2, 3, 4), density=True, weights=np.array([1., 2., 3., 4., 5.]))",
    "np.digitize(v, up[:4])", "np.digitize(up, np.array([0.0, 0.5, 2.0]))",
    "np.digitize(up, np.array([0.0, 0.5, 2.0]), True)",
    "np.digitize(up, np.array([2.0, 0.5, 0.0]))", "np.digitize(up, np.array([2.0, .5, 0.0]), True)",
    "np.searchsorted(up, v)", "np.searchsorted(up, up, 'right')", "np.searchsorted(up, up)",
    "np.searchsorted(v, up, sorter=np.array([1, 0, 2, 3]))",
    "np.searchsorted(np.array([1, 3, 3, 9]), k)", "np.searchsorted(np.array([1, 3, 3]), 2.5)",
    "np.bincount(k + 1)", "np.bincount(k, minlength=7)", "np.bincount(k, minlength=2)",
    "np.bincount(k, v, 5)", "np.bincount(np.array([], np.int32))",
    "np.bincount(np.array([], np.int32), minlength=2)", "np.digitize(up, np.array([2.0, 2.0]))",
    "np.digitize(up, np.array([2.0]))", "np.digitize(up, np.array([2.0]), True)",
    "np.digitize(up, np.array([]))", "np.digitize(np.zeros(0), up)", "np.histogram(v, [1.0])",
    "np.searchsorted(np.array([16777216, 16777217]), np.array([16777217]))",
    "np.searchsorted(np.array([1, 2]), np.array([0, 1, 2, 3]), 'right')",
    "np.histogramdd(m.T, np.array([2, 3, 4]))", "np.histogramdd(m.T, [up[:4], 3, v[1:] - 2])",
    "np.histogramdd(m.T, 2, ((-1, 1), None, (0, 0)))",
    "np.histogram(up, np.array([0.0, 1.0, 3.0, 7.0]), density=True)",
    "np.histogram2d(v, v, [[-2.0, 0.0, 5.0], 2])[0]",
    # differences and integrals
    "np.diff(m)", "np.diff(m, 2, 0)", "np.diff(b, axis=0)", "np.diff(i, 0)", "np.diff(m, 4)",
    "np.diff(m, 1, 1, prepend=np.ones((3, 2)))", "np.trapz(m, m * m)", "np.gradient(m, s, s * 2)",
    "np.diff(m, 1, 0, prepend=0, append=np.ones((1, 5)))", "np.ediff1d(i)",
    "np.ediff1d(v, [9, 8], 7)", "np.ediff1d(v, to_begin=[[1, 2]])", "np.trapz(m, axis=0)",
    "np.trapz(v, dx=0.5)", "np.trapz(m, np.array([0., 1., 3.]), axis=0)", "np.trapz(i)",
    "np.trapz(m, np.array([0., 1., 3., 7., 7.5]))", "np.trapz(x, dx=2, axis=1)",
    "np.trapz(m, m * m, axis=0)", "np.trapz(x, x * x, axis=1)", "np.trapz(x, x * x, axis=-3)",
    "np.gradient(m)", "np.gradient(v)", "np.gradient(m, 2.0)", "np.gradient(m, 2.0, 0.5)",
    "np.gradient(x, axis=1)", "np.gradient(x, 3, axis=(0, 2))", "np.gradient(m[:2], axis=0)",
    "np.gradient(i, axis=-1)", "np.unwrap(v * 4)", "np.unwrap(m * 9, axis=0)",
    "np.unwrap(v * 4, 5.0)", "np.unwrap(np.array([0.0, np.pi, 2 * np.pi, 9.0, 20.0]))",
    "np.unwrap(np.array([0.0, 5.0, 9.0]), 5.0)",  # a jump of just what is let through
    "np.interp(v, np.array([-1., 0., 2., 3.]), np.array([5., 1., 7., 2.]))",
    "np.interp(v, np.array([-1., 0., 2., 3.]), np.array([5., 1., 7., 2.]), -9, 9)",
    "np.interp(np.array([1., 2.]), np.array([1., 2.]), np.array([5., 6.]), -9, 9)",
    "np.interp(1.5, [1], [4.0])", "np.interp(i, [-2, 5, 6], [1, 8, 3])",
    # statistics
    "np.average(m, 1)", "np.average(m, weights=np.abs(m))", "np.average(m, 1, np.abs(v[0] + m[0]))",
    "np.average(m, 0, w * w)", "np.average(m, 0, w * w, returned=True)",
    "np.average(m, returned=True)", "np.average(m, 1, returned=True)", "np.cov(m)", "np.cov(v)",
    "np.cov(m, rowvar=False)", "np.cov(m, bias=True)", "np.cov(m, ddof=2)", "np.cov(m, m * 2)",
    "np.cov(m, ddof=0)", "np.cov(m, fweights=np.array([1, 2, 1, 3, 1]))",
    "np.cov(m, aweights=np.array([1, 2, 1, 3, 1]))", "np.cov(v, v[::-1])",
    "np.cov(m, fweights=np.array([1, 2, 1, 3, 1]), aweights=np.array([2, 1, 1, 3, 5]))",
    "np.cov(m, aweights=np.array([1, 2, 1, 3, 1]), bias=True)",
    "np.cov(m, aweights=np.array([1, 2, 1, 3, 1]), ddof=2)", "np.corrcoef(m)",
    "np.corrcoef(m, rowvar=False)", "np.corrcoef(m, m[::-1])", "np.corrcoef(v)",
    # polynomials
    "np.polyadd(v, w)", "np.polyadd(w, v)", "np.polysub(v, w)", "np.polysub(w, [1, 2, 3, 4, 5])",
    "np.polymul(v, w)", "np.polyval(v, w)", "np.polyval(v, m)", "np.polyval([2, 3], i)",
    "np.polyder(v)", "np.polyder(v, 2)", "np.polyder(v, 0)", "np.polyder(v, 3)", "np.polyint(v)",
    "np.polyint(v, 2)", "np.polyint(v, 2, [3, 4])", "np.polyint(v, 3, 5)", "np.polyint(v, 0)",
    # sets
    "np.in1d(v, [2, 4])", "np.in1d(v, [2, 4], invert=True)",
    "np.isin(i, [[3, 7]])", "np.isin(i, [3, 7], invert=True)", "np.isin(b, [True])",
    "np.setdiff1d(i, [5, 0])", "np.setdiff1d(i % 3, [1])", "np.intersect1d(i, [7, 5, 5, 1])",
    "np.intersect1d([3, 1, 9, 4], [4, 9, 3, 8], return_indices=True)",
    # grids
    "np.meshgrid(v, w)", "np.meshgrid(v, w, indexing='ij')", "np.meshgrid(v, w, k, sparse=True)",
    "np.meshgrid(v, w, [1, 2])", "np.meshgrid(v, w, [1, 2], indexing='ij')", "np.meshgrid(v)",
    "np.mgrid[1:4, 2:8:3]", "np.mgrid[1:4:5j]", "np.mgrid[2:7]", "np.ogrid[1:4, 2:8:3]",
    "np.mgrid[0:1:3j, 4:0:-2]", "np.indices((2, 3, 4))", "np.ix_([1, 2], [0, 3, 5], [7])",
    *(f"np.{name}({n})" for name in ("bartlett", "blackman", "hamming", "hanning")
      for n in (-1, 0, 1, 2, 3, 8)), "np.ogrid[1:4]", "np.ogrid[1:4:3j, 2:5]", "np.mgrid[5:1:-2]",
    # making
    "np.arange(3)", "np.arange(2, 9, 3)", "np.arange(2, 8, 3)", "np.arange(5, 0, -2)",
    "np.arange(0.5, 2.0, 0.25)", "np.arange(1, 2, 0.3)", "np.linspace(1, 4, 5)",
    "np.linspace(1, 4, 5, endpoint=False)", "np.linspace(1, 4, 5, retstep=True)",
    "np.linspace(1, 4, 5, False, True)", "np.linspace(v, 2 * v, 3)", "np.linspace(3, 7, 1)",
    "np.linspace(v, 2 * v[:, None], 3, axis=1)", "np.linspace(v, 9, 3, axis=-1)",
    "np.linspace(0, 9)", "np.logspace(0, 2, 5)", "np.logspace(0, 2, 4, False, 2)",
    "np.logspace([0, 1], [2, 3], 4, axis=1)", "np.geomspace(1, 64, 4)",
    "np.geomspace(1, 64, 4, False)", "np.geomspace([1, 2], [8, 54], 4, axis=1)",
    "np.geomspace(3, 7, 1)", "np.geomspace([[1, 2]], [[8, 54]], 4)", "np.eye(3)", "np.eye(3, 5)",
    "np.eye(4, 3, 1)", "np.eye(3, 4, -2)", "np.identity(3)", "np.full((2, 3), [1, 2, 3])",
    "np.full_like(m, 3)", "np.ones_like(i)", "np.zeros_like(b)", "np.array([1, 2], ndmin=3)",
    "np.array([[1, 2]], ndmin=1)", "np.tri(3)", "np.tri(3, 5, 1)", "np.tri(4, 3, -1)",
    # products
    "np.dot(m, m.T)", "np.dot(x, m[:2, :4].T)", "np.dot(x, x[:, ::-1].swapaxes(1, 2))",
    "np.dot(s, m)", "np.dot(m, s)", "np.dot(v, q)", "np.dot(q, v)", "np.inner(x, x[0])",
    "np.inner(m, s)", "np.inner(v, v)", "np.outer(m, v)", "np.tensordot(x, x, 3)",
    "np.tensordot(x, m, ((1,), (0,)))", "np.tensordot(v, w, 0)", "np.kron(m, i)", "np.kron(v, m)",
    "np.cross(m[:, :3], w)", "np.cross(m[:, :2], m[:, 2:4])", "np.cross(m[:, :2], w)",
    "np.cross(w, m[:, 3:])", "np.cross(m, m[::-1], axis=0)", "np.cross(m, m[::-1], 0, 0, 0)",
    "np.cross(m, m[:, :3][0], axisa=0)", "np.cross(w, m, axisb=0)",
    "np.cross(x[:, :, :2], x[:, :, 1:], axisc=1)",
    "np.convolve(v, w)", "np.convolve(w, v, 'same')", "np.convolve(v, w, 'valid')",
    "np.convolve(v, k[:2], 'same')", "np.correlate(v, w)", "np.correlate(w, v, 'full')",
    "np.correlate(v, w, 'same')", "np.correlate(w, v, 'same')", "np.correlate(w, v)",
    "np.convolve(3, v)", "np.matmul(x, x.swapaxes(1, 2))",
    # shapes
    "np.expand_dims(m, (0, -1))", "np.expand_dims(m, -1)", "np.expand_dims(m, [3, 1])",
    "np.transpose(x)", "np.transpose(x, (1, 2, 0))", "np.swapaxes(x, 0, 2)",
    "np.moveaxis(x, 0, -1)", "np.moveaxis(x, (0, 1), (-1, 0))", "np.rollaxis(x, 2)",
    "np.rollaxis(x, 0, 2)", "np.rollaxis(x, 0, 3)", "np.rollaxis(x, 1, -1)", "np.rollaxis(x, 2, 1)",
    "np.rollaxis(x, 1, 1)", "np.rollaxis(x, -1, -3)", "np.flip(x)", "np.flip(x, 1)",
    "np.flip(x, (0, -1))", "np.flipud(m)", "np.fliplr(x)", "np.rot90(m)", "np.rot90(x, 3, (2, 1))",
    "np.rot90(x, -1, (0, 2))", "np.roll(m, 2)", "np.roll(m, -1, 0)", "np.roll(m, (1, 2), (0, 1))",
    "np.roll(x, 1, (0, 2))", "np.roll(x, (1, 2), 2)", "np.tile(m, 2)", "np.tile(v, (2, 3))",
    "np.tile(x, (2, 1))", "np.repeat(m, 2)", "np.repeat(m, 2, 1)", "np.repeat(m, [1, 0, 2], 0)",
    "np.repeat(m, (3,), 1)", "np.atleast_1d(s)", "np.atleast_1d(s, v)", "np.atleast_2d(v)",
    "np.atleast_2d(s, x)", "np.atleast_3d(s)", "np.atleast_3d(v)", "np.atleast_3d(m)",
    "np.atleast_3d(x, v)", "np.size(x)", "np.size(x, 1)", "np.size(x, -1)",
    "np.broadcast_arrays(v, m[:, :1])", "np.broadcast_to(v, (2, 3, 4))", "np.squeeze(m[:1])",
    # matrices
    "np.diag(v)", "np.diag(v, 2)", "np.diag(v, -1)", "np.diag(m)", "np.diag(m, 1)",
    "np.diag(m, -2)", "np.diagflat(i, 1)", "np.diagonal(x)", "np.diagonal(x, 1, 1, 2)",
    "np.trace(m)", "np.trace(x, -1, 0, 2)", "np.trace(x, 1, 1, 2)", "np.tril(m)", "np.tril(m, 1)",
    "np.tril(x, -1)", "np.triu(m)", "np.triu(m, 2)", "np.triu(m, -1)", "np.tril(v)", "np.triu(v)",
    "np.diag_indices(3)", "np.diag_indices(2, 3)", "np.tril_indices(3)", "np.tril_indices(3, 1)",
    "np.tril_indices(3, -1, 5)", "np.triu_indices(3)", "np.triu_indices(3, 1, 5)",
    "np.triu_indices(4, -1, 3)", "np.tril_indices_from(m, 1)", "np.triu_indices_from(m, 2)",
    "np.vander(v)", "np.vander(v, 2)", "np.vander(v, 6, True)", "np.vander(k, increasing=True)",
    # reductions
    "np.amax(x, (0, -1))", "np.amax(m, 0, keepdims=True)", "np.amax(m, 1, initial=0.5)",
    "np.amin(m, 1, initial=0.0)", "np.amax(m, 0, initial=-1, where=m < 0.5)", "np.ptp(m)",
    "np.amin(m, 1, initial=1, where=m > 0.5)", "np.ptp(m, 0)", "np.ptp(x, 1, keepdims=True)",
    "np.argmax(m)", "np.argmax(m, 0)", "np.argmin(m, 1)", "np.argmin(m)", "np.argmax(b, 1)",
    "np.argmin(b, 0)", "np.sum(x, (0, 2))", "np.sum(m, 0, keepdims=True)", "np.sum(m, initial=4)",
    "np.mean(x, (0, 2))", "np.std(m, 0)", "np.std(m, 0, ddof=1)", "np.std(i, 1)",
    "np.var(m, 1, ddof=2)", "np.var(m, keepdims=True)", "np.var(i)", "np.count_nonzero(i, 0)",
    "np.count_nonzero(i)", "np.cumsum(m)", "np.cumsum(m, 0)", "np.cumsum(i, 1)", "np.cumsum(b, 0)",
    "np.cumprod(m)", "np.cumprod(m, 1)", "np.cumprod(i, 0)", "np.cumprod(b)",
    *(f"np.nan{name}(holes{axis})" for name in ("sum", "max", "min", "mean", "var", "std")
      for axis in ("", ", 0", ", 1", ", 1, keepdims=True")),
    "np.nanvar(holes, 1, ddof=1)", "np.nanstd(holes, 1, ddof=1)", "np.nancumsum(holes)",
    "np.nancumsum(holes, 1)", "np.nanmax(i, 1)", "np.nansum(i, 0)",
    "np.nanmean(i, 0)",
    # elements
    "np.exp2(v)", "np.ceil(v)", "np.logaddexp2(v, 1)", "np.fix(v)", "np.trunc(v)",
    "np.around(v * 1.37, 1)", "np.around(v * 1.37, 2)", "np.around(i, 1)", "np.deg2rad(v)",
    "np.rad2deg(v)", "np.arctan2(v, k)", "np.signbit(v)", "np.signbit(i)", "np.isposinf(1 / holes)",
    "np.isneginf(-1 / holes)", "np.isclose(v, v + 1e-4)", "np.isclose(v, v + 1e-4, atol=1e-3)",
    "np.isclose(v, v * 1.01, 0.02)", "np.isclose(holes, holes)",
    "np.isclose(holes, holes, equal_nan=True)", "np.array_equal(v, v)", "np.array_equal(v, v + 0)",
    "np.array_equal(v, v * 2)", "np.array_equal(v, v[:3])", "np.array_equal(holes, holes)",
    "np.array_equal(holes, holes, True)", "np.array_equal(v, holes[0], True)",
    "np.array_equiv(v, [v, v])", "np.array_equiv(v, v[:2])", "np.array_equiv(m, m[0])",
    "np.array_equiv(v, v[:1])", "np.logical_not(i)", "np.isscalar(3)", "np.isscalar('a')",
    "np.isscalar([3])", "np.isscalar(True)",
]
NEW_NAMES = {"np.trapz": "np.trapezoid", "np.in1d": "np.isin"}  # in NumPy 2


def leaves(value):
    """The arrays of a result, in order."""
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    return [value.asnumpy() if isinstance(value, ms.Tensor) else onp.asarray(value)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of what has no number
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("call", CALLS)
def test_call(call):
    name = call.partition("(")[0]
    theirs = call if hasattr(onp, name[3:]) else call.replace(name, NEW_NAMES.get(name, name))
    want = leaves(eval(theirs, {"np": onp, **ARRAYS}))
    got = leaves(eval(call, {"np": mnp, **{k: ms.Tensor(a) for k, a in ARRAYS.items()}}))
    if len(got) > 1 and len(want) == 1:  # NumPy stacks what is a list here
        want = list(want[0])
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        assert one.shape == other.shape
        onp.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["searchsorted", "digitize"])
def test_positions_are_int32(name):
    assert getattr(mnp, name)(ms.Tensor([1.0, 2.0]), ms.Tensor([1.5, 3.0])).dtype is ms.int32


@pytest.mark.parametrize("call", [
    lambda x: mnp.dot(x, x), lambda x: mnp.inner(x, x[:, :2]), lambda x: mnp.dot(x, x[0, :2])])
def test_sums_over_axes_of_other_lengths(call):
    with pytest.raises(ValueError, match="must have one length"):
        call(ms.ops.ones((3, 4)))


@pytest.mark.parametrize("call", [
    "np.gradient(d)", "np.unwrap(d * 9)", "np.pad(d, 3, 'linear_ramp')", "np.pad(d, 2, 'mean')",
    "np.interp(d, e, d)", "np.trapz(d, dx=0.5)", "np.trapz(d, e)", "np.cumsum(d)", "np.std(d)",
    "np.polyval(d, d)", "np.convolve(d, d)"])
def test_numbers_of_64_bits_keep_them(call):
    d, e = onp.array([1 / 3, 1.7, -0.9, 2 / 7]), onp.array([-1, 0.1, 1.3, 2])
    name = call.partition("(")[0]
    theirs = call if hasattr(onp, name[3:]) else call.replace(name, NEW_NAMES.get(name, name))
    want = eval(theirs, {"np": onp, "d": d, "e": e})
    found = eval(call, {"np": mnp, "d": ms.Tensor(d), "e": ms.Tensor(e)})
    onp.testing.assert_allclose(found.asnumpy(), want, rtol=1e-13)
