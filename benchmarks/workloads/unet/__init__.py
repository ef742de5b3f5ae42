"""A diffusion U-Net (Ho et al., 2020), which predicts noise in 4 images of 64 x 64."""

from .. import TINY

WIDTHS, SIZE, BATCH = ((8, 16), 16, 2) if TINY else ((64, 128, 256), 64, 4)
GROUPS, TIME = 8, 4 * WIDTHS[0]
