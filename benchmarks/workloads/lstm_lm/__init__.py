"""A language model of two LSTM layers of 650 (Zaremba et al., 2014): 20 texts of 35 tokens."""

from .. import TINY

LAYERS = 2
WIDTH, LENGTH, VOCABULARY, BATCH = (24, 6, 50, 4) if TINY else (650, 35, 10_000, 20)
