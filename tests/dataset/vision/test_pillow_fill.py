"""What is filled beside images of Pillow's, by their modes: as MindSpore 2.10 fills it."""

import numpy as np
import pytest
from PIL import Image

from lamella.dataset import vision

FILLS = [("RGB", 7, [7, 7, 7]), ("RGB", (1, 2, 3), [1, 2, 3]), ("HSV", 7, [7, 7, 7]),
         ("RGBA", 7, [7, 7, 7, 255]), ("RGBA", (1, 2, 3), [1, 2, 3, 255]),
         ("CMYK", 7, [7, 7, 7, 255]), ("L", 7, 7), ("L", (1, 2, 3), 1), ("1", 7, True),
         ("1", (0, 2, 3), False), ("P", 7, 0), ("P", (1, 2, 3), 0)]


@pytest.mark.parametrize("mode, fill, wanted", FILLS)
@pytest.mark.parametrize("operation", [
    lambda fill: vision.Pad(1, fill_value=fill),
    lambda fill: vision.RandomCrop(8, padding=1, fill_value=fill),
    lambda fill: vision.RandomRotation((45, 45), fill_value=fill),
    lambda fill: vision.RandomAffine((45, 45), fill_value=fill),
], ids=["Pad", "RandomCrop", "RandomRotation", "RandomAffine"])
def test_corners_have_the_fill_value_of_the_mode(operation, mode, fill, wanted):
    image = operation(fill)(Image.new(mode, (6, 6)))
    found = np.asarray(image)
    assert image.mode == mode
    np.testing.assert_array_equal(found[0, 0], wanted)
    np.testing.assert_array_equal(found[-1, -1], wanted)
    assert not found[found.shape[0] // 2, found.shape[1] // 2].any()


@pytest.mark.parametrize("mode, fill, wanted", FILLS)
@pytest.mark.parametrize("size", [(6, 8), (8, 6)])
def test_a_crop_larger_than_the_image(size, mode, fill, wanted):
    image = Image.new(mode, (6, 6))
    crop = np.asarray(vision.RandomCrop(size, pad_if_needed=True, fill_value=fill)(image))
    ends = [crop[0, 0].tolist(), crop[-1, -1].tolist()]  # one of them is filled wherever it lies
    assert wanted in ends and crop.shape[:2] == size
