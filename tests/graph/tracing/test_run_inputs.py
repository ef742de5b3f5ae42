"""What a function is given while it is recorded, and what of it the caller has afterwards."""

import types

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor, jit, ops
from lamella.graph.tracing.run_inputs import RunInputs, reached_twice
from lamella.graph.tracing.run_kind import Real

ONE, OTHER, WEIGHT = Tensor([1.0]), Tensor([2.0]), Parameter(Tensor([3.0]), name="w")


@pytest.mark.parametrize("arguments, held, found", [
    ([ONE], [ONE], [ONE]), ([ONE, OTHER], [OTHER], [OTHER]), ([ONE], [OTHER], []), ([ONE], [], []),
    ([WEIGHT], [WEIGHT], []), ([3, ONE, [OTHER]], [ONE, OTHER], [ONE])])
def test_arguments_that_are_also_found_elsewhere(arguments, held, found):
    assert reached_twice(arguments, held) == set(map(id, found))


def test_arguments_that_are_stood_for():
    one, other, held = Tensor([1.0]), Tensor([2.0]), Tensor([3.0])
    one.name = "one"
    inputs = RunInputs((one, [one], other), {"again": one}, [held, one], Real(), {id(one)})
    first, (inner,), second = inputs.args
    assert first is inputs.kwargs["again"] is not one and inner is one and second is other
    assert first.name == "one" and first.tolist() == [1.0]
    assert list(map(id, inputs.tensors)) == list(map(id, (first, one, other, first)))
    assert len(set(map(id, inputs.data))) == len(inputs.data) == 6
    value = {"a": [first, other], "b": (inner, 3)}
    back = inputs.with_originals(value)
    assert back["a"][0] is one and back["a"][1] is other and back["b"][0] is one
    kept = [other, 3]
    assert inputs.with_originals(kept) is kept
    with inputs.lent():
        first.n = 5
        inputs.args[0]._raw = torch.tensor([7.0])
        assert one.tolist() == [1.0] and held._raw is inputs.data[4] is not one._raw
    assert one.tolist() == [7.0] and one.n == 5
    with pytest.raises(BaseException, match="changes an attribute or a hook of a Tensor"):
        inputs.check()


def test_tensors_that_require_gradients_are_lent_without():
    raw = torch.ones(2, requires_grad=True)
    given, held = Tensor([1.0, 2.0]), Tensor([3.0])
    given._raw = raw
    inputs = RunInputs((given, given), {}, [held], Real(), ())
    with inputs.lent():
        assert not given._raw.requires_grad and given._raw.data_ptr() == raw.data_ptr()
        inputs.check()
        held._raw = torch.tensor([4.0])
    assert given._raw is raw and held.tolist() == [4.0] and len(set(map(id, inputs.data))) == 3


def assigned(held, given, x):
    given.assign_value(x)
    return held.x * given


def of_another_type(held, given, x):
    given.set_dtype(ms.float16)
    return held.x * 3 + given


def with_a_mark(held, given, x):
    given.mark = getattr(given, "mark", 0) + 1
    return held.x * given.mark


def compared(held, given, x):
    return x * (2 if held.x is given else 3)


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("use", [assigned, of_another_type, with_a_mark, compared])
def test_what_a_run_does_to_an_argument_that_is_found_elsewhere_stays(use):
    def program(wrap):
        held = types.SimpleNamespace(x=Tensor([1.0, 2.0]))

        call, found = wrap(lambda given, x: use(held, given, x)), []
        for number in range(4):
            found.append((call(held.x, Tensor([1.0, number])).tolist(), held.x.tolist(),
                          held.x.dtype.name, vars(held.x)))
        return found

    assert program(jit) == program(lambda fn: fn)


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("use", [
    lambda held, a, b: a + held.x, lambda held, a, b: (a.add_(1), b * 2, held.x * 3),
    lambda held, a, b: (held.x.add_(b), a * 1), lambda held, a, b: (a, b, held.x),
    lambda held, a, b: ops.assign(held.w, a) + b])
def test_one_tensor_as_two_arguments_and_elsewhere(use):
    def program(wrap):
        held = types.SimpleNamespace(x=Tensor([1.0]), w=Parameter(Tensor([0.0]), name="w"))
        call, found = wrap(lambda a, b: use(held, a, b)), []
        for number in range(12):
            other, third = Tensor([2.0 + number]), Tensor([3.0])
            given = [(held.x, held.x), (held.x, other), (other, other), (other, third)][number % 4]
            results = call(*given)
            results = results if isinstance(results, tuple) else (results,)
            found.append(([[r.tolist() for r in results], held.x.tolist(), other.tolist()],
                          [[r is t for t in (*given, held.x)] for r in results]))
        return found

    assert program(jit) == program(lambda fn: fn)


def test_a_network_whose_weights_are_lent_is_left_as_it_was():
    weight = Parameter(Tensor([1.0, 2.0]), name="w")
    before = weight._data

    @jit
    def step(x):
        return x * weight

    for number in range(3):
        np.testing.assert_array_equal(step(Tensor([2.0, number])).asnumpy(), [2.0, 2.0 * number])
        assert weight._data is before
    with pytest.raises(ValueError, match="stop"):
        jit(lambda x: (x * weight, (_ for _ in ()).throw(ValueError("stop"))))(weight * 2)
    assert weight._data is before
