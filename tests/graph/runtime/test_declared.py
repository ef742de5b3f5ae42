"""Calls that aren't what `set_inputs` or `enable_dynamic` declared are errors, as in MindSpore."""

import pickle

import pytest

import lamella as ms
from lamella.graph.runtime.declared import Dimensions, Signatures, check_call


@pytest.fixture(autouse=True)
def _graph_mode():
    ms.set_context(mode=ms.GRAPH_MODE)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


class Sum(ms.nn.Cell):
    def construct(self, x, y=None):
        return x + 1 if y is None else x + y


X = ms.ops.ones((2, 3))
HALF = ms.ops.ones((2, 3), ms.float16)


def form(*shape, dtype=ms.float32):
    return ms.Tensor(shape=list(shape), dtype=dtype)


ANY = ms.Tensor(shape=None, dtype=ms.float32)


@pytest.mark.parametrize("declared, given, error, message", [
    ([form(None, 3)], [HALF], TypeError, r"1th type should be Tensor\[Float32\], but got T"),
    ([ANY], [HALF], TypeError, r"1th type should be Tensor\[Float32\], but got Tensor\[Float16\]"),
    ([form(None, 3), ANY], [X, HALF], TypeError, "the 2th type should be"),
    ([form(None, 4)], [X], ValueError, "shape of 1th input must .* expected: 4, and input: 3"),
    ([form(2, 3, None)], [X], ValueError, "dims of 1th input must .* expected: 3, and input: 2"),
    ([form(None, 3)], [X, X], ValueError, "expected one, but got expected: 1 and input: 2"),
    ([form(None, 3), ANY], [X], ValueError, "expected one, but got expected: 2 and input: 1"),
    ([ANY], [1], TypeError, "argument 1 must be a Tensor, as was declared, but got 1 of type int"),
])
def test_inputs_that_were_not_declared(declared, given, error, message):
    net = Sum()
    net.set_inputs(*declared)
    with pytest.raises(error, match=message):
        net(*given)


def test_inputs_that_were_declared():
    net = Sum()
    net.set_inputs(form(None, 3), form(ms.Symbol(max=4), 3))
    for rows in (2, 4, 3):
        x = ms.ops.ones((rows, 3))
        assert net(x, x).shape == (rows, 3)
    with pytest.raises(ValueError, match="expected: 3, and input: 2"):  # after graphs for others
        net(ms.ops.ones((3, 2)), X)
    named = Sum()
    named.set_inputs(x=form(None, 3))
    assert named(X).shape == (2, 3)
    with pytest.raises(TypeError, match="1th type"):
        named(HALF)


def test_a_gradient_is_no_call_of_the_cell():
    net = Sum()
    net.set_inputs(form(None, 3))
    assert ms.grad(net)(HALF).dtype == ms.float16


def test_eager_calls_are_not_checked():
    ms.set_context(mode=ms.PYNATIVE_MODE)
    net = Sum()
    net.set_inputs(form(None, 3))
    assert net(HALF).dtype == ms.float16


def test_enable_dynamic():
    @ms.enable_dynamic(x=form(None, 3))
    @ms.jit
    def total(x, y):
        return x.sum() + y

    assert total(X, 1) == 7
    for given, error, message in (
            (HALF, TypeError, "input tensor dtype = Float16, dynamic tensor dtype = Float32, t"),
            (ms.ops.ones((2, 4)), ValueError, r"shape = \[2, 4\], dynamic tensor shape = \[-1"),
            (ms.ops.ones(3), ValueError, r"shape = \[3\], dynamic tensor shape = \[-1"),
            (None, TypeError, "For 'enable_dynamic', argument 1 must be a Tensor")):
        with pytest.raises(error, match=message):
            total(given, 1)


def test_enable_dynamic_of_a_method():
    ms.set_context(mode=ms.PYNATIVE_MODE)  # in graphs the method is a part of the Cell's graph

    class Net(ms.nn.Cell):
        @ms.enable_dynamic(x=[form(None, 3), ANY])
        @ms.jit
        def construct(self, x):
            return x[0] + x[1]

    assert Net()([X, X]).shape == (2, 3)
    with pytest.raises(TypeError, match="input tensor dtype = Float16"):
        Net()([X, HALF])


def test_dimensions_are_copied_with_their_type():
    dims = pickle.loads(pickle.dumps(Dimensions.of(form(None, 3))))
    assert dims == (None, 3) and dims.dtype is ms.float32 and str(dims) == "[-1, 3]"


@pytest.mark.parametrize("given, is_checked", [
    ([X, HALF], True), ((X, HALF), True), ([X], False), ([HALF] * 3, False), (HALF, False),
    (3, False), ({0: HALF, 1: HALF}, False)])
def test_containers_of_the_declared_length_are_checked(given, is_checked):
    wanted = Dimensions.of(form(None, 3))
    declared = Signatures([[wanted, wanted]], "set_inputs", True)
    if is_checked:
        with pytest.raises(TypeError, match="1th type should be"):
            check_call(max, declared, (given,), {})
    else:
        check_call(max, declared, (given,), {})
    check_call(max, [[wanted]], (given,), {})  # which nobody declared


@pytest.mark.parametrize("owner, all_given, args, kwargs, is_right", [
    ("set_inputs", True, (X,), {"y": X}, True), ("set_inputs", True, (X,), {}, False),
    ("set_inputs", False, (X,), {}, True), ("set_inputs", True, (X, X), {}, True),
    ("enable_dynamic", True, (X,), {}, True), ("enable_dynamic", True, (X, X, HALF), {}, True)])
def test_how_many_arguments_are_given(owner, all_given, args, kwargs, is_right):
    declared = Signatures([Dimensions.of(form(None, 3))] * 2, owner, all_given)
    if is_right:
        check_call(max, declared, args, kwargs)
    else:
        with pytest.raises(ValueError, match="expected one, but got expected: 2 and input: 1"):
            check_call(max, declared, args, kwargs)


@pytest.mark.parametrize("sizes, text", [
    ((2, None), "[2, -1]"), ((0, -1), "[0, -1]"), ((ms.Symbol(max=4), 1), "[-1, 1]")])
def test_dimensions_that_are_fixed(sizes, text):
    assert str(Dimensions(sizes)) == text
