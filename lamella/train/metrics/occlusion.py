"""OcclusionSensitivity: which parts of an image a classification rests on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import checks as check
from ...nn.cell import Cell
from ...tensors.tensor import Tensor
from .metric import Metric, no_samples, rearrange_inputs

__all__ = ["OcclusionSensitivity"]


class OcclusionSensitivity(Metric):
    """How much a class's score falls when a patch around each pixel is covered (Zeiler 2013).

    Args:
        pad_val: what a covered pixel is set to.
        margin: how far a patch reaches from its pixel to each side.
        n_batch: how many images the model is given at once.
        b_box: ``[min, max, min, max, ...]`` for each axis but the first, both inclusive; -1 for
            an axis's end; None for the whole image.

    Raises:
        TypeError: if an argument is of the wrong type.

    Examples:
        >>> import lamella as ms
        >>> class Sum(ms.nn.Cell):
        ...     def construct(self, x):
        ...         return x.sum((1, 2)).reshape(-1, 1)
        >>> image = ms.Tensor([[[1.0, 0.0], [0.0, 3.0]]])
        >>> metric = ms.train.OcclusionSensitivity(margin=1)
        >>> print(metric(Sum(), image, ms.Tensor([[0]])))
        [[1. 1.]
         [1. 4.]]
    """

    def __init__(self, pad_val: float = 0.0, margin: int | list = 2, n_batch: int = 128,
                 b_box: list | None = None):
        super().__init__()
        where = "OcclusionSensitivity"
        self.pad_val = check.check_value_type("pad_val", pad_val, [float], where)
        self.margin: Any = check.check_value_type("margin", margin, [int, list], where)
        self.n_batch = check.check_value_type("n_batch", n_batch, [int], where)
        self.b_box = b_box if b_box is None else check.check_value_type("b_box", b_box, [list],
                                                                        where)
        self.clear()

    def clear(self) -> None:
        """Forget the image."""
        self._sensitivity: np.ndarray | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take a model, an image (1, ...) and its class."""
        self._count(inputs, 3, "classification model, predicted value, label")
        model = check.check_value_type("model", inputs[0], [Cell], "OcclusionSensitivity")
        image = self._convert_data(inputs[1])
        label = np.asarray(inputs[2]) if isinstance(inputs[2], int) \
            else self._convert_data(inputs[2])
        if image.shape[0] != 1 or label.size != 1:
            raise RuntimeError(f"For 'OcclusionSensitivity.update', one image and one label are "
                               f"expected, but got shapes {image.shape} and {label.shape}.")
        shape, kind = image.shape[1:], int(label.item())
        low, high = self._box(shape)
        margins = self.margin if isinstance(self.margin, list) else [self.margin] * len(shape)
        places = [tuple(low + place) for place in np.ndindex(*(high - low + 1))]
        scores = []
        for start in range(0, len(places), self.n_batch):
            covered = np.repeat(image, len(places[start:start + self.n_batch]), axis=0)
            for one, place in zip(covered, places[start:], strict=False):
                one[tuple(slice(max(0, p - m), p + m) for p, m in
                          zip(place, margins, strict=True))] = self.pad_val
            scores.append(model(Tensor(covered)).asnumpy()[:, kind])
        whole = model(Tensor(image)).asnumpy()[0, kind]
        self._sensitivity = whole - np.concatenate(scores).reshape(high - low + 1)

    def _box(self, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        sizes = np.array(shape)
        if self.b_box is None:
            return np.zeros_like(sizes), sizes - 1
        if len(self.b_box) != 2 * len(shape):
            raise ValueError(f"For 'OcclusionSensitivity', 'b_box' must have two numbers for each "
                             f"of {len(shape)} axes, but got {len(self.b_box)}.")
        low, high = np.array(self.b_box[::2]), np.array(self.b_box[1::2])
        low, high = np.maximum(low, 0), np.where(high < 0, sizes - 1, high)
        if (high >= sizes).any() or (low > high).any():
            raise ValueError(f"For 'OcclusionSensitivity', 'b_box' must lie in the image of shape "
                             f"{shape}, with each minimum up to its maximum, but got {self.b_box}.")
        return low, high

    def eval(self) -> np.ndarray:
        """The score of the whole image minus that with each patch."""
        if self._sensitivity is None:
            raise no_samples(self)
        return np.squeeze(self._sensitivity)
