"""Rows of the table on PyTorch's own samples; `samples` runs all of them."""

import ast
import pathlib
import warnings

import pytest
import torch

from lamella.graph.xla import lowering
from lamella.graph.xla.lowering import TABLE

from . import samples

# operations whose samples, forward and backward, call most rows
NAMES = {
    "pointwise": "add sub mul div floor_divide remainder pow exp rsqrt erf round clamp where "
                 "masked_fill lerp addcmul maximum logical_and lt nan_to_num xlogy",
    "activations": "nn.functional.relu nn.functional.gelu nn.functional.silu "
                   "nn.functional.softplus softmax "
                   "log_softmax nn.functional.elu nn.functional.leaky_relu sigmoid "
                   "nn.functional.hardswish nn.functional.logsigmoid nn.functional.prelu",
    "losses": "nn.functional.mse_loss nn.functional.smooth_l1_loss nn.functional.huber_loss "
              "nn.functional.cross_entropy nn.functional.nll_loss "
              "nn.functional.binary_cross_entropy",
    "reductions": "sum mean amax max argmax prod any var std_mean logsumexp cumsum sort "
                  "linalg.vector_norm topk searchsorted bucketize",
    "shapes": "expand permute transpose select unbind split cat stack flip roll repeat tril "
              "diagonal unfold nn.functional.pad select_scatter slice_scatter squeeze view",
    "indexing": "index_select gather scatter scatter_add index_add index_put take "
                "nn.functional.embedding index_fill scatter_reduce",
    "linear and others": "mm bmm addmm baddbmm addmv dot nn.functional.layer_norm arange "
                         "linspace full_like new_zeros eye",
    "complex numbers": "fft.fft fft.rfft fft.irfft fft.ifft2 view_as_complex complex polar angle "
                       "mul abs tanh",
    "matrices": "linalg.inv linalg.solve linalg.cholesky cholesky_solve linalg.det linalg.slogdet "
                "linalg.lu_solve linalg.solve_triangular linalg.eigh linalg.qr trace diag_embed",
}


@pytest.mark.parametrize("family", NAMES)
def test_rows(family):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kinds = (torch.float32, torch.complex64)[:1 + (family == "complex numbers")]
        calls = samples.note(set(NAMES[family].split()), 1, kinds)
        found = [call for its in calls.values() for call in its]
        assert len(found) >= 20
        wrong = [said for said in samples.check(found) if not said.startswith("left out")]
    assert not wrong, "\n".join(wrong)


def test_a_wrong_row_is_found(monkeypatch):
    monkeypatch.setitem(TABLE, "exp.default", TABLE["expm1.default"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = samples.note({"exp"}, 1, (torch.float32,))
        assert any("DIFFERS" in said for said in samples.check(
            [call for its in calls.values() for call in its]))


def test_numbers_of_any_size_stay_finite():
    """Exponentials are taken of what is shifted or has a bound: none overflows, none is lost."""
    aten = torch.ops.aten
    x = torch.tensor([[-200.0, -90, -17, -1e-3, 0], [1e-3, 17, 90, 200, 199]])
    g = torch.linspace(-1, 1, 10).reshape(2, 5)
    given = [(aten._softmax.default, (x, 1, False)), (aten._log_softmax.default, (x, 1, False)),
             (aten._log_softmax.default, (x, 0, False)), (aten.logsumexp.default, (x, [1])),
             (aten.sigmoid.default, (x,)), (aten.softplus.default, (x,)),
             (aten.log_sigmoid_forward.default, (x,)), (aten.gelu.default, (x,)),
             (aten.silu.default, (x,)), (aten.tanh.default, (x,)), (aten.elu.default, (x,)),
             (aten.expm1.default, (-x.abs(),)), (aten.gelu_backward.default, (g, x)),
             (aten.silu_backward.default, (g, x)), (aten.softplus_backward.default, (g, x, 1, 20))]
    calls = [(func, args, {}, func(*args)) for func, args in given]
    assert not samples.check(calls)


def test_remainders_take_the_sign_of_the_divisor():
    x = torch.tensor([[-2.5, -2, -0.5, -0.0], [0, 0.5, 2, 2.5]])
    given = [(func, (x, y)) for func in (torch.ops.aten.remainder.Scalar,
                                         torch.ops.aten.floor_divide.Scalar,
                                         torch.ops.aten.fmod.Scalar) for y in (2, -2, 0.75)]
    assert not samples.check([(func, args, {}, func(*args)) for func, args in given])


def test_ranges_by_their_end_alone_their_ends_and_with_a_step():
    aten = torch.ops.aten
    given = [(aten.arange.default, (5,)), (aten.arange.default, (2.5,)),
             (aten.arange.start, (2, 7)), (aten.arange.start_step, (9, 1, -3))]
    assert not samples.check([(func, args, {}, func(*args)) for func, args in given])


def test_the_process_that_compiles_needs_nothing_of_lamella():
    files = sorted(pathlib.Path(lowering.__file__).parent.glob("*.py"))
    assert len(files) > 20
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [node.module] if isinstance(node, ast.ImportFrom) and not node.level else [
                alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not isinstance(node, ast.ImportFrom) or node.level < 2, f"{file}: {node.lineno}"
            assert not {"lamella", "torch"} & {name.split(".")[0] for name in names if name}
