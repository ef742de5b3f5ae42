"""Training: checkpoints and the tools around them."""
