"""Captured graphs: each test is a defect that a replay by PyTorch's rules has shown."""

import threading
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch

from lamella.device import kinds
from lamella.graph.ir.stages import Part
from lamella.graph.runtime import capture, execution
from lamella.graph.runtime import stage as stages
from lamella.graph.runtime.capture import Captured
from tests.device.simulated import target
from tests.device.simulated.target import DEVICE, counts
from tests.device.simulated.test_training import losses


def numbers(*values):
    return torch.tensor(values, device=DEVICE)


def test_it_reads_new_arguments_and_parameters_as_they_are():
    weight, x = numbers(1.0, 1.0), numbers(1.0, 2.0)
    run = Captured(lambda given: [given[0] * given[1]], [x, weight], [False, True])
    assert run([x + 1, weight])[0].tolist() == [2.0, 3.0]
    weight.mul_(3.0)
    counts()
    first, = run([x, weight])
    second, = run([x + 1, weight])
    assert counts() == {}
    assert first.tolist() == [3.0, 6.0] and second.tolist() == [6.0, 9.0]
    assert run([x, weight * 2])[0].tolist() == [6.0, 12.0]  # it has moved


def test_threads_take_turns():
    x = torch.ones(20_000, device=DEVICE)
    run = Captured(lambda given: [given[0] * 2, given[0].sum()], [x], [False])
    wrong = []

    def work(number):
        target.module().set_device(target.INDEX)
        given = torch.full((20_000,), float(number), device=DEVICE)
        for _ in range(30):
            twice, total = run([given])
            if twice[-1].item() != 2 * number or total.item() != 20_000 * number:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_expanded_inputs():
    x = numbers([1.0, 2.0]).expand(3, 2)
    run = Captured(lambda given: [given[0].sum(0)], [x], [False])
    assert run([numbers([5.0, 6.0]).expand(3, 2)])[0].tolist() == [15.0, 18.0]


def test_generators_are_where_an_eager_run_leaves_them():
    own = torch.Generator(DEVICE).manual_seed(3)
    default = kinds.default_generator(DEVICE)

    def run(given):
        return [given[0] + torch.rand(2, generator=own, device=DEVICE),
                torch.rand(2, device=DEVICE)]

    zero, before = numbers(0.0, 0.0), (own.get_state(), default.get_state())
    captured = Captured(run, [zero], [False], [own, default])
    assert all(map(torch.equal, before, (own.get_state(), default.get_state())))
    found = [captured([zero]) for _ in range(2)]
    own.set_state(before[0])
    default.set_state(before[1])
    for a, b in zip(found, [run([zero]) for _ in range(2)], strict=True):
        assert all(map(torch.equal, a, b))


def test_a_failed_capture_leaves_the_stream_as_it_was():
    before = torch.accelerator.current_stream()
    with pytest.raises(RuntimeError, match="previous error during capture"):
        Captured(lambda given: [given[0] * given[0].sum().item()], [numbers(1.0)], [False])
    assert torch.accelerator.current_stream() == before
    run = Captured(lambda given: [given[0] * 2], [numbers(1.0)], [False])
    assert run([numbers(4.0)])[0].tolist() == [8.0]


@pytest.mark.skipif(target.IS_REAL and target.count() < 2, reason="there is one device")
def test_a_second_device_has_a_stream_of_its_own():
    for index in (1, 0):
        x = torch.ones(2, device=torch.device(DEVICE.type, index))
        run = Captured(lambda given: [given[0] * 2], [x], [False])
        assert run([x * 3])[0].tolist() == [6.0, 6.0]
        assert target.module().current_device() == target.INDEX


def test_other_threads_may_wait_while_a_graph_is_captured():
    def run(given):
        thread = threading.Thread(target=lambda: numbers(1.0).sum().item())
        thread.start()
        thread.join()
        return [given[0] * 2]

    x = numbers(1.0)
    assert Captured(run, [x], [False])([x * 3])[0].tolist() == [6.0]


def test_graphs_share_memory_up_to_a_bound():
    x = numbers(1.0)
    with mock.patch.object(capture, "MOST", 2):
        kept = [Captured(lambda given: [given[0] * 2], [x], [False]) for _ in range(2)]
        assert kept[0].shared.pool == kept[1].shared.pool
        with pytest.raises(ValueError, match="captured graphs already"):
            Captured(lambda given: [given[0] * 2], [x], [False])
        kept.pop()
        Captured(lambda given: [given[0] * 2], [x], [False])


def test_views_of_inputs_and_of_each_other_stay_views():
    def run(given):
        twice = given[1] * 2
        return [given[0].view(2, 1), given[1][1:], twice, twice.view(2, 1)]

    weight, x = numbers(1.0, 2.0), numbers(3.0, 4.0)
    captured = Captured(run, [weight, x], [True, False])
    other = numbers(5.0, 6.0)
    column, rest, twice, standing = captured([weight, other])
    for each in (column, rest, twice):
        each.zero_()
    assert weight.tolist() == [0.0, 0.0] and other.tolist() == [5.0, 0.0]
    assert standing.tolist() == [[0.0], [0.0]]


def test_a_result_in_another_type_stays_in_its_memory():
    def run(given):
        twice = given[0] * 2
        return [twice, twice.view(torch.int32)[1:], given[0] + 1]

    captured = Captured(run, [numbers(1.0, 2.0)], [False])
    twice, bits, more = captured([numbers(5.0, 6.0)])
    assert bits.tolist() == torch.tensor([12.0]).view(torch.int32).tolist()
    bits.zero_()
    assert twice.tolist() == [10.0, 0.0] and more.tolist() == [6.0, 7.0]
    again, *_ = captured([numbers(1.0, 1.0)])
    assert again.tolist() == [2.0, 2.0] and twice.tolist() == [10.0, 0.0]


def test_inputs_on_other_devices_are_refused():
    for values in ([], [torch.ones(2)], [numbers(1.0), torch.ones(2)],
                   [numbers(1.0), torch.ones(())]):
        with pytest.raises(ValueError, match="inputs on one device"):
            Captured(lambda given: given, values, [False] * len(values))


def test_a_stale_capture_is_noticed():
    """One that replays the results for what it was captured with."""
    x = numbers(1.0, 2.0)

    stage: Any = object.__new__(stages.Stage)
    stage.stays, stage.replay = [False], lambda given: [given[0] * 2]
    stage.part = Part.whole(torch.fx.symbolic_trace(lambda x: [x * 2]))
    good = Captured(stage.replay, [x], [False])
    kept = x * 2
    stale = Captured(lambda given: [kept + 0], [x], [False])
    assert stage._is_right(stale, [x], None)
    assert stage._follows_inputs(good, [x]) and not stage._follows_inputs(stale, [x])


def test_a_training_step_is_captured():
    seen = []

    class Only(stages.Autotuner):
        """The captured way alone, so that a slow machine chooses it too."""

        def __init__(self, candidates, decided):
            captured = {name: way for name, way in candidates.items() if "captured" in name}
            seen.extend(captured)
            super().__init__(captured or candidates, decided)

    with mock.patch.object(execution, "HOT", 0.0), mock.patch.object(stages, "Autotuner", Only):
        here, waits = losses(target.NAME, "Adam", True, count=60)
    there, _ = losses(target.NAME, "Adam", False, count=60)
    np.testing.assert_allclose(here, there, rtol=1e-5)
    assert seen and waits == {}
