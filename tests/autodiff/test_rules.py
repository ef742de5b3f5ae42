"""What is known of the user's rules."""

import functools
import inspect

import lamella as ms
from lamella import Tensor, nn
from lamella.autodiff.rules import signature_of


class Scaled(nn.Cell):
    def construct(self, x, factor=2.0):
        return x * factor

    def bprop(self, x, factor, out, dout):
        return dout * factor, 0.0


def wrapped(function):
    @functools.wraps(function)
    def called(*args, **kwargs):
        return function(*args, **kwargs)

    return called


def with_keyword(self, x, *, factor=2.0):
    return x * factor


def test_signatures_are_those_that_python_finds():
    cell = Scaled()
    for function in (cell.construct, cell.bprop, Scaled.construct, cell.construct, with_keyword,
                     wrapped(with_keyword), functools.partial(with_keyword, cell), cell, print):
        for _ in range(2):
            assert signature_of(function) == inspect.signature(function)
    assert signature_of(cell.construct) is signature_of(Scaled().construct)
    defaults = with_keyword.__kwdefaults__
    assert defaults is not None
    defaults["factor"] = 3.0
    assert signature_of(with_keyword).parameters["factor"].default == 3.0


def test_a_changed_default_is_seen():
    cell = Scaled()
    for factor in (2.0, 5.0):
        Scaled.construct.__defaults__ = (factor,)
        gradient = ms.grad(lambda x: cell(x).sum())(Tensor([1.0, 2.0]))
        assert gradient.asnumpy().tolist() == [factor, factor]
