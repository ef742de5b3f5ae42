"""A classifier of sequences: embedding 64, LSTM 128, the last output to 4 classes."""
