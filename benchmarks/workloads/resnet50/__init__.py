"""ResNet-50 (He et al., 2015): 4 images of 224 x 224, or 128."""

from .. import LARGE, TINY

STEM, SIZE = (8, 64) if TINY else (64, 224)
# blocks, width, stride of the first
STAGES = ((1, 8, 1), (1, 16, 2)) if TINY else (
    (3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))
BATCH = 128 if LARGE else 4


def blocks():
    """Of each block: inputs, width and stride; it has four times as many outputs."""
    inputs = STEM
    for count, width, stride in STAGES:
        for number in range(count):
            yield inputs, width, stride if number == 0 else 1
            inputs = 4 * width
