"""BERT-base (Devlin et al., 2018): every token predicted, dropout .1, 4 texts of 128 tokens."""

from .. import TINY

LAYERS, WIDTH, HEADS, LENGTH, VOCABULARY = (2, 32, 2, 16, 100) if TINY else (
    12, 768, 12, 128, 30522)
BATCH, DROPOUT = 4, 0.1
