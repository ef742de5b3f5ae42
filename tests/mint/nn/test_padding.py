"""Padding layers of `mint.nn`: what they take for `padding`, as recorded from MindSpore 2.10."""

import numpy as np
import pytest

from lamella import Tensor, mint, nn

X = Tensor(np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4))
NAMES = [f"{kind}Pad{n}d" for kind in ("Constant", "Zero", "Reflection", "Replication")
         for n in (1, 2, 3)]


def made(name, padding):
    return getattr(mint.nn, name)(padding, *((0.5,) if name[0] == "C" else ()))


@pytest.mark.parametrize("name", NAMES)
def test_padding(name):
    ends = 2 * int(name[-2])
    for padding in (1, (1,) * ends, [1] * ends):
        x = X[0, 0] if ends == 2 else X[0] if ends == 4 else X
        assert made(name, padding)(x).shape[-1] == 6
    for wrong in (None, 1.5, "a", (1,) * (ends + 1), (1,) * (ends - 1)):
        with pytest.raises(ValueError, match=rf"For '{name}', 'padding' must be an int or a tuple"):
            made(name, wrong)
    for wrong in (True, (1.0,) * ends):
        with pytest.raises(TypeError, match=f"For '{name}', 'padding' must be"):
            made(name, wrong)
    for amount in (0, -1, (-1,) * ends):
        if name[0] in "CZ":
            made(name, amount)
        else:
            with pytest.raises(ValueError, match=f"For '{name}', 'padding' must be an int of 1"):
                made(name, amount)


def test_they_are_the_layers_of_nn():
    assert issubclass(mint.nn.ReflectionPad1d, nn.ReflectionPad1d)
    for one, other in ((mint.nn.ReflectionPad2d((1, 0, 1, 2)), nn.ReflectionPad2d((1, 0, 1, 2))),
                       (mint.nn.ConstantPad1d([2, 1], 7.0), nn.ConstantPad1d((2, 1), 7.0))):
        assert (one(X) == other(X)).all()
    assert mint.nn.ZeroPad1d(1)(X)[..., 0].abs().sum() == 0
