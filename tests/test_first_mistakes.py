"""What beginners get wrong first, and the message that they read."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.common.initializer import HeNormal


class Layers(nn.Cell):
    """Keeps its layers in a list; with a head that is found."""

    def __init__(self, head: bool) -> None:
        super().__init__()
        self.layers: list[nn.Cell] = []
        self.layers.append(nn.Dense(4, 4))
        if head:
            self.head = nn.Dense(4, 1)


class Forward(nn.Cell):
    def forward(self, x: Tensor) -> Tensor:
        return x


def net() -> nn.Cell:
    return nn.Dense(4, 1)


def data() -> Any:
    rows = {"x": np.ones((8, 4), np.float32), "y": np.ones((8, 1), np.float32)}
    return ms.dataset.NumpySlicesDataset(rows).batch(4)


def images() -> Tensor:
    return ops.ones((1, 32, 16, 3))


@pytest.mark.parametrize(("call", "kind", "words"), [
    (lambda: nn.Adam(net().trainable_params(), lr=0.1), KeyError,
     "'lr' is called 'learning_rate' here"),
    (lambda: nn.SGD(net().trainable_params(), lr=0.1), TypeError,  # type: ignore[call-arg]
     "'lr' is called 'learning_rate' here"),
    (lambda: nn.Dense(4, 2, bias=False), TypeError,  # type: ignore[call-arg]
     "'bias' is called 'has_bias' here"),
    (lambda: ops.softmax(ops.ones(3), dim=0), TypeError,  # type: ignore[call-arg]
     "'dim' is called 'axis' here. It takes (input, axis=-1, *, dtype=None)"),
    (lambda: ops.sum(ops.ones(3), keepdims=True), TypeError,  # type: ignore[call-arg]
     "'keepdims' is called 'keepdim' here"),
    (lambda: ops.topk(ops.ones(3), 1, sortedd=True), TypeError,  # type: ignore[call-arg]
     "did you mean 'sorted'?"),
    (lambda: ops.minimum(None, ops.ones(3)), TypeError,
     "For 'minimum', 'input' must be a Tensor or a number, but got None"),
    (lambda: ops.clamp(ops.ones(3), "abc", 6), TypeError, "'min' must not be of type str"),
    (lambda: ms.numpy.ones("abc"), TypeError, "an int or a tuple or list of ints, but got 'abc'"),
    (lambda: ops.make_range("a"), TypeError, "'args[0]' must be int, but got 'a'"),
    (lambda: nn.Adam([w := ms.Parameter(ops.ones(1), name="w"), w]), ValueError, "got 'w' twice"),
    (lambda: ms.dataset.vision.Resize(siz=1), TypeError,  # type: ignore[call-arg]
     "For 'Resize', missing a required argument: 'size'"),
    (lambda: ms.dataset.config.set_seed(1, 2), TypeError,  # type: ignore[call-arg]
     "For 'set_seed', set_seed() takes 1 positional argument but 2 were given"),
    (lambda: HeNormal(nothing=1), TypeError,  # type: ignore[call-arg]
     "For 'HeNormal', got an unexpected keyword argument 'nothing'"),
    (lambda: ms.amp.StaticLossScaler(), TypeError,  # type: ignore[call-arg]
     "missing 1 required positional argument: 'scale_value'"),
    (lambda: nn.DynamicLossScaleUpdateCell(2, None, 3), TypeError,  # type: ignore[arg-type]
     "'scale_factor' must be"),
    (lambda: nn.Conv2d(3, 8, 3)(images()), ValueError,
     "the input must have 3 channels, in dimension 1, but its shape is (1, 32, 16, 3). Its "
     "channels seem to be last: x.transpose(0, 3, 1, 2) puts them there"),
    (lambda: nn.Conv1d(3, 8, 3)(images()[0]), ValueError,
     "For 'Conv1d', the input must have 3 channels, in dimension 1, but its shape is (32, 16, 3). "
     "Its channels seem to be last: x.transpose(0, 2, 1) puts them there"),
    (lambda: nn.Conv1dTranspose(5, 8, 3)(images()[0]), ValueError,
     "For 'Conv1dTranspose', the input must have 5 channels, in dimension 1, but its shape is "),
    (lambda: ms.mint.nn.Conv1d(3, 8, 3)(images()[0]), ValueError,
     "For 'conv1d', the input must have 3 channels, in dimension 1, but its shape is (32, 16, 3). "
     "Its channels seem to be last: x.transpose(0, 2, 1) puts them there"),
    (lambda: nn.Conv2d(5, 8, 3)(images()), ValueError, "but its shape is (1, 32, 16, 3). Argum"),
    (lambda: ms.Model(net()).train(1, data()), ValueError,
     "the dataset has 2 columns, but Dense takes (x)"),
    (lambda: ms.Model(net(), "mse"), TypeError, "such as nn.MSELoss(), but got 'mse'"),
    (lambda: ms.Model(net(), nn.MSELoss(), "adam"), TypeError, "such as nn.Adam(net.trainable_"),
    (lambda: nn.SGD(Layers(False).trainable_params()), ValueError, "nn.CellList"),
    (lambda: ms.export(net(), file_name="a", file_format="ONNX"), TypeError,
     "missing a required argument: 'x': give an example of each input"),
    (lambda: ms.export(net(), file_name="a", file_format="MINDIR"), TypeError, "Dense takes (x)"),
    (lambda: ops.reshape(ops.ones((2, 4)), (-1, -1)), ValueError, "at most one of the sizes can"),
    (lambda: ops.ones((2, 4)).reshape(-1, -1), ValueError, "at most one of the sizes can be -1"),
    (lambda: ops.cross_entropy(ops.ones((2, 3)), Tensor([5, 1])), RuntimeError,
     "the class 5 is out of range: there are scores for 3 classes, 0 to 2"),
    (lambda: nn.NLLLoss()(ops.ones((2, 3)), Tensor([0, -4])), RuntimeError, "3 classes, 0 to 2"),
    (lambda: Forward()(ops.ones(3)), AttributeError,
     "its method 'forward' must be called 'construct'"),
    (lambda: torch.sin(ops.ones(3)), TypeError,  # type: ignore[arg-type]
     "For 'torch.sin', PyTorch's functions don't take Tensors of Lamella: use ops, or x.to_torch"),
    (lambda: torch.stack([ops.ones(3)]), TypeError, "x.to_torch()"),  # type: ignore[list-item]
])
@pytest.mark.filterwarnings("ignore")
def test_messages(call: Callable[[], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def warned(call: Callable[[], Any]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return found


@pytest.mark.parametrize(("call", "words"), [
    (lambda: Layers(True).trainable_params(), "'layers' of Layers is a Python list of Cells"),
    (lambda: nn.MSELoss()(ops.ones((4, 1)), ops.ones(4)), "labels.reshape(4, 1)"),
    (lambda: nn.L1Loss()(ops.ones((5, 1)), ops.ones(5)), "broadcast to (5, 5)"),
    (lambda: ms.Model(net(), nn.MSELoss()).train(1, data()), "so nothing is trained"),
    (lambda: Tensor([2**31], ms.int32), "2147483648 doesn't fit Int32, which holds -2147483648"),
    (lambda: Tensor(300, ms.uint8), "300 doesn't fit UInt8, which holds 0 to 255"),
    (lambda: ms.train.CheckpointConfig(save_checkpoint_steps=0), "nothing is saved before the"),
])
def test_warnings_name_the_line(call: Callable[[], Any], words: str) -> None:
    found = warned(call)
    assert len(found) == 1 and words in str(found[0].message)
    assert found[0].filename == __file__


def test_no_warning_where_all_is_well() -> None:
    class Fine(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.listed = [nn.Dense(4, 4), nn.ReLU()]  # found in the container, too
            self.layers = nn.SequentialCell(self.listed)
            self.active = [nn.ReLU()]  # has nothing to train

        def construct(self, x: Tensor) -> Tensor:
            return self.layers(x)

    fine = Fine()
    assert not warned(lambda: nn.SGD(fine.trainable_params()))
    assert not warned(lambda: nn.MSELoss()(ops.ones((7, 1)), ops.ones((7, 3))))
    assert not warned(lambda: Tensor([255, 0], ms.uint8))
    assert not warned(lambda: Tensor(np.array([300]), ms.uint8))

    class Step(nn.Cell):
        def __init__(self, net: nn.Cell) -> None:
            super().__init__()
            self.step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()),
                                            nn.SGD(net.trainable_params()))

        def construct(self, x: Tensor, y: Tensor) -> Tensor:
            return self.step(x, y)

    assert not warned(lambda: ms.Model(Step(net())).train(1, data()))


def test_a_pair_of_shapes_warns_once() -> None:
    loss = nn.MSELoss()
    assert len(warned(lambda: [loss(ops.ones((6, 1)), ops.ones(6)) for _ in range(3)])) == 1
    assert len(warned(lambda: ms.jit(loss)(ops.ones((9, 1)), ops.ones(9)))) == 1


def test_files_of_others(tmp_path: Path) -> None:
    torch.save({"a": torch.ones(2)}, tmp_path / "net.pt")
    torch.save({"a": torch.ones(2)}, tmp_path / "net.ckpt")
    ms.save_checkpoint(net(), str(tmp_path / "net.safetensors"), format="safetensors")
    for name, words in (("net.pt", "torch.load(file"), ("net.ckpt", "torch.load(file"),
                        ("net.safetensors", "Give format='safetensors'.")):
        with pytest.raises(ValueError) as caught:
            ms.load_checkpoint(str(tmp_path / name))
        assert words in str(caught.value)
    # what it says works
    file = tmp_path / "net.pt"
    read = {name: ms.Parameter(ms.Tensor(value.numpy()), name=name) for name, value in
            torch.load(file, weights_only=True).items()}
    assert read["a"].shape == (2,)


def test_operators_with_pytorchs_tensors_name_both_ways() -> None:
    for call in (lambda: ops.ones(3) + torch.ones(3), lambda: torch.ones(3) + ops.ones(3),
                 lambda: torch.ones(3) * ops.ones(3)):
        with pytest.raises(TypeError, match="to_torch"):
            call()
