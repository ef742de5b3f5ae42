"""Reports on programs: gradients and why they are zero, what limits a step, gradient checks."""
