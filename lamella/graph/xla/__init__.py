"""Machine code by XLA, compiled in another process."""
