"""Copies of operations are made without their constructors, which check arguments."""

import copy
import pickle

import numpy as np
import pytest

from lamella.dataset import transforms, vision
from lamella.dataset.vision import Inter

IMAGE = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)


@pytest.mark.parametrize("operation", [
    vision.Resize((2, 3), Inter.NEAREST), vision.Pad([1, 0, 2, 1], (1, 2, 3)),
    transforms.TypeCast(np.float32), vision.Rescale(0.5, 1.0)])
@pytest.mark.parametrize("copied", [
    copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies(operation, copied):
    other = copied(operation)
    assert type(other) is type(operation) and other is not operation
    np.testing.assert_array_equal(other(IMAGE), operation(IMAGE))
