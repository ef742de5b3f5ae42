"""How a kernel's error becomes one that a user understands."""

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor
from lamella.errors import describe, one_of, op

X = Tensor([[1.0, 2.0], [3.0, 4.0]])


@op
def product(input, other, scale=1):
    """The matrix product."""
    return Tensor.from_torch(input._raw @ other._raw * scale)


def test_what_is_given_is_described():
    assert describe(X) == "Tensor[2, 2] Float32"
    assert describe(Parameter(X, name="w")) == "Parameter[2, 2] Float32"
    assert describe((1, [X])) == "(1, [Tensor[2, 2] Float32])"
    assert describe("a" * 200).startswith("str 'aaa") and len(describe("a" * 200)) < 90


@pytest.mark.parametrize("call, error, message", [
    (lambda: product(X, Tensor([1.0, 2.0, 3.0])), ValueError,
     r"For 'product', .*input=Tensor\[2, 2\] Float32, other=Tensor\[3\] Float32"),
    (lambda: product(X, 3), TypeError, "For 'product', the argument 'other' must be a Tensor"),
    (lambda: product(X, Tensor([1, 2])), TypeError, r"For 'product', .*other=Tensor\[2\] Int64"),
    (lambda: product(X), TypeError, "For 'product', missing a required argument: 'other'.*takes"),
    (lambda: product(X, X, scal=2), TypeError, "For 'product', got an unexpected keyword.*'scal'"),
    (lambda: X + Tensor([1.0, 2.0, 3.0]), ValueError, r"For 'add', .*other=Tensor\[3\] Float32"),
    (lambda: X @ 3, TypeError, "For 'matmul'"),
])
def test_kernel_errors_name_function_and_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_errors_of_ours_and_of_users_pass_through():
    @op
    def picky(input):
        raise ValueError("For 'picky', this is the message.")

    @op
    def broken(input):
        raise AttributeError("'dict' object has no attribute 'shape'")

    with pytest.raises(ValueError, match="^For 'picky', this is the message.$"):
        picky(X)
    with pytest.raises(AttributeError, match="'dict' object"):
        broken(X)


def test_operators_keep_their_name_and_signature():
    import inspect

    assert product.__name__ == "product" and list(inspect.signature(product).parameters) == [
        "input", "other", "scale"]
    assert ms.ops.sin.__doc__


@pytest.mark.parametrize("value", ["c", None, 1, ["a"], np.array(["a", "b"]), ms.Tensor([1.0])],
                         ids=["str", "None", "int", "list", "array", "Tensor"])
def test_one_of_a_few_values(value):
    assert one_of("a", ("a", "b"), "mode", "pad") == "a"
    with pytest.raises(ValueError, match="For 'pad', 'mode' must be one of 'a', 'b', but got"):
        one_of(value, ("a", "b"), "mode", "pad")
