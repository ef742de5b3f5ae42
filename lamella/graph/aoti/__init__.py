"""Machine code by AOTInductor, compiled in another process."""
