"""The state of a run while it is recorded."""

import types

import pytest
import torch

from lamella import Parameter, Tensor, nn
from lamella.core.state import state
from lamella.graph.guards.search import reachable_from
from lamella.graph.tracing.held import HeldTensor
from lamella.graph.tracing.recorder import Recorder
from lamella.graph.tracing.refusals import CannotTrace, Cause
from lamella.graph.tracing.trace import Trace

NET = nn.Dense(2, 1)


def recording(*held):
    """A run that finds some Tensors, as it begins."""
    found = [HeldTensor(tensor, None) for tensor in held]
    for one in found:
        one.begin()
    recorder = Recorder([one.data for one in found])
    return Trace(reachable_from(lambda: (NET, held)), found, recorder)


def test_the_data_of_a_parameter_as_the_run_began():
    first, second, third, other = (Parameter(Tensor([1.0 * n]), name=f"p{n}") for n in range(4))
    trace = recording(first, second, third)
    second._data.add_(1)
    third._data = torch.ones(1)
    assert trace.data_before(first) is first._data
    assert [trace.data_before(p) for p in (second, third, other)] == [None] * 3


def test_the_first_reason_counts_and_ends_the_recording():
    trace = recording()
    trace.runs = {id(NET): "its run"}
    state.trace = trace
    trace.refuse("does one thing", Cause.RARE)
    assert state.trace is None and NET.__dict__.pop("_run_of_set_grad") == "its run"
    trace.refuse("does another")
    assert trace.refused is not None and trace.refused.cause is Cause.RARE
    assert trace.refused.what.startswith(f"does one thing ({__file__}:")
    with trace.recorder:
        torch.ones(2) + 1
    assert not list(trace.recorder.graph.nodes)


def test_a_reason_leaves_the_run_around_it():
    trace, outer = recording(), recording()
    state.trace = outer
    try:
        trace.refuse_once("does one thing")
        assert state.trace is outer and trace.refused is not None
        assert trace.refused.cause is Cause.RARE
    finally:
        state.trace = None


def test_what_runs_dry_ends_before_it_does_more():
    trace = recording()
    trace.run_dry = True
    for does in (lambda: trace.refuse("refuses"), lambda: trace.guard(torch.ones(())),
                 lambda: trace.guard_shape(torch.ones(2)), lambda: trace.defer(print, (), {})):
        trace.run_dry = True
        with pytest.raises(CannotTrace) as caught:
            does()
        assert caught.value.cause is Cause.DRY and not trace.run_dry
    assert trace.refused is None and not trace.guards and not trace.deferred
    trace.stop_dry_run("does nothing")


def test_numbers_that_are_read_and_those_that_loops_have_computed():
    trace = recording()
    with trace.recorder:
        assert trace.read(torch.tensor(2.5)) == 2.5
        assert trace.number(torch.tensor(3)) == 3 and trace.read(torch.tensor(True)) is True
        assert trace.truth(torch.tensor(2)) is True and trace.decide(torch.tensor(0.0)) is False
        assert trace.peek(torch.tensor(7.0)) == 7.0
        trace.guard_shape(torch.ones(2, 3))
    assert trace.reads == [2.5, 3, True, 2] and trace.counted == {1}
    assert trace.observed == [2.5, 3, True, 2, 0.0]
    assert [guard.expected for guard in trace.guards[:5]] == [2.5, 3, True, 2, 0.0]
    assert {guard.line.file for guard in trace.guards} == {__file__}
    assert not any(node.op == "call_function" and "clone" in str(node.target)
                   for node in trace.recorder.graph.nodes)


def test_generators_of_objects_that_the_run_makes():
    known, stream = types.SimpleNamespace(), torch.Generator()
    trace = Trace(reachable_from(lambda: known), [], Recorder([]))
    trace.note_generator(known, stream, 1, 2)
    assert trace.fresh == []
    trace.note_generator(types.SimpleNamespace(), stream, 1, 2)
    assert trace.fresh == [(stream, 1, 2)]


def test_what_a_run_held_is_put_back():
    first, second = Parameter(Tensor([1.0]), name="p"), Tensor([2.0])
    trace = recording(first, second)
    trace.recorder.is_undoable = True
    before = first._data, second._raw
    with trace.recorder:
        second._raw.add_(1)
    first._data = torch.ones(1) * 5
    trace.undo()
    assert first._data is before[0] and second._raw is before[1] and second.tolist() == [2.0]


def test_an_exchange_depends_on_the_world_of_processes():
    class Call:
        line = ""

        def __call__(self, given):
            return given * 2

    trace = recording()
    with trace.recorder:
        for _ in range(2):
            assert trace.exchange(Call(), torch.ones(1)).tolist() == [2.0]
    assert len(trace.outside.queries) == 1
