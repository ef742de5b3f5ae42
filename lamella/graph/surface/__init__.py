"""The public functions: `jit`, GRAPH_MODE, marks, options, and compiling ahead of a call."""
