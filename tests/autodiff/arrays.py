"""A function, points and directions for tests of derivatives, and results as lists."""

from lamella import Tensor

X, Y, V = Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), Tensor([1.0, 10.0])


def square(x):
    return x * x


def arrays(tree):
    """The same structure with lists for Tensors."""
    if isinstance(tree, (tuple, list)):
        return [arrays(t) for t in tree]
    if isinstance(tree, dict):
        return {key: arrays(t) for key, t in tree.items()}
    return tree.asnumpy().tolist()
