"""What an operation costs besides its arithmetic: one addition, and the gradient of a chain."""
