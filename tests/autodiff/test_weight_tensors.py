"""Weights of a program's own class, which `param_info` makes Parameters, as in MindSpore."""

import numpy as np
import pytest

import lamella as ms
from lamella import ops
from lamella.tensors.param_info import ParamInfo


class Weight(ms.Tensor):
    """A Parameter as a library may define it: derived from Tensor alone."""

    def __init__(self, data, requires_grad=True):
        super().__init__(data)
        self.param_info = ParamInfo()
        self.param_info.name, self.param_info.requires_grad = "own", requires_grad


@pytest.fixture
def given():
    return (ms.Tensor([0.0, 1.0, 2.0]), Weight(np.array([1.0, 2.0, 3.0], np.float32)),
            ms.Parameter(np.array([2.0, 1.0, 0.0], np.float32), name="w"))


@pytest.mark.parametrize("form", ["tuple", "list", "alone", "with a Parameter", "twice"])
def test_gradients_are_those_of_parameters(given, form):
    x, own, other = given
    weights = {"tuple": (own,), "list": [own], "alone": own, "with a Parameter": (own, other),
               "twice": (own, own)}[form]
    value, found = ms.value_and_grad(lambda x: (x * own * own * other).sum(), None, weights)(x)
    found = found if isinstance(found, tuple) else (found,)
    wanted = [2 * x * own * other, x * own * own][:2 if form == "with a Parameter" else 1]
    wanted = wanted * 2 if form == "twice" else wanted
    assert float(value) == 4.0
    assert [g.asnumpy().tolist() for g in found] == [g.asnumpy().tolist() for g in wanted]
    assert isinstance(ms.grad(lambda x: (x * own).sum(), None, weights)(x), ms.Tensor) == (
        form == "alone")


def test_weights_keep_their_data_and_follow_updates(given):
    x, own, _ = given
    gradient = ms.grad(lambda x: (x * own * own).sum(), None, (own,))
    compiled = ms.jit(lambda x: gradient(x)[0])
    before = own._raw
    for step in range(4):
        wanted = (2 * x * own).asnumpy()
        np.testing.assert_array_equal(gradient(x)[0].asnumpy(), wanted)
        np.testing.assert_array_equal(compiled(x).asnumpy(), wanted)
        assert own._raw is before and not own._raw.requires_grad
        if step % 2:
            own.assign_value(own * 0.5)
            before = own._raw
        else:
            ops.assign(own, own - 0.25)
    assert compiled.report()["replays"] >= 2


def test_an_error_of_the_function_leaves_the_weight_as_it_was(given):
    x, own, _ = given
    before = own._raw

    def fails(x):
        raise KeyError(float((x * own).sum()))

    with pytest.raises(KeyError):
        ms.grad(fails, None, (own,))(x)
    assert own._raw is before


def test_frozen_weights_have_zero_gradients_and_names_come_from_param_info(given):
    x, own, _ = given
    frozen = Weight(np.ones(3, np.float32), requires_grad=False)
    found = ms.grad(lambda x: (x * own * frozen).sum(), None, (own, frozen), return_ids=True)(x)
    assert [name for name, _ in found] == ["own", "own"]
    assert found[0][1].asnumpy().tolist() == [0.0, 1.0, 2.0]
    assert not found[1][1].asnumpy().any()


def test_in_graph_mode_the_function_runs_with_the_same_gradients(given):
    x, own, _ = given
    mode = ms.get_context("mode")
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        found = ms.grad(lambda x: (x * own).sum(), None, (own,))(x)
    finally:
        ms.set_context(mode=mode)
    assert found[0].asnumpy().tolist() == [0.0, 1.0, 2.0]


def test_a_tensor_without_it_is_no_weight(given):
    with pytest.raises(TypeError, match="must be a Parameter"):
        ms.grad(lambda x: x, None, (given[0],))
