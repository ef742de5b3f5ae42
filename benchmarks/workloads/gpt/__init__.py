"""A GPT (Radford et al., 2019): 4 layers, width 256, 8 heads, 128 tokens out of 1024."""

import numpy as np

from ...workload import classes

LAYERS, WIDTH, HEADS, LENGTH, VOCABULARY = 4, 256, 8, 128, 1024
DEPTH = WIDTH // HEADS


def tokens(batch: int, seed: int = 0) -> np.ndarray:
    return classes(batch, LENGTH, of=VOCABULARY, seed=seed)
