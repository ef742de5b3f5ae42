"""GPT-2 of 124 million weights (Radford et al., 2019): one text of 256 tokens; tied embedding."""

from .. import TINY

LAYERS, WIDTH, HEADS, LENGTH, VOCABULARY = (2, 32, 2, 16, 100) if TINY else (
    12, 768, 12, 256, 50257)
BATCH = 1
