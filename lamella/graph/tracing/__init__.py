"""One run of a function, recorded: its kernels, its side effects, its lines."""
