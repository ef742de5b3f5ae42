"""Recording kernels: what becomes a node, a constant or a stream, what is refused and put back."""

import contextlib

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lamella as ms
from lamella import Parameter, Tensor, jit, ops
from lamella.graph.runtime.compiled import Compiled
from lamella.graph.tracing.number_functions import number_function
from lamella.graph.tracing.recorder import Recorder, _by_positions
from lamella.graph.tracing.refusals import CannotTrace

aten = torch.ops.aten


def recorded(function, *inputs, **settings):
    """What a function gives, and the recorder of its kernels."""
    recorder = Recorder(inputs)
    vars(recorder).update(settings)
    with recorder:
        found = function(*inputs)
    return found, recorder


def kernels(recorder):
    return [node.target for node in recorder.graph.nodes if node.op == "call_function"]


def replayed(found, recorder, *inputs):
    (again,) = recorder.finished([found])(*inputs, *recorder.constants)
    return again


@pytest.mark.parametrize("function, order", [
    (lambda x, a, b: x * a + b - a, "icckkk"), (lambda x, a, b: torch.ones(2) * a - x, "ickkk")])
def test_constants_come_after_inputs_and_before_kernels(function, order):
    held, x = (torch.full((2,), 3.0), torch.zeros(2)), torch.arange(2.0)
    found, recorder = recorded(lambda x: function(x, *held), x)
    assert "".join("k" if node.op == "call_function" else str(node.target)[0]
                   for node in recorder.graph.nodes) == order
    assert all(raw is one for raw, one in zip(recorder.constants, held, strict=False))
    assert torch.equal(replayed(found, recorder, x + 5), function(x + 5, *held))


def test_a_run_without_inputs_begins_with_its_constants():
    held = torch.arange(2.0)
    found, recorder = recorded(lambda: torch.ones(2) + held)
    assert [node.op for node in recorder.graph.nodes] == ["placeholder", *["call_function"] * 2]
    assert replayed(found, recorder).tolist() == [1.0, 2.0]


def test_a_sparse_constant_and_a_sparse_result_have_no_metadata():
    sparse, x = torch.eye(3).to_sparse(), torch.ones(3, 2)
    (product, again), recorder = recorded(lambda x: (sparse @ x, (sparse * 2)), x)
    assert torch.equal(product, x) and again.is_sparse
    nodes = list(recorder.graph.nodes)
    assert [node.meta.get("tensor_meta") is None for node in nodes] == [False, True, False, True]


def test_each_stream_of_random_numbers_is_one_attribute():
    first, second = torch.Generator(), torch.Generator()
    _, recorder = recorded(lambda: [torch.rand(2, generator=one) for one in (first, second, first)])
    assert list(recorder.generators) == ["generator_0", "generator_1"]
    assert [node.kwargs["generator"].target for node in recorder.graph.nodes
            if node.op == "call_function"] == ["generator_0", "generator_1", "generator_0"]


def of_array(array):
    return torch.from_numpy(array)


@pytest.mark.parametrize("make, count", [
    (lambda: torch.tensor([1.0, 2.0]), 1), (lambda: torch.tensor([1.0], dtype=torch.bfloat16), 2),
    (lambda: of_array(np.zeros(2**14, np.float32)), 1),
    (lambda: of_array(np.zeros(2**14 + 1, np.float32)), 2)])
def test_equal_constants_up_to_a_size_are_one(make, count):
    _, recorder = recorded(lambda: make() + aten.lift_fresh.default(make()))
    assert len(recorder.constants) == count


@pytest.mark.parametrize("make", [
    lambda: (torch.zeros(1), torch.zeros(1).int()), lambda: (torch.ones(1), torch.ones(1, 1))])
def test_constants_of_the_same_bytes_that_differ_otherwise(make):
    values = make()
    found, recorder = recorded(lambda: [aten.lift_fresh.default(value) for value in values])
    assert len(recorder.constants) == 2
    for own, value in zip(found, values, strict=True):
        assert (own.dtype, own.shape) == (value.dtype, value.shape) and torch.equal(own, value)


def test_a_copy_of_an_input_is_no_constant():
    x, y = torch.ones(2), torch.ones(2)
    found, recorder = recorded(
        lambda x, y: aten.lift_fresh_copy.default(x) + 2 * aten.lift_fresh_copy.default(y), x, y)
    assert not recorder.constants
    assert replayed(found, recorder, x, y * 4).tolist() == [9.0, 9.0]


@pytest.mark.parametrize("places, are_positions", [
    ([torch.tensor([0])], True), ([None, torch.tensor([0])], True),
    ([torch.tensor([True, False])], False), ([torch.tensor([1, 0], dtype=torch.uint8)], False),
    ([torch.tensor([0]), torch.tensor([True, False])], False)])
def test_indices_by_positions_have_a_known_shape(places, are_positions):
    x = torch.ones(2, 2)
    assert _by_positions(aten.index.Tensor, (x, places)) is are_positions
    assert not _by_positions(aten.masked_select.default, (x, places))


REFUSED = [
    ("data-dependent shape", lambda x: x.nonzero()), ("data-dependent shape", lambda x: x[x > 0]),
    ("into a Python value", lambda x: x.sum().item()),
    ("into a Python value", lambda x: torch.equal(x, torch.tensor([0.0, 1.0, 2.0]))),
    ("addresses memory of its inputs", lambda x: x.as_strided((2,), (1,), 1)),
    ("addresses memory of its inputs", lambda x: x[1:].as_strided((2,), (1,), 1)),
    ("functions of torch.distributed",
     lambda x: torch.ops._c10d_functional.all_reduce(x, "sum", "none"))]


@pytest.mark.parametrize("reason, function", REFUSED)
def test_what_no_part_of_a_graph_may_do(reason, function):
    with pytest.raises(CannotTrace, match=reason):
        recorded(function, torch.arange(3.0))


@pytest.mark.parametrize("function", [
    lambda x: x.as_strided((2,), (1,)) * 2, lambda x: (x + 1).as_strided((2,), (1,), 1),
    lambda x: x[torch.tensor([2, 0])], lambda x: x * torch.tensor(3.0).item(),
    lambda x: x * torch.equal(torch.tensor(1.0), torch.tensor(1.0)),
    lambda x: torch.ops._c10d_functional.wait_tensor(x) * 2])
def test_what_a_part_of_a_graph_may_do(function):
    found, recorder = recorded(function, torch.arange(3.0))
    other = torch.tensor([3.0, 5.0, 4.0])
    assert torch.equal(replayed(found, recorder, other), function(other))


def test_a_constant_that_has_been_changed_is_none_any_more():
    with pytest.raises(CannotTrace, match="into a Python value"):
        recorded(lambda x: torch.tensor(3.0).add_(x).item(), torch.tensor(2.0))


@pytest.mark.parametrize("undoable", [True, False])
def test_memory_that_was_given_or_held_is_put_back(undoable):
    held, x, mean, variance = torch.ones(3), torch.arange(6.0).reshape(2, 3), *torch.ones(2, 3)
    given = [raw.clone() for raw in (held, x, mean, variance)]

    def function(x, mean, variance):
        y = x * 1
        y.add_(1)
        x.add_(y)
        x[:1].mul_(5)
        held.sub_(1)
        F.batch_norm(x, mean, variance, training=True)
        return y

    y, recorder = recorded(function, x, mean, variance, is_undoable=undoable)
    recorder.undo()
    assert torch.equal(y, given[1] + 1)
    for raw, before in zip((held, x, mean, variance), given, strict=True):
        assert torch.equal(raw, before) is undoable


@pytest.mark.parametrize("change, is_refused", [
    (lambda array, raw: None, False), (lambda array, raw: array.fill(2), True),
    (lambda array, raw: raw.add_(0), True)])
def test_constants_that_share_memory_with_an_array(change, is_refused):
    array, recorder = np.ones(2, np.float32), Recorder([torch.zeros(2)])
    with recorder:
        raw = recorder.from_numpy(array)
        found = raw + 1
        change(array, raw)
    if is_refused:
        with pytest.raises(CannotTrace, match="changes a NumPy array that shares memory"):
            recorder.own_constants()
    else:
        (own,) = recorder.own_constants()
        array[:] = 7
        assert own.tolist() == [1.0, 1.0] and found.tolist() == [2.0, 2.0]
    assert kernels(recorder)[0] is aten.add.Tensor


def test_random_numbers_of_a_second_run():
    def run():
        return (torch.rand(2), torch.empty(2).uniform_(), *torch.native_dropout(
            torch.ones(9), 0.5, True), torch.randint(9, (3,)))

    recorder, drawn = Recorder([]), []
    with recorder:
        assert not recorder.runs_again
        with recorder.draws(drawn, False):
            first = run()
        with recorder.draws(drawn, True):
            assert recorder.runs_again
            second = run()
            torch.rand(2)  # more than the first run has drawn
        assert not recorder.runs_again
        third = run()
    assert all(map(torch.equal, first, second)) and not all(map(torch.equal, first, third))
    again = ["again" in node.meta for node in recorder.graph.nodes if node.op == "call_function"]
    assert again == sorted(again[:again.index(False, again.index(True))]) + [False] * (
        len(again) - again.index(False, again.index(True)))
    assert len(drawn) == 4


@pytest.mark.parametrize("stops", [False, True])
def test_second_runs_inside_of_second_runs(stops):
    recorder, outer = Recorder([]), []

    def run():
        inner: list = []
        found = [torch.rand(2)]
        for again in (False, True):
            with recorder.draws(inner, again):
                found.append(torch.rand(2))
        return [*found, torch.rand(2)]  # after what the inner run has repeated

    with recorder:
        with recorder.draws(outer, False):
            first = run()
        if stops:
            recorder.stop()
            count = len(kernels(recorder))
        with recorder.draws(outer, True):
            second = run()
        assert not stops or len(kernels(recorder)) == count
    assert torch.equal(first[1], first[2]) and not torch.equal(first[0], first[1])
    assert all(map(torch.equal, first, second))


def test_updates_wait_for_what_reads_or_writes_their_memory():
    w, g, other = torch.zeros(3), torch.ones(3), torch.zeros(3)
    now = w.numpy()
    recorder = Recorder([w, g, other])
    recorder.defers = True

    def waits():
        return recorder.changes_later([w]) and now.tolist() == [0.0] * 3

    with recorder:
        assert not recorder.changes_later([w])
        torch._foreach_add_([w], [g])
        assert waits() and not recorder.changes_later([g])
        other.add_(1)
        part = w[1:]
        torch._foreach_mul_([other], 2.0)
        assert waits()
        assert (part + 0).tolist() == [1.0, 1.0] and not recorder.changes_later([w])
        torch._foreach_add_([w], [g])
        g.mul_(5)  # after it was read
        assert now.tolist() == [2.0] * 3
        torch._foreach_add_([w], [g])
        with recorder.pause():
            torch._foreach_add_([w], 1.0)
        assert now.tolist() == [8.0] * 3
        torch._foreach_add_([w], 1.0)
        recorder.stop()
        assert now.tolist() == [9.0] * 3
    recorder.undo()
    assert now.tolist() == [0.0] * 3


def test_updates_that_still_wait_are_dropped_when_a_run_is_undone():
    w = torch.zeros(3)
    _, recorder = recorded(lambda w: torch._foreach_add_([w], 1.0), w, defers=True,
                           is_undoable=True)
    recorder.undo()
    recorder.update()
    assert w.tolist() == [0.0] * 3 and not recorder.changes_later([w])


def test_errors_that_are_replaced_are_forgiven_with_those_they_came_from():
    recorder = Recorder([])
    first, second, third, other = (ValueError(number) for number in range(4))
    second.__cause__, third.__context__ = first, second
    for error in (first, other, third):
        recorder._fail(recorder.graph.create_node("call_function", aten.sin.default), error)
    recorder.forgive(third)
    assert len(recorder.failures) == 1
    recorder.forgive(second)
    assert len(recorder.failures) == 1
    try:
        raise other
    except ValueError:
        recorder.forgive(other)
    assert len(recorder.failures) == 1  # the program has caught it
    recorder.forgive(other.with_traceback(None))
    assert not recorder.failures


@pytest.mark.parametrize("text, is_noted", [
    ("the input is not positive-definite", True), ("'sin' not implemented for 'UInt16'", False),
    ("ZeroDivisionError", False), ("index 7 is out of bounds", True)])
def test_errors_of_types_depend_on_no_values(text, is_noted):
    recorder = Recorder([])
    recorder._fail(recorder.graph.create_node("call_function", aten.sin.default),
                   RuntimeError(text))
    assert bool(recorder.failures) is is_noted and not list(recorder.graph.nodes)


def test_a_kernel_that_fails_is_no_node_and_is_noted():
    def function(x):
        with contextlib.suppress(RuntimeError):
            aten.dot.default(x, longer)
        return x * 2

    longer = torch.ones(3)
    found, recorder = recorded(function, torch.ones(2))
    assert kernels(recorder) == [aten.mul.Tensor] and len(recorder.failures) == 1
    assert torch.equal(replayed(found, recorder, torch.ones(2)), found)


def test_what_is_no_kernel_and_what_stands_for_a_value():
    x = torch.tensor(2.5)
    recorder = Recorder([x])
    with recorder:
        held, _ = recorder.call(number_function(round, float), [x, 1])
        with recorder.pause():
            alias = torch.zeros(())
        recorder.stands_for(alias, held)
        assert recorder.nodes_of([alias]) == recorder.nodes_of([held])
        recorder.mark(alias, "name", 3)
        with recorder.pause():
            recorder.mark(torch.zeros(()), "name", 4)
    assert [node.meta["name"] for node in recorder.graph.nodes if "name" in node.meta] == [3]
    assert kernels(recorder)[0] is number_function(round, float) and held.item() == 2.5
    assert not recorder.constants


class Exchange:
    line = None

    def __call__(self, given):
        return [raw * 2 for raw in given]


def test_an_exchange_knows_its_line():
    call, x = Exchange(), torch.ones(2)
    recorder = Recorder([x])
    names: dict = {}
    exec(compile("\n\ndef run(recorder, call, x):\n    return recorder.exchange(call, [x])\n",
                 "/home/me/program.py", "exec"), names)
    with recorder:
        (found,) = names["run"](recorder, call, x)
    assert found.tolist() == [2.0, 2.0] and call.line == "/home/me/program.py:4"
    assert kernels(recorder)[0] is call and aten.mul.Tensor not in kernels(recorder)


def test_constants_that_a_program_reads_are_no_guards():
    weight = Parameter(Tensor([1.0]), name="w")

    def step(x):
        ops.assign_add(weight, x)  # a guard that comes later would be too late
        return x * int(Tensor(3)) + float(Tensor(0.5))

    compiled = jit(step, fullgraph=True)
    for number in range(3):
        assert compiled(Tensor([1.0 * number])).asnumpy().tolist() == [3.0 * number + 0.5]
    assert compiled.report()["replays"] == 2


def test_places_that_a_tensor_is_indexed_by_are_no_guards():
    compiled = Compiled(lambda x, places: x[places] * 2)
    x = Tensor(np.arange(4.0, dtype=np.float32))
    for places in ([0, 2], [3, 1], [1, 1]):
        assert compiled(x, Tensor(places)).asnumpy().tolist() == [2.0 * n for n in places]
    (graph,) = compiled.graphs(x, Tensor([0, 1]))
    assert not graph.lines


def test_the_dropout_of_a_recomputed_block_is_drawn_once():
    def block(x):
        return ops.dropout(x * x, 0.5, True) * ops.rand(4)

    gradient = ms.value_and_grad(lambda x: ms.recompute(block, x).sum())
    compiled = jit(gradient, fullgraph=True)
    for seed in range(3):
        found = []
        for call in (compiled, gradient):
            ms.set_seed(seed)
            value, grad = call(ops.ones(4))
            found.append((value.asnumpy().tolist(), grad.asnumpy().tolist(), ops.rand(1).item()))
        assert found[0] == found[1] and float(np.sum(found[0][1])) == pytest.approx(
            2 * found[0][0], rel=1e-5)


@pytest.mark.parametrize("inner", [ms.grad, lambda f: lambda x: x * ms.grad(f)(x)])
def test_a_recomputed_block_that_takes_the_gradient_of_another(inner):
    def block(x):
        return (ops.rand(3) * x * x * ops.rand(3)).sum()

    def outer(x):
        return inner(lambda y: ms.recompute(block, y))(x) * ops.rand(3) * x

    gradient = ms.value_and_grad(lambda x: ms.recompute(outer, x).sum())
    compiled = jit(gradient)
    for seed in range(3):
        found = []
        for call in (compiled, gradient):
            ms.set_seed(seed)
            value, grad = call(ops.ones(3))
            found.append([value.asnumpy().tolist(), *grad.asnumpy().tolist(), ops.rand(1).item()])
        np.testing.assert_allclose(*found, rtol=1e-6)
