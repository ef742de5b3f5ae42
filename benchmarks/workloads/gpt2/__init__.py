"""GPT-2 of 124 million weights (Radford et al., 2019): one text of 256 tokens, or 16 of 1,024;
tied embedding."""

from .. import LARGE, TINY

LAYERS, WIDTH, HEADS, LENGTH, VOCABULARY = (2, 32, 2, 16, 100) if TINY else (
    12, 768, 12, 1024 if LARGE else 256, 50257)
BATCH = 16 if LARGE else 1
