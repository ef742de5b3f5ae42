"""Rows in other types than float32, with NaN, infinity and equal elements, beside kernels."""

import pytest
import torch

from . import samples

aten = torch.ops.aten
NAN, INF = torch.nan, torch.inf
ODD = torch.tensor([[NAN, 2, -NAN, 1, 0.5], [INF, -INF, 3, 1, 2], [-1, -2, -INF, -3, -0.25],
                    [0.75, 4, 1.25, -4, 6]])
PLAIN = torch.tensor([[1.0, 2, -3, 0.5, 4], [0.25, -1, 2.5, 3, -2], [6, 5, -4, -5, 0]])
TIES = torch.tensor([[2.0, 0, 2, -0.0, 1], [1, 1, 1, 1, 1], [NAN, 0, NAN, 3, -NAN]])
LARGE = torch.tensor([[2**62 + 1, -(2**53) - 1, 7], [0, 2**53 + 1, -7], [3, 3, 0]])
KINDS = {"float32": ODD, "int64": LARGE,
         "complex64": torch.complex(PLAIN, PLAIN.flip(1) * 0.5), "equal": TIES}


def kind(dtype):
    return {"dtype": dtype}


REDUCTIONS = [
    ("sum",), ("sum", kind(torch.float64)),
    ("sum.dim_IntList", [1]), ("sum.dim_IntList", []), ("sum.dim_IntList", None, True),
    ("sum.dim_IntList", [0], False, kind(torch.float64)),
    ("mean",), ("mean.dim", [-1], True), ("mean.dim", [0], False, kind(torch.float64)),
    ("mean", kind(torch.float64)), ("amax", [1]), ("amax", []), ("amin", [0], True),
    ("max",), ("min",), ("max.dim", 1), ("max.dim", 0, True), ("min.dim", -1), ("argmax",),
    ("argmax", 1, True), ("argmin", 0), ("argmin", None, True), ("prod",), ("prod.dim_int", 0),
    ("prod", kind(torch.float64)), ("any",), ("any.dim", 0, True), ("any.dims", [0, 1]), ("all",),
    ("all.dim", 1), ("all.dims", [1], True), ("var.correction", [1]),
    ("std.correction", None, {"correction": 0}),
    ("var_mean.correction", [0], {"correction": 2, "keepdim": True}),
    ("std_mean.correction", []), ("logsumexp", [1]), ("linalg_vector_norm", 2),
    ("linalg_vector_norm", 1, [1]), ("linalg_vector_norm", 3, [0], True),
    ("linalg_vector_norm", INF, [1]), ("linalg_vector_norm", 0, [1]),
    ("linalg_vector_norm", 2, [0], False, kind(torch.float64)), ("norm.Scalar", 2),
    ("norm.ScalarOpt_dim", None, [0]), ("cumsum", 0), ("cumsum", 1, kind(torch.float64)),
    ("cumprod", -1), ("count_nonzero",), ("count_nonzero.dim_IntList", [0]),
    ("sort.stable", {"stable": True, "descending": True}), ("sort.stable", {"stable": True}),
    ("argsort.stable", {"stable": True, "dim": 0, "descending": True})]


def called(name, *args):
    """A call; none if PyTorch refuses these types."""
    args = list(args)
    options = args.pop() if isinstance(args[-1], dict) else {}
    packet, _, overload = name.partition(".")
    func = getattr(getattr(aten, packet), overload or "default")
    try:
        return [(func, tuple(args), options, func(*args, **options))]
    except (RuntimeError, NotImplementedError):
        return []


def agree(calls):
    wrong = samples.check(calls)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["float32", "int64", "complex64", "equal"])
def test_reductions(name):
    x, calls = KINDS[name], []
    forms = REDUCTIONS if name == "float32" else {
        row: (row, *args) for row, *args in REDUCTIONS}.values()
    for row, *args in forms:
        if not (x.is_complex() and args and isinstance(args[-1], dict)):  # a real type
            # means of infinity are NaN or not, by the order of sums
            calls += called(row, PLAIN if x is ODD and "_mean" in row else x, *args)
    assert len(calls) > 12
    if x.is_floating_point() and name != "equal":  # places of equal elements are any
        one = torch.tensor([[1, -NAN, 3, -2], [NAN, 2, 0, 1]], dtype=x.dtype)
        calls += [call for args in ((3,), (2, 0), (2, 1, False), (3, 0, False))
                  for call in called("topk", x[1:], *args)]
        calls += [call for args in ((2,), (4, 1, False)) for call in called("topk", one, *args)]
    agree(calls)


def test_reductions_without_dimensions_and_elements():
    calls = []
    for x in (torch.tensor(2.5), torch.tensor(NAN), torch.tensor(3), torch.tensor(True)):
        for name in ("sum", "mean", "max", "min", "prod", "any", "all", "argmax", "argmin",
                     "count_nonzero"):
            calls += called(name, x)
        for name in ("sum.dim_IntList", "mean.dim", "amax", "amin", "logsumexp", "any.dims"):
            calls += called(name, x, [0]) + called(name, x, [-1], True)
        for name in ("max.dim", "min.dim", "cumsum", "cumprod", "argmin", "prod.dim_int", "any.dim",
                     "all.dim"):
            calls += called(name, x, 0)
        calls += called("sort.stable", x, {"stable": True}) + called("var.correction", x, [0])
        calls += called("linalg_vector_norm", x) + called("var_mean.correction", x, None)
        for name in ("_softmax", "_log_softmax"):
            calls += called(name, x, 0, False) + called(name, x, -1, False)
    empty = torch.zeros(2, 0)
    for name, *args in (("sum",), ("mean",), ("prod",), ("any",), ("all",), ("cumsum", 1),
                        ("mean.dim", [1]), ("sum.dim_IntList", [0]), ("amax", [0]),
                        ("logsumexp", [0, 1]), ("var.correction", [1]), ("count_nonzero",),
                        ("sort.stable", {"stable": True}), ("_softmax", 1, False),
                        ("_log_softmax", 0, False)):
        calls += called(name, empty, *args)
    assert len(calls) > 70
    agree(calls)


def test_classes_that_weigh_nothing_and_scores_that_are_infinite():
    """What counts, and what doesn't, is decided by the class that is ignored, not by its weight."""
    scores = torch.tensor([[0.5, -INF, 1], [-INF, 2, -1], [0.25, 3, -INF], [NAN, 1, 2]])
    calls = []
    for target in (torch.tensor([1, 0, 0, 2]), torch.tensor([2] * 4)):
        for weight in (None, torch.tensor([0.0, 0, 2])):
            for reduction in (0, 1, 2):
                args = scores, target, weight, reduction, 2
                (call,) = called("nll_loss_forward", *args)
                made, total = call[-1]
                calls += [call, *called("nll_loss_backward", torch.ones_like(made) * 1.5, *args,
                                        total)]
    agree(calls)


@pytest.mark.parametrize("right", [False, True])
def test_searches_by_a_number_of_another_type(right):
    whole, half = torch.tensor([1, 2, 2, 3]), torch.tensor([0.5, 1.5, 2.5])
    calls = []
    for number in (2, 2.5):
        for ordered in (whole, half, half.double()):
            calls += called("searchsorted.Scalar", ordered, number, {"right": right})
            calls += called("bucketize.Scalar", number, ordered, {"right": right})
    assert len(calls) == 12
    agree(calls)


@pytest.mark.parametrize("name", ["complex64"])
def test_reads_and_writes_of_elements(name):
    x = KINDS[name][:3, :3].contiguous()
    y, at, rows = x.flip(0), torch.tensor([2, 0]), torch.tensor([[0, 2, 1], [1, 0, 0]])
    calls = []
    for row, *args in (
            ("index.Tensor", [at]), ("index.Tensor", [None, at - 3]),
            ("index_put", [at], y[:2]), ("index_put", [at], y[:2], True),
            ("index_put", [x == x[0, 0]], y[1, 1].clone()), ("index_select", 1, at),
            ("take", rows), ("gather", 0, rows), ("scatter.src", 1, at[:, None], y),
            ("scatter.value", 1, at[:, None], 1), ("scatter_add", 0, rows, y),
            ("scatter_reduce.two", 0, rows, y, "amax"), ("scatter_reduce.two", 0, rows, y, "prod"),
            ("index_add", 0, at, y[:2]), ("index_copy", 1, at, y[:, :2]),
            ("index_fill.int_Scalar", 1, at, 1), ("masked_fill.Scalar", x == x[0, 0], 1),
            ("tril", -1), ("triu",), ("flip", [1]), ("roll", [1], [0]), ("repeat", [2, 1]),
            ("constant_pad_nd", [1, 0], 1), ("cat", 0), ("stack", 1), ("diagonal_scatter", y[0]),
            ("select_scatter", y[0], 1, 2), ("slice_scatter", y[:, :1], 1, 1, 2)):
        calls += called(row, [x, y] if row in ("cat", "stack") else x, *args)
    assert len(calls) > 24
    agree(calls)


@pytest.mark.parametrize("name", ["int64", "complex64"])
def test_products(name):
    x = KINDS[name][:3, :3].contiguous()
    y, calls = x.T.contiguous(), []
    for row, *args in (("mm", y), ("mv", y[0]), ("addmm", y, y), ("outer", y[0]),
                       ("addmm", x, y, {"beta": 2, "alpha": 3}), ("addmv", y, y[1])):
        own = x[0] if row in ("outer", "addmv") else x
        calls += called(row, own, *args)
    calls += called("bmm", x[None], y[None]) + called("dot", x[0], y[1])
    calls += called("vdot", x[0], y[1]) + called("trace", x)
    calls += called("addr", x, y[0], x[1], {"beta": 2, "alpha": 3})
    assert len(calls) > 7
    agree(calls)


def test_complex_matrices():
    made = torch.Generator().manual_seed(3)
    x = torch.randn(2, 3, 3, generator=made, dtype=torch.complex64) + 2 * torch.eye(3)
    b = torch.randn(2, 3, 2, generator=made, dtype=torch.complex64)
    good = x @ x.mH + torch.eye(3)
    lu, pivots = torch.linalg.lu_factor(x)
    calls = called("linalg_inv_ex", x) + called("_linalg_solve_ex", x, b)
    calls += called("_linalg_solve_ex", x, b.mT.contiguous(), {"left": False})
    for adjoint in (False, True):
        calls += called("linalg_lu_solve", lu, pivots, b, {"adjoint": adjoint})
        calls += called("linalg_lu_solve", lu, pivots, b.mT.contiguous(),
                        {"left": False, "adjoint": adjoint})
    for upper in (False, True):
        calls += called("linalg_cholesky_ex", good, {"upper": upper})
        factor = torch.linalg.cholesky(good, upper=upper)
        calls += called("cholesky_solve", b, factor, upper)
        calls += called("cholesky_inverse", factor, upper)
        calls += called("linalg_solve_triangular", x, b, {"upper": upper})
        calls += called("linalg_solve_triangular", x, b.mT.contiguous(),
                        {"upper": upper, "left": False})
    calls += called("_linalg_det", x) + called("_linalg_slogdet", x[0].contiguous())
    calls += called("_linalg_svd", x, False, False) + called("_linalg_eigh", good, "L", False)
    assert len(calls) == 21
    agree(calls)
