"""What PyTorch's messages become: known ones, unknown ones, errors that stay as they are."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.core.errors import op
from lamella.core.kernel_messages import meaning
from lamella.tensors.tensor import wrap


def shown(call) -> str:  # noqa: ANN001
    with pytest.raises((TypeError, ValueError, RuntimeError, IndexError)) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(("call", "text"), [
    (lambda: ops.ones((2, 3)) + ops.ones((2, 4)),
     "For 'add', the shapes don't broadcast: at dimension 1 the sizes are 3 and 4. Arguments: "
     "input=Tensor[2, 3] Float32, other=Tensor[2, 4] Float32."),
    (lambda: ops.matmul(ops.ones((2, 3)), ops.ones((4, 5))),
     "For 'matmul', a 2 by 3 and a 4 by 5 matrix can't be multiplied. Arguments: "
     "input=Tensor[2, 3] Float32, other=Tensor[4, 5] Float32."),
    (lambda: ops.cumsum(ops.ones((2, 3)), 5), "'axis' must be in [-2, 1], but got 5."),
    (lambda: ops.aminmax(ops.ones((0, 2)), axis=0), "an empty tensor is not supported."),
    (lambda: ops.multi_margin_loss(ops.ones((5, 3, 3)), Tensor([1])), "the rank or a size of a "
     "tensor doesn't fit."),
    (lambda: ops.inverse(ops.ones((2, 3))), "square matrices are needed, but got 2 by 3 ones."),
    (lambda: ops.elu(Tensor([1], ms.int64)), "tensors of type Int64 are not supported."),
    (lambda: ops.ones(3).reshape(2, 2), "3 elements can't take the shape [2, 2]."),
    (lambda: Tensor([1]).exp_(), "type Float32 can't be kept in a tensor of type Int64.")])
def test_known(call, text: str) -> None:  # noqa: ANN001
    assert text in shown(call)


def test_messages_of_a_later_version_are_explained_by_type() -> None:
    for kind, text in ((TypeError, "arguments of these types don't go together."),
                       (ValueError, "the shapes or values of the arguments don't fit together."),
                       (IndexError, "an index is out of range.")):
        assert meaning("gnarl", kind) == text
    assert meaning("gnarl", RuntimeError) is None


def test_what_has_no_kernel_is_of_a_wrong_type_in_any_words() -> None:
    @op
    def later(x: Tensor) -> Tensor:
        return wrap(torch.ops.aten.resize_as_sparse_(x._raw, x._raw))

    with pytest.raises(TypeError, match="For 'later'"):
        later(ops.ones(2))


def test_the_cause_is_kept() -> None:
    with pytest.raises(ValueError) as caught:
        ops.matmul(ops.ones((2, 3)), ops.ones((4, 5)))
    assert "mat1 and mat2 shapes cannot be multiplied" in str(caught.value.__cause__)


def test_messages_of_ones_own_are_left_alone() -> None:
    class Mine(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            if x.ndim == 1:
                raise ValueError("the size of my tensor must match")
            return x.nothing  # type: ignore[attr-defined]

    @op
    def mine(x: Tensor) -> Tensor:
        raise ValueError("the size of my tensor must match")

    for call in (Mine(), nn.SequentialCell(Mine()), nn.WithLossCell(Mine(), nn.MSELoss()), mine):
        with pytest.raises(ValueError, match="^the size of my tensor must match$"):
            call(*[ops.ones(2)] * (2 if isinstance(call, nn.WithLossCell) else 1))
    with pytest.raises(AttributeError, match="nothing"):
        nn.SequentialCell(Mine())(ops.ones((2, 2)))


@pytest.mark.parametrize("layer", [
    nn.Dense(3, 2), nn.Conv2d(3, 4, 3), nn.LSTM(3, 4), nn.MaxPool2d(2, 2), nn.AvgPool1d(2, 2),
    nn.BatchNorm2d(3), nn.LayerNorm((3,)), nn.ReflectionPad2d(1), nn.Embedding(3, 4), nn.PReLU(),
    nn.Softmax2d(), nn.Flatten(), nn.InstanceNorm2d(3), nn.MultiheadAttention(4, 2)],
    ids=lambda layer: type(layer).__name__)
def test_layers_name_themselves(layer: nn.Cell) -> None:
    count = 3 if isinstance(layer, nn.MultiheadAttention) else 1
    for wrong in (None, "words", [1, 2], np.ones(3), object(), Tensor, Tensor([[1j]]),
                  ops.ones((1,) * 7)):
        try:
            layer(*[wrong] * count)
        except (TypeError, ValueError, RuntimeError, IndexError) as error:
            assert str(error).startswith("For '"), (wrong, error)


def test_padding_keeps_imaginary_parts() -> None:
    x = Tensor(np.arange(4).reshape(1, 1, 4) * (1 + 2j))
    for mode in ("reflect", "replicate", "circular"):
        got = ops.pad(x, (1, 1), mode).asnumpy()
        np.testing.assert_array_equal(got.imag, 2 * got.real)
        assert got.shape == (1, 1, 6)


def test_primitives_name_themselves() -> None:
    for primitive in (ops.LayerNorm(), ops.BatchNorm(), ops.MaxPool(2, 2), ops.Dropout(0.5),
                      ops.EmbeddingLookup(), ops.Conv2DTranspose(3, 3), ops.Multinomial()):
        with pytest.raises((TypeError, ValueError), match="^For '"):
            primitive(None, None, None)
    for call in (lambda: ops.Multinomial()(ops.ones((2, 2, 2)), 2),
                 lambda: ops.Poisson()((7, 5), ops.ones((1, 3)))):
        with pytest.raises((TypeError, ValueError), match="^For '"):
            call()


def test_memory_is_told_as_it_is() -> None:
    assert "allocate" in shown(lambda: ops.ones((2**40, 2**10)))
    assert torch.ones(1).item() == 1


def test_an_argument_may_be_called_as_the_explanation_calls_its_own() -> None:
    @op
    def mine(name: Tensor, error: Tensor) -> Tensor:
        return wrap(torch.mm(name._raw, error._raw))

    with pytest.raises(ValueError, match="^For 'mine', a 2 by 3 and a 4 by 5 matrix"):
        mine(ops.ones((2, 3)), ops.ones((4, 5)))


def test_what_must_be_callable() -> None:
    x = Tensor([1.0])
    for call in (lambda: ops.partial(3), lambda: ops.derivative(x, x, 1),
                 lambda: ops.jet(3, x, x.reshape(1, 1)), lambda: ops.SplitV(3, 0, 2),
                 lambda: nn.TransformerEncoder(True, 2)):
        with pytest.raises((TypeError, ValueError), match="must be"):
            call()


def test_an_order_that_would_never_end_is_refused() -> None:
    x = Tensor([1.0])
    for call in (lambda: ops.derivative(lambda x: x, x, 40),
                 lambda: ops.jet(lambda x: x, x, ops.ones((40, 1)))):
        with pytest.raises(ValueError, match="order.* must be .*12, but got 40"):
            call()
