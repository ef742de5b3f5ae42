"""load_param_into_net: names, types and shapes, with answers of MindSpore 2.10."""

import numpy as np
import pytest

import lamella as ms
from lamella import nn
from lamella.train.serialization import _load_dismatch_prefix_params, _update_param


def parameter(data, name="x", dtype=ms.float32):
    return ms.Parameter(ms.Tensor(data, dtype), name=name)


class Pair(nn.Cell):
    def __init__(self, dtype=ms.float32, shape=(2,)):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor(np.zeros(shape), dtype), name="w")
        self.b = ms.Parameter(ms.Tensor(np.zeros(shape), dtype), name="b")


ONE, TWO = [1.0, 2.0], [3.0, 4.0]


# (given, strict_load, (missing, unused), w, b); MindSpore leaves names found behind a prefix in the
# unused ones, against its documentation
@pytest.mark.parametrize("given, strict, answer, w, b", [
    ({"w": ONE, "b": TWO}, False, ([], []), ONE, TWO),
    ({"w": ONE, "zz": TWO}, False, (["b"], ["zz"]), ONE, [0, 0]),
    ({"net.w": ONE, "net.b": TWO}, False, ([], []), ONE, TWO),
    ({"net.w": ONE, "net.b": TWO}, True, (["w", "b"], ["net.w", "net.b"]), [0, 0], [0, 0]),
    ({"x.w": ONE, "y.b": TWO}, False, ([], []), ONE, TWO),
    ({"aw": ONE, "y": TWO}, False, (["b"], ["y"]), ONE, [0, 0]),
    ({"net.w": ONE, "b": TWO}, False, ([], []), ONE, TWO),
    ({"w": ONE, "b": TWO, "epoch": 3}, False, ([], ["epoch"]), ONE, TWO),
    ({}, False, (["w", "b"], []), [0, 0], [0, 0]),
])
def test_names(given, strict, answer, w, b):
    net = Pair()
    given = {name: parameter(data) for name, data in given.items()}
    assert ms.load_param_into_net(net, given, strict) == answer
    assert (net.w.asnumpy().tolist(), net.b.asnumpy().tolist()) == (w, b)


def test_texts_are_passed_over():
    net = Pair()
    assert ms.load_param_into_net(net, {"w": "text", "b": parameter(ONE)}) == ([], ["w"])
    assert net.w.asnumpy().tolist() == [0, 0]


FLOATS = [ms.float16, ms.float32, ms.float64, ms.bfloat16]
INTS = [ms.int8, ms.int16, ms.int32, ms.int64]


@pytest.mark.parametrize("own", [*FLOATS, *INTS, ms.uint8, ms.bool_])
@pytest.mark.parametrize("given", [ms.float32, ms.float16, ms.int32, ms.int64, ms.uint8, ms.bool_])
def test_types(own, given):
    net, values = Pair(own), {"w": parameter([1, 0], dtype=given)}
    if own == given or any(own in kind and given in kind for kind in (FLOATS, INTS)):
        assert ms.load_param_into_net(net, values) == (["b"], [])
        assert net.w.dtype == own and net.w.asnumpy().tolist() == [1, 0]
    else:
        with pytest.raises(RuntimeError, match=rf"'w' has type {own} .* but {given} in"):
            ms.load_param_into_net(net, values)
    if own != given:
        with pytest.raises(RuntimeError, match="'w' has type"):
            ms.load_param_into_net(net, values, strict_load=True)


def test_shapes():
    net = Pair()
    assert ms.load_param_into_net(net, {"w": parameter([[[1.0]], [[2.0]]])}) == (["b"], [])
    assert net.w.shape == (2,) and net.w.asnumpy().tolist() == ONE
    for data in ([[1.0, 2.0]], [1.0], 1.0, [1.0, 2.0, 3.0]):
        with pytest.raises(RuntimeError, match=r"'w' has shape \(2,\) in the network, but \("):
            ms.load_param_into_net(net, {"w": parameter(data)})


def test_a_failure_changes_nothing():
    net = Pair()
    with pytest.raises(RuntimeError, match="parameter 'b' has shape"):
        ms.load_param_into_net(net, {"w": parameter(ONE), "b": parameter([1.0, 2.0, 3.0])})
    assert net.w.asnumpy().tolist() == [0, 0]


def test_values_are_copied():
    net, given = Pair(), {"w": parameter(ONE), "b": parameter(TWO)}
    ms.load_param_into_net(net, given)
    given["w"].set_data(ms.Tensor([9.0, 9.0]))
    assert net.w.asnumpy().tolist() == ONE


def test_waiting_parameters_are_filled():
    with nn.no_init_parameters():
        w = ms.Parameter(ms.common.initializer.initializer("normal", (2,)), name="w")
    net = Pair()
    net.w = w
    ms.load_param_into_net(net, {"w": parameter(ONE)})
    assert not net.w.has_init and net.w.asnumpy().tolist() == ONE


@pytest.mark.parametrize("arguments", [
    (3, {}), (Pair(), []), (Pair(), {1: parameter(ONE)}), (Pair(), {"w": ms.Tensor(ONE)}),
    (Pair(), {"w": np.ones(2)}), (Pair(), {}, 1), (Pair(), {}, False, 1)])
def test_wrong_arguments(arguments):
    with pytest.raises(TypeError, match="For 'load_param_into_net'"):
        ms.load_param_into_net(*arguments)


def test_names_that_programs_import():
    net, missing = Pair(), ["w", "b"]
    _load_dismatch_prefix_params(net, {"m.w": parameter(ONE)}, missing, False)
    assert missing == ["b"] and net.w.asnumpy().tolist() == ONE
    _update_param(net.b, parameter(TWO), False)
    assert net.b.asnumpy().tolist() == TWO


class Around(nn.Cell):
    """Has parameters 'w' and 'inner.w'."""

    def __init__(self):
        super().__init__()
        self.w = parameter([0.0, 0.0], "w")
        self.inner = nn.CellList([Pair()])


@pytest.mark.parametrize("load", ["load_param_into_net", "_load_dismatch_prefix_params"])
def test_the_value_of_one_parameter_is_not_taken_for_another(load):
    """MindSpore takes that of 'inner.0.w' for 'w', whose name it ends in."""
    net, given = Around(), {"inner.0.w": parameter(ONE), "inner.0.b": parameter(TWO)}
    if load == "load_param_into_net":
        assert ms.load_param_into_net(net, given) == (["w"], [])
        assert net.inner[0].w.asnumpy().tolist() == ONE
    else:
        missing = ["w"]
        _load_dismatch_prefix_params(net, given, missing, False)
        assert missing == ["w"]
    assert net.w.asnumpy().tolist() == [0, 0]
