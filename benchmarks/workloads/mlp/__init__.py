"""A multi-layer perceptron, 784-512-512-10."""
