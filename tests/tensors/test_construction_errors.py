"""Errors when layers and Primitives are constructed, and for arguments that aren't Tensors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, nn, ops

HALF = ops.ones(2, ms.float16)


@pytest.mark.parametrize(("make", "words"), [
    (lambda: nn.BatchNorm1d(3, momentum=slice(1)), "'momentum' must be a number"),
    (lambda: nn.SampledSoftmaxLoss(None, 3), "'num_sampled' must be an int"),  # type: ignore[arg-type]
    (lambda: nn.Pad((3,)), r"paddings=\(3\)"),
    (lambda: nn.CellDict([7]), r"cells=\[7\]|args=\(\[7\]\)"),
    (lambda: nn.WithGradCell(3), "'network' is of a wrong type"),  # type: ignore[arg-type]
    (lambda: ops.MaxPool3D(2, 2, {}), "'pad_mode' is of a wrong type"),  # type: ignore[arg-type]
    (lambda: ops.SparseApplyAdadelta("a"), "epsilon='a'"),  # type: ignore[arg-type]
    (lambda: ops.Pad((3, 4)), r"paddings=\(3, 4\)"),
    (lambda: ops.BatchISendIRecv(3, 4), "op_types=3")], ids=range(9))  # type: ignore[arg-type]
def test_what_is_made_wrongly_is_named(make, words: str) -> None:  # noqa: ANN001
    with pytest.raises(TypeError, match=rf"^For '\w+', .*{words}"):
        make()


def test_errors_in_the_construction_of_a_programs_own_cells_are_unchanged() -> None:
    class Own(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.table = {"a": 1}["b"]

    class Wide(nn.Dense):
        def __init__(self, size) -> None:  # noqa: ANN001
            super().__init__(size + "a", 3)

    with pytest.raises(KeyError, match="^'b'$"):
        Own()
    with pytest.raises(TypeError, match="unsupported operand"):
        Wide(3)


@pytest.mark.parametrize("call", [
    lambda t: ops.matmul(Tensor([1.0]), t), lambda t: ops.relu(t), lambda t: nn.Dense(1, 1)(t),
    lambda t: nn.ReLU()(t), lambda t: ops.ReLU()(t), lambda t: ops.SortExt()(t),
    lambda t: ops.ParallelConcat()((t,))], ids=range(7))
def test_a_tensor_of_pytorch_is_distinguished_from_one_of_lamella(call) -> None:  # noqa: ANN001
    with pytest.raises(TypeError, match=r"^For '\w+', .*Tensor"):
        call(torch.ones(1))
    with pytest.raises(TypeError, match=r"^For '\w+', "):
        call(Tensor)


def test_the_error_shows_how_to_convert_a_tensor_of_pytorch() -> None:
    with pytest.raises(TypeError, match="'other' must be a Tensor, but got a torch.Tensor; make a "
                                        "Tensor of it with Tensor.from_torch"):
        ops.matmul(Tensor([1.0]), torch.ones(1))  # type: ignore[arg-type]


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: ops.embedding(Tensor([7, 0]), ops.ones((3, 2))), RuntimeError,
     r"For 'embedding', the rows in 'input' must be in \[0, 3\), but got \[7\]"),
    (lambda: ops.embedding(Tensor([0]), ops.ones((3, 2)), padding_idx=3), ValueError,
     r"'padding_idx' must be in \[-3, 3\), but got 3"),
    (lambda: ops.bernoulli(ops.ones(3), Tensor(4.5)), ValueError, r"in \[0, 1\]"),
    (lambda: ops.bernoulli(ops.ones(3), Tensor([0.5, -1.0, 0.5])), ValueError, r"in \[0, 1\]"),
    (lambda: ops.ctc_greedy_decoder(ops.ones((5, 1, 3)), Tensor([9], ms.int32)), RuntimeError,
     "at most 5, the time steps"),
    (lambda: ops.ctc_greedy_decoder(ops.ones((5, 2, 3)), Tensor([5], ms.int32)), ValueError,
     r"must have shape \(T, N, C\)"),
    (lambda: ops.scatter(ops.ones((2, 3)), 1, Tensor([[0]]), ops.ones((1, 3))), ValueError,
     "a value for each index"),
    (lambda: ops.addr(ops.ones((1, 2)), Tensor([2], ms.int8), ops.ones(2)), TypeError,
     "of one type, but got Int8 and Float32"),
    (lambda: ops.linearize(3, Tensor(1.0)), TypeError, "'fn' must be a function or a Cell"),
    (lambda: ops.make_range("a"), TypeError, "For 'make_range', the 'args.0.' must be int"),
    (lambda: nn.GradAccumulationCell(nn.Dense(2, 2), 2**31), ValueError,
     "'micro_size' must be at most 16384"),
    (lambda: ops.tuple_getitem((1, 2), 2), IndexError,
     r"For 'tuple_getitem', 'index' must be in \[-2, 2\), but got 2"),
    (lambda: ops.tuple_getitem((1, 2), 2**70), IndexError, "but got 1180591620717411303424"),
    (lambda: ops.tuple_getitem({1: 2}, 1), TypeError, "'value' must be a tuple or list"),
    (lambda: ops.tuple_getitem((1, 2), 1.0), TypeError, "'index' must be an int, but got 1.0"),
    (lambda: ops.add_flags(3), TypeError, "'fn' must be a function or a Cell"),
    (lambda: ms.vmap(lambda x: ops.multinomial(x, 2), randomness="error")(ops.ones((1, 2))),
     RuntimeError, "For 'multinomial', inside 'vmap' with randomness='error' no random"),
    (lambda: ops.avg_pool2d(Tensor(np.ones((1, 1, 4, 4)), ms.uint16), 2), TypeError,
     "tensors of type UInt16"),
    (lambda: ops.hann_window(2**63, periodic=False), ValueError, "For 'hann_window', a number"),
    (lambda: ops.ones((2, 3))[:, Tensor([9])], RuntimeError, "index 9 is out of bounds for a dim"),
    (lambda: int(Tensor(float("inf"))), OverflowError, "For 'int', inf is not an integer"),
    (lambda: float(Tensor(1j)), TypeError, "For 'float', 1j is complex"),
    (lambda: round(Tensor([1.5]), 2**70), ValueError, "'ndigits' must fit in 32 bits"),
    (lambda: round(Tensor([1.5]), Tensor(1)), TypeError, "'ndigits' must be an int"),
], ids=range(24))
def test_the_message_says_what_is_wrong(call, error: type, words: str) -> None:  # noqa: ANN001
    with pytest.raises(error, match=words):
        call()


def test_an_example_by_itself_with_its_class_has_a_gradient() -> None:
    gradient = ms.grad(lambda x: ops.nll_loss(x, Tensor([1])))(Tensor([1.0, 0.0]))
    np.testing.assert_array_equal(gradient.asnumpy(), [0.0, -1.0])


def test_half_precision_and_complex_numbers() -> None:
    for result in (HALF + 1j, 1j + HALF, ops.add(HALF, 1j), ops.mul(HALF, 1j) + 1):
        assert result.dtype == ms.complex64
        np.testing.assert_array_equal(result.asnumpy(), [1 + 1j] * 2)


def test_a_network_from_a_file_says_what_it_was_given(tmp_path) -> None:  # noqa: ANN001
    for kind, message in (("MINDIR", "input 0 must be"), ("LAMELLA", "the inputs must be")):
        path = str(tmp_path / "net")
        ms.export(nn.Dense(2, 1), ops.ones((1, 2)), file_name=path, file_format=kind)
        net = nn.GraphCell(ms.load(f"{path}.{kind.lower()}"))
        for given in (3, ops.ones((5, 7)), Tensor(1.0), Tensor):
            with pytest.raises((TypeError, ValueError), match=f"For 'GraphCell', {message}"):
                net(given)
