"""Assignment to Parameters and Tensors, also while a gradient is computed."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, ops


def parameter(values: object = (1.0, 2.0), dtype: ms.Type = ms.float32) -> Parameter:
    return Parameter(Tensor(values, dtype), name="w")


def test_assign_writes_into_the_memory_of_the_parameter() -> None:
    w = parameter()
    memory = w.asnumpy()
    out = ops.assign(w, Tensor([3.0, 4.0]))
    assert memory.tolist() == w.tolist() == out.tolist() == [3.0, 4.0]
    assert not isinstance(out, Parameter)


@pytest.mark.parametrize("function, want", [
    (ops.assign_add, [5.0, 7.0]), (ops.AssignAdd(), [5.0, 7.0]),
    (ops.assign_sub, [-3.0, -3.0]), (ops.AssignSub(), [-3.0, -3.0]), (ops.Assign(), [4.0, 5.0]),
])
def test_faces(function: object, want: list[float]) -> None:
    for variable in (parameter(), Tensor([1.0, 2.0])):
        assert function(variable, Tensor([4, 5])).tolist() == want  # type: ignore[operator]
        assert variable.tolist() == want


def test_numbers_and_types() -> None:
    step = parameter(0, ms.int32)
    ops.assign_add(step, 1)
    assert step.dtype == ms.int32 and int(step) == 1
    with pytest.raises(TypeError, match="'variable' is torch.int32"):
        ops.assign_add(step, Tensor(0.5))
    with pytest.raises(ValueError, match=r"the shape of 'variable', \(2,\), but got \(3,\)"):
        ops.assign(parameter(), Tensor([1.0, 2.0, 3.0]))
    with pytest.raises(TypeError, match="'variable' must be a Tensor, but got"):
        ops.assign(1.0, Tensor(1.0))


def test_assignment_inside_a_gradient_keeps_what_was_recorded() -> None:
    w = parameter()

    def loss(x: Tensor) -> Tensor:
        out = (w * w * x).sum()
        ops.assign_add(w, Tensor([10.0, 10.0]))
        return out

    gradient = ms.grad(loss, None, ms.ParameterTuple([w]))(Tensor([1.0, 1.0]))
    gradient = gradient[0] if isinstance(gradient, tuple) else gradient
    assert gradient.tolist() == [2.0, 4.0] and w.tolist() == [11.0, 12.0]


@pytest.mark.filterwarnings("ignore:.*through the assignment")  # as is said
def test_gradients_of_what_assignments_give() -> None:
    """MindSpore 2.10's numbers: through a sum to the value, not through a plain assignment."""
    w, v = parameter(), parameter()
    x = Tensor([1.0, 2.0])
    assert ms.grad(lambda x: (ops.assign(w, x * 3) * x).sum())(x).tolist() == [3.0, 6.0]
    value, (gx, gv) = ms.value_and_grad(
        lambda x: (ops.assign_add(v, x * 3) * x).sum(), 0, ms.ParameterTuple([v]))(x)
    assert float(value) == 20.0
    assert gx.tolist() == [7.0, 14.0] and gv[0].tolist() == [1.0, 2.0]


def test_scatter_into_parameters() -> None:
    w = parameter([[1.0, 2.0], [3.0, 4.0]])
    ops.ScatterUpdate()(w, Tensor([0], ms.int32), Tensor([[5.0, 6.0]]))
    ops.scatter_add(w, Tensor([[1, 1]]), ops.ones((1, 2, 2)))
    assert w.tolist() == [[5.0, 6.0], [5.0, 6.0]]
    ops.scatter_nd_sub(w, Tensor([[0, 1]]), Tensor([6.0]))
    assert w.tolist() == [[5.0, 0.0], [5.0, 6.0]]
    with pytest.raises(ValueError, match="'updates' must have shape"):
        ops.scatter_update(w, Tensor([0]), Tensor([1.0]))


def test_integers_divide_towards_zero() -> None:
    out = ops.tensor_scatter_div(Tensor([7, -7, 9]), Tensor([[0], [1]]), Tensor([2, 2]))
    np.testing.assert_array_equal(out.asnumpy(), [3, -3, 9])


def test_print_shows_types(capsys: pytest.CaptureFixture[str]) -> None:
    ops.Print()("loss", Tensor([1, 2]), 3)
    assert capsys.readouterr().out == "loss\nTensor(shape=[2], dtype=Int64, value= [1, 2])\n3\n"


@pytest.mark.parametrize("compiled", [False, True])
def test_no_addition_of_another_thread_is_lost(compiled: bool) -> None:
    w, one = parameter((0.0, 0.0)), Tensor([1.0, 1.0])

    def add(x: Tensor) -> Tensor:
        ops.assign_sub(w, -x)
        return ops.assign_add(w, x)

    step = ms.jit(add) if compiled else add
    step(one * 0)
    start = threading.Barrier(2)

    def run() -> None:
        start.wait(60)
        for _ in range(300):
            step(one)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert w.asnumpy().min() >= 1190  # of 1,200: kernels on one tensor may still overlap


@pytest.mark.parametrize("kind, value, fits", [
    (ms.float32, 3, True), (ms.float32, 2.5, True), (ms.int32, 3, True), (ms.int32, 2.5, False),
    (ms.float32, Tensor([2.5], ms.float16), True), (ms.float16, Tensor([2.5]), False),
    (ms.int32, Tensor([3], ms.int64), False), (ms.int64, Tensor([3], ms.int32), True),
    (ms.int32, True, True), (ms.complex64, Tensor([2.5]), True),
    (ms.float32, Tensor([[[3]]]), True), (ms.float32, Tensor(3), True)], ids=repr)
def test_values_of_one_element(kind: ms.Type, value: object, fits: bool) -> None:
    for variable in (parameter([1], kind), Tensor([1], kind)):
        if not fits:
            for function in (ops.assign, ops.assign_add, ops.assign_sub):
                with pytest.raises(TypeError, match=f"For '{function.__name__}', 'value' must be "):
                    function(variable, value)
            continue
        number = value.reshape(()).item() if isinstance(value, Tensor) else value
        for function, wanted in ((ops.assign_add, 1 + number), (ops.assign_sub, 1),
                                 (ops.assign, number)):
            out = function(variable, value)
            assert out.shape == variable.shape == (1,) and out.dtype is variable.dtype is kind
            assert out.tolist() == variable.tolist() == [wanted]


@pytest.mark.parametrize("shape", [(1,), (2, 1), (1, 2), (3,), ()])
def test_several_elements_need_one_shape(shape: tuple[int, ...]) -> None:
    w = parameter()
    with pytest.raises(ValueError, match="'value' must have the shape of 'variable'"):
        ops.assign(w, ops.zeros(shape))
    with pytest.raises(ValueError, match="'value' must have the shape of 'variable'"):
        ops.assign(parameter([1.0]), Tensor([1.0, 2.0]))
    assert w.tolist() == [1.0, 2.0]


def test_a_value_of_another_shape_and_type() -> None:
    for variable in (parameter(), Tensor([1.0, 2.0])):
        given = Tensor([[5, 6, 7]], ms.int32)
        assert variable.assign_value(given) is variable
        assert variable.dtype is ms.int32 and variable.tolist() == [[5, 6, 7]]
        given[0, 0] = 9  # a value of its own
        assert variable.tolist() == [[5, 6, 7]]
