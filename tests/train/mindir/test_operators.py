"""Primitives that nodes of MindIR graphs name: attributes by their numbers, and inputs that are
attributes."""

from __future__ import annotations

from typing import Any

import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.core import dtype as mstype
from lamella.train.mindir import messages as of
from lamella.train.mindir import operators
from lamella.train.mindir.builder import attribute
from lamella.train.mindir.operators import STRUCTURE, operator_of
from lamella.train.mindir.values import MONAD, Weights
from lamella.train.wire_format import Message, parse, write

X = Tensor([[1.0, -2.0], [3.0, 4.0]])


def found(kind: str, function: bool = False, **attributes: Any) -> Any:
    """The function of a node's inputs, as an object with attributes or as a function."""
    message = Message(name="p", op_type=kind, prim_type=2 if function else 1, attribute=[
        attribute(name, value) for name, value in attributes.items()])
    return operator_of(parse(write(message, of.PRIMITIVE), of.PRIMITIVE), Weights("."))


@pytest.mark.parametrize("operator, name, default, given, want", [
    ("Pad", "mode", "bilinear", 0, "bilinear"), ("Pad", "mode", "bilinear", 1, "nearest"),
    ("f", "reduction", "none", 0, "sum"), ("f", "reduction", "mean", 1, "mean"),
    ("f", "reduction", "mean", 2, "none"), ("f", "reduction", "mean", 7, 7),
    ("f", "pad_mode", "valid", 2, "valid"), ("f", "pad_mode", "same", 0, "pad"),
    ("f", "pad_mode", "same", "valid", "valid"), ("f", "data_format", "NCHW", 1, "NHWC"),
    ("f", "data_format", "NCHW", 14, "NCDHW"), ("f", "mode", "other text", 1, 1),
    ("f", "count", 3, 1, 1), ("f", "flag", True, 1, 1), ("f", "flag", "none", True, True),
    ("TensorScatterElements", "reduction", "none", 0, "none"),
    ("TensorScatterElements", "reduction", "none", 1, "add"),
    ("TensorScatterElements", "reduction", "none", "add", "add"),
    ("TensorScatterElements", "axis", 0, 1, 1), ("f", "dtype", mstype.float32, 43, mstype.float32),
    ("f", "dtype", mstype.float32, 34, mstype.int32), ("f", "dtype", mstype.float32, 99, 99),
    ("f", "dtype", mstype.float32, mstype.int8, mstype.int8)])
def test_attributes_that_have_numbers(operator, name, default, given, want):
    got = operators._named(operator, name, default, given)
    assert got == want and type(got) is type(want)


@pytest.mark.parametrize("name, sizes, want", [
    ("kernel_size", (1, 1, 2, 3), (2, 3)), ("strides", [1, 1, 2, 3], (2, 3)),
    ("stride", (1, 1, 2, 3), (2, 3)), ("dilations", (1, 1, 2, 3), (2, 3)),
    ("dilation", (2, 3), (2, 3)), ("kernel_size", 3, 3), ("stride", (1, 1, 2, 3, 4),
                                                          (1, 1, 2, 3, 4)),
    ("pad", (1, 1, 2, 3), (1, 1, 2, 3)), ("pad_list", (1, 2, 3, 4), (1, 2, 3, 4))])
def test_sizes_by_dimension(name, sizes, want):
    assert operators._plane(name, sizes) == want


@pytest.mark.parametrize("number", of.TYPES)
def test_types_by_their_numbers(number):
    assert str(operators._type(number)).lower() == of.TYPES[number].rstrip("_")
    for other in (None, 29, 1.0, True, "float32"):
        assert operators._type(other) is other


def test_inputs_that_are_attributes():
    """The last ones; and a list of them, too."""
    cast = found("Cast", True)
    assert cast(X, 34).dtype == ms.int32 and cast(X, 42).dtype == ms.float16
    total = found("ReduceSum", True)
    assert float(total(X, (), False, False)) == 6.0
    assert total(X, (1,), True, False).asnumpy().tolist() == [[-1.0], [7.0]]
    assert total(X, [0], False, False).asnumpy().tolist() == [4.0, 2.0]
    assert total(X, [0], False, False).asnumpy().tolist() == [4.0, 2.0]
    product = found("MatMul", True)
    for first, second in ((False, False), (True, False), (False, True), (True, True)):
        a, b = (X.T if turned else X for turned in (first, second))
        assert (product(X, X, first, second).asnumpy() == (a @ b).asnumpy()).all()
    with pytest.raises(ValueError, match="a node of 'MatMul' has 1 inputs"):
        product(X)
    with pytest.raises(ValueError, match="its operator 'Softmax' has wrong attributes"):
        found("Softmax", True)(X, "no axis")


def test_objects_with_attributes():
    assert found("Softmax", axis=0)(X).asnumpy().sum(0).tolist() == pytest.approx([1.0, 1.0])
    assert found("Softmax", axis=(-1,), other=3)(X).asnumpy().sum(1).tolist() == (
        pytest.approx([1.0, 1.0]))  # attributes that nobody asks for are left out
    values, places = found("Sort", axis=1, descending=True)(X)
    assert values.asnumpy().tolist() == [[1, -2], [4, 3]] and places.asnumpy().tolist() == [
        [0, 1], [1, 0]]
    pooled = found("MaxPool", kernel_size=(1, 1, 2, 1), strides=(1, 1, 2, 1), pad_mode="VALID",
                   format="NCHW")(X[None, None])
    assert pooled.asnumpy().tolist() == [[[[3, 4]]]]
    with pytest.raises(ValueError, match="its operator 'Softmax' has wrong attributes"):
        found("Softmax", axis="x")


@pytest.mark.parametrize("kind, other", [
    ("MatMulV2", "MatMul"), ("Adds", "Add"), ("Muls", "Mul"), ("AddScalar", "Add"),
    ("MulScalar", "Mul")])
def test_names_that_python_has_not(kind, other):
    assert operators._class_of(kind) is operators._class_of(other) is getattr(ops, other)


@pytest.mark.parametrize("kind", ["relu", "Scalar", "no name", "X" * 200, "", "Tensor", "nn"])
def test_names_of_no_primitive(kind):
    assert operators._class_of(kind) is None
    with pytest.raises(ValueError, match="it has the operator '.{0,80}', which Lamella does not"):
        found(kind)


def test_what_says_in_which_order_nodes_run():
    assert found("Add")(X, MONAD, X, MONAD).asnumpy().tolist() == [[2, -4], [6, 8]]
    assert found("Neg", True)(X, MONAD).asnumpy().tolist() == [[-1, 2], [-3, -4]]


def test_how_a_graph_is_put_together():
    assert STRUCTURE["MakeTuple"](1, 2) == (1, 2) and STRUCTURE["make_list"](1, 2) == [1, 2]
    for name in ("TupleGetItem", "tuple_getitem", "ListGetItem", "list_getitem"):
        assert STRUCTURE[name]((5, 6), 1) == 6
    assert STRUCTURE["Depend"](3, 4, 5) == 3 and STRUCTURE["UpdateState"](1) is MONAD
    assert STRUCTURE["Return"](3) == STRUCTURE["Identity"](3) == 3
    moved = found("TensorMove")(X)
    assert moved is not X and (moved.asnumpy() == X.asnumpy()).all()
    assert found("MakeTuple") is STRUCTURE["MakeTuple"]
