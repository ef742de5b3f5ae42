"""Bad input: no crash, no silent wrong number, and an error that names the function.

Every function of the mathematics families is called with arguments of wrong types; the rest are
cases that once crashed the process, gave wrong numbers, or raised another library's message.
"""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

FAMILIES = ("arithmetic elementary trigonometry special compare classify bitwise reduce extrema "
            "norm scan linalg products decomposition fourier clip combine division complex bessel"
            ).split()
LEAST = -2**63
BAD = [None, "abc", {}, object(), Tensor, (None,), ms.float32]


def f32(values: Any) -> Tensor:
    return Tensor(np.asarray(values, dtype=np.float32))


def calls() -> Iterator[tuple[str, Any, list[str]]]:
    for family in FAMILIES:
        module = importlib.import_module(f"lamella.ops.{family}")
        for name in module.__all__:
            function = getattr(module, name)
            required = [p.name for p in inspect.signature(function).parameters.values()
                        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
            if required:
                yield name, function, required


@pytest.mark.parametrize(("name", "function", "required"), [pytest.param(*c, id=c[0])
                                                            for c in calls()])
def test_wrong_types_are_named(name: str, function: Any, required: list[str]) -> None:
    for bad in BAD:
        for place in range(len(required)):
            if bad is None and required[place] == "dim":
                continue  # all of them
            args = [bad if i == place else f32(np.eye(3)) for i in range(len(required))]
            try:
                function(*args)
            except (TypeError, ValueError) as error:
                assert str(error).startswith("For '"), (bad, error)
                assert "_raw" not in str(error)
            else:
                pytest.fail(f"{name} took {bad!r} for {required[place]!r}")


FLAGS = [(ops.max, "keepdims"), (ops.min, "keepdims"), (ops.argmax, "keepdim"),
         (ops.argmin, "keepdims"), (ops.prod, "keep_dims"), (ops.sum, "keepdim"),
         (ops.mean, "keep_dims"), (ops.all, "keep_dims"), (ops.amax, "keepdims")]


@pytest.mark.parametrize(("function", "name"), FLAGS)
@pytest.mark.parametrize("value", [None, 1, "yes", Tensor([True])])
def test_flags_are_bools(function: Any, name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"For '{function.__name__}'"):
        function(f32(np.eye(3)), **{name: value})


REDUCTIONS = [ops.sum, ops.mean, ops.prod, ops.all, ops.any, ops.max, ops.argmax, ops.amax,
              ops.var, ops.std, ops.cumsum, ops.logsumexp, ops.median, ops.count_nonzero]


@pytest.mark.parametrize("function", REDUCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [ms.float32, ms.int32])
def test_axes_out_of_range(function: Any, dtype: Any) -> None:
    x = Tensor(np.ones((2, 3)), dtype)
    for axis in (2, -3, 2**40):
        with pytest.raises(ValueError, match=f"For '{function.__name__}'.*{axis}"):
            function(x, axis)
    for axis in (True, 0.5, "0"):
        with pytest.raises(TypeError, match=f"For '{function.__name__}'"):
            function(x, axis)


@pytest.mark.parametrize("function", [ops.sum, ops.mean, ops.prod, ops.all, ops.amax, ops.var],
                         ids=lambda f: f.__name__)
def test_axes_in_tuples(function: Any) -> None:
    x = f32(np.ones((2, 3)))
    for axes in ((0, 5), (0, -3)):
        with pytest.raises(ValueError, match=f"For '{function.__name__}'"):
            function(x, axes)
    for axes in ((0, 0), (1, -1)):  # as MindSpore says it
        kind = ValueError if function is ops.var else RuntimeError
        with pytest.raises(kind, match=f"For '{function.__name__}'"):
            function(x, axes)


ERRORS = [
    # these crashed the process
    (lambda: ops.Eig()(f32(np.full((3, 3), np.nan))), ValueError, "For 'eigvals'.*NaN"),
    (lambda: ops.lu_unpack(f32(np.eye(3)), Tensor(np.zeros(0, int))), ValueError,
     r"For 'lu_unpack', 'LU_pivots'.*\(0,\)"),
    (lambda: ops.lu_unpack(f32(np.ones((2, 3, 3))), Tensor(np.ones((5, 3), int))), ValueError,
     r"For 'lu_unpack', 'LU_pivots'.*\(5, 3\)"),
    (lambda: ops.eigvals(f32(np.full((3, 3), np.nan))), ValueError, "For 'eigvals'.*NaN"),
    (lambda: ops.eigvals(f32(np.full((3, 3), np.inf))), ValueError, "For 'eigvals'.*NaN"),
    (lambda: ops.eigvals(f32([[1, np.nan], [0, 1]])), ValueError, "For 'eigvals'.*NaN"),
    (lambda: ops.eig(Tensor(np.eye(2), ms.float16)), TypeError, "For 'eig', 'A'.*Float16"),
    (lambda: ops.lstsq(f32(np.full((3, 3), np.nan)), f32(np.ones((3, 1)))), ValueError,
     "For 'lstsq'.*finite"),
    (lambda: ops.matrix_solve(f32(np.zeros((2, 2))), f32(np.ones((2, 1)))), ValueError,
     "For 'matrix_solve', 'matrix' must be invertible"),
    (lambda: ops.lu_solve(f32([[1], [2]]), f32(np.eye(2)), Tensor([99, -5])), ValueError,
     "For 'lu_solve'"),
    (lambda: ops.bincount(Tensor([-1])), ValueError, "For 'bincount'.*non-negative"),
    (lambda: ops.bincount(Tensor([1]), Tensor([1j], ms.complex64)), TypeError, "'weights'.*real"),
    (lambda: ops.histc(f32([1, 2]), 4, float("nan"), 1.0), ValueError, "For 'histc'.*finite"),
    (lambda: ops.einsum("ij,jk->il", f32(np.eye(2)), f32(np.eye(2))), ValueError, "For 'einsum'"),
    (lambda: ops.matmul(Tensor(1), Tensor(2)), ValueError, "For 'matmul'.*rank 1"),
    (lambda: ops.renorm(f32(np.eye(3)), 0, 0, 1.0), ValueError, "For 'renorm'"),
    (lambda: ops.diff(f32([1.0]), n=-1), ValueError, "For 'diff'.*-1"),
    (lambda: ops.std(f32([1, 2]), ddof=0.5), TypeError, "For 'std', 'ddof' must be an int"),
    (lambda: ops.sum(f32([1]), dtype=Tensor([1])), TypeError, "For 'sum', the data type"),
    (lambda: ops.round(f32([1.25]), decimals=2**70), ValueError, "For 'round'.*too large"),
    (lambda: ops.clip_by_norm(f32([1]), np.ones(3)), TypeError, "For 'clip_by_norm', 'max_norm'"),
    (lambda: ops.lerp(f32([1]), f32([2]), Tensor([1j], ms.complex64)), TypeError, "'weight'.*real"),
    (lambda: ops.sparse_segment_mean(f32(np.eye(2)), Tensor([0]), Tensor([-3])), ValueError,
     "For 'sparse_segment_mean', 'segment_ids'"),
    (lambda: ops.sparse_segment_mean(f32(np.eye(2)), Tensor([9]), Tensor([0])), RuntimeError,
     "For 'sparse_segment_mean'.*9"),
    (lambda: ops.fft(f32([1]), -1), ValueError, "For 'fft'.*data points"),
    (lambda: ops.fft(f32([1]), norm="abc"), ValueError, "For 'fft'.*mode"),
    (lambda: ops.eigvals(Tensor([[1]])), TypeError, "For 'eigvals'"),
    (lambda: ops.outer(Tensor(1), Tensor([1])), ValueError, "For 'outer'"),
    (lambda: ops.cond(f32(np.eye(2)), "abc"), ValueError, "For 'cond'.*abc"),
    (lambda: ops.batch_dot(f32(1), f32(np.eye(2))), ValueError, "For 'batch_dot'"),
    (lambda: ops.batch_dot(f32(np.ones((2, 3))), f32(np.ones((2, 3))), 5), ValueError,
     "For 'batch_dot', 'axes'.*5"),
    (lambda: Tensor([1, 2]).add_(1.5), TypeError, "For 'Tensor.add_'.*Float"),
    (lambda: f32([1, 2]).add_(f32(np.eye(3))), ValueError, "For 'Tensor.add_'.*size"),
    (lambda: f32([1, 2]).add_(f32(np.eye(2))), ValueError, "For 'Tensor.add_'.*broadcast"),
    (lambda: f32([1, 2]).sub_("a"), TypeError, 'calling sub_ with "sub_.string'),
    (lambda: f32(np.eye(2)).addmm_(None, f32(np.eye(2))), TypeError, "For 'Tensor.addmm_'.*mat1"),
    (lambda: f32([1, 2]).mul_(2**70), ValueError, "For 'Tensor.mul_'.*too large"),
    (lambda: f32(np.eye(2)).trace("a"), TypeError, "For 'Tensor.trace'.*str"),
    (lambda: f32(np.eye(2)).sum(initial="a"), TypeError, 'calling sum with "sum.initial=string'),
    (lambda: f32(np.eye(2)).sum_to_size(3), ValueError, "For 'Tensor.sum_to_size', 'size'.*3"),
    (lambda: ops.fft(f32([1]), 2**42), RuntimeError, "For 'fft'.*allocate"),
    (lambda: Tensor([1, 2]) + 2**70, ValueError, "For 'add'.*too large"),
    (lambda: Tensor([1]).item(5), IndexError, "For 'Tensor.__getitem__'.*index 5"),
    (lambda: Tensor([1]).item("a"), IndexError, "For 'Tensor.__getitem__'.*'a'"),
    (lambda: Tensor([1, 2]).itemset(7, 1), IndexError, "For 'Tensor.__setitem__'.*index 7"),
    (lambda: Tensor(shape=(2**40, 2**40), dtype=ms.float32), ValueError, "For 'Tensor', 'shape'"),
]


@pytest.mark.parametrize(("call", "kind", "message"), ERRORS, ids=[e[2] for e in ERRORS])
def test_error(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        call()
    assert type(caught.value) is kind
    assert str(caught.value).startswith(("For '", "Failed calling "))


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int16, np.int8])
def test_least_number_by_minus_one(dtype: Any) -> None:
    least = np.iinfo(dtype).min
    x, y = Tensor(np.array([least, 7, -7], dtype)), Tensor(np.array([-1, -1, 2], dtype))
    for quotient in (ops.truncate_div(x, y), ops.div(x, y, rounding_mode="trunc"),
                     ops.tensor_div(x, y), x.copy().div_(y, rounding_mode="trunc")):
        assert quotient.dtype == x.dtype
        assert quotient.tolist() == [least, -7, -3]
    assert ops.truncate_div(x, -1).tolist() == [least, -7, 7]


def test_numbers_too_large_for_int64_meet_floats() -> None:
    assert (f32([1.0, -2.0]) * 2**70).tolist() == [2.0**70, -2.0**71]
    assert (f32([1.0]) < 2**70).tolist() == [True]


def test_empty_divisors_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(ops.var(f32([1.0]), ddof=1).asnumpy())
        assert np.isnan(ops.std(f32(np.zeros(0))).asnumpy())
        assert np.isnan(ops.cov(f32([[1.0], [2.0]])).asnumpy()).all()
        assert np.isnan(ops.var(f32(np.ones((2, 1))), 1, 1).asnumpy()).all()


METHODS = ["add_", "sub_", "mul_", "div_", "floor_divide_", "remainder_", "copy_", "fill_"]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("bad", [None, "abc", {}, object(), f32(np.ones((4, 5)))],
                         ids=["None", "str", "dict", "object", "shape"])
def test_failed_changes_in_place_leave_the_tensor(name: str, bad: Any) -> None:
    for x in (f32([[1, 2], [3, 4]]), ms.Parameter(f32([[1, 2], [3, 4]]))):
        with pytest.raises((TypeError, ValueError), match="^For '|^Failed calling"):
            getattr(x, name)(bad)
        assert x.tolist() == [[1, 2], [3, 4]]

        def change(_: Tensor, x: Tensor = x) -> Tensor:
            with pytest.raises((TypeError, ValueError), match="^For '|^Failed calling"):
                getattr(x, name)(bad)
            return x.sum()

        ms.grad(change)(f32([1.0]))
        assert x.tolist() == [[1, 2], [3, 4]]


def test_sum_to_size() -> None:
    x = f32(np.arange(6).reshape(1, 2, 3))
    assert x.sum_to_size((2, 1)).tolist() == [[3], [12]]
    assert x.sum_to_size(3).tolist() == [3, 5, 7]
    assert x.sum_to_size(1, 2, 3).shape == (1, 2, 3)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_transforms_of_no_signals(name: str) -> None:
    got = getattr(ops, name)(Tensor(np.zeros((0, 4), np.float32)))
    assert got.shape[0] == 0
    want = getattr(np.fft, name)(np.zeros((1, 4)))
    assert got.shape[1:] == want.shape[1:]


@pytest.mark.parametrize("name", ["fftn", "rfftn"])
def test_transforms_of_no_axes_length(name: str) -> None:
    with pytest.raises(ValueError, match="data points"):
        getattr(ops, name)(Tensor(np.zeros(0, np.float32)))
    assert ops.fft(Tensor(np.zeros(0, np.float32)), 2).tolist() == [0, 0]


def test_methods_take_bad_input_as_functions_do() -> None:
    x = f32(np.eye(3))
    skipped = {"init_data", "flush_from_cache", "data_sync", "wait_pipeline", "offload",
               "from_numpy", "from_torch", "from_dlpack", "convert_bytes_to_tensor"}
    called = 0
    for name in sorted(n for n in vars(Tensor) if not n.startswith("_") and n not in skipped):
        method = getattr(x, name)
        if not callable(method) or name.endswith("hook"):
            continue
        try:
            required = [p for p in inspect.signature(method).parameters.values()
                        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
        except ValueError:
            continue
        if not required:
            continue
        for bad in (object(), Tensor, {"a": 1}):
            called += 1
            with pytest.raises((TypeError, ValueError), match="^For '|^Failed calling"):
                method(*[bad] * len(required))
    assert called > 200
