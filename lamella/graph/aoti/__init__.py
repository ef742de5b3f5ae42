"""Machine code by AOTInductor, made in another process."""
