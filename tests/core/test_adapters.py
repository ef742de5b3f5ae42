"""Adapters: what they forward, their signatures, which arguments they reject."""

import inspect

import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.core.adapters import adapted

X = Tensor([[1.0, 3.0], [4.0, 2.0]])


def takes(a, b=2, *, c=3, d="x, y"):
    return a, b, c, d


def test_signature_is_the_given_one():
    made = adapted(takes, "x:a, *, sep:d=', ', c=(1, 2)", name="made")
    assert str(inspect.signature(made)) == "(x, *, sep=', ', c=(1, 2))"
    assert made.__name__ == "made"
    assert made.__module__ == __name__


@pytest.mark.parametrize(("signature", "args", "named", "expected"), [
    ("a, b=5", (1,), {}, (1, 5, 3, "x, y")),
    ("b, a", (1, 2), {}, (2, 1, 3, "x, y")),
    ("x:a, *, y:c=None", (1,), {"y": 7}, (1, 2, 7, "x, y")),
    ("x:a, /, d='q'", (1, "z"), {}, (1, 2, 3, "z")),
], ids=["default", "order", "renamed", "by_position"])
def test_arguments(signature, args, named, expected):
    assert adapted(takes, signature)(*args, **named) == expected


def test_fixed_arguments():
    assert adapted(takes, "x:a", c=9)(1) == (1, 2, 9, "x, y")
    assert "with `c=9`" in (adapted(takes, "x:a", c=9).__doc__ or "")


def test_an_operator():
    largest = adapted(ops.amax, "input, dim:axis=(), keepdim:keepdims=False", doc="Not more.")
    assert largest(X, 1).asnumpy().tolist() == [3, 4]
    assert largest(X, dim=0, keepdim=True).shape == (1, 2)
    assert largest.__doc__ == ("As `ops.amax`; `dim` is its `axis`, `keepdim` its `keepdims`. "
                               "Not more.")
    assert ms.jit(largest)(X, 1).asnumpy().tolist() == [3, 4]


def test_wrong_calls():
    with pytest.raises(TypeError, match="unexpected keyword argument 'axis'"):
        adapted(ops.amax, "input, dim:axis=()")(X, axis=1)
    with pytest.raises(ValueError, match="'amax' has no argument 'dims'"):
        adapted(ops.amax, "input, dim:dims=()")
