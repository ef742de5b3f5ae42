"""In PyTorch."""

import functools

from torch.utils.data import DataLoader, TensorDataset

from . import BATCH


@functools.cache
def rows_of(images, labels):
    return DataLoader(TensorDataset(images, labels), BATCH, shuffle=True)


def epoch(_, images, labels):
    return [labels for images, labels in rows_of(images, labels)]
