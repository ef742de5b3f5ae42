"""A step of a pipeline whose stages are threads: losses and gradients are those of one process."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.parallel import parts, pipeline, stage_step, stages
from lamella.parallel.stages import Elsewhere

from .stage_threads import Threads

PARTS = 4


@pytest.fixture
def threads(monkeypatch):
    """Gives so many stages, with settings for them."""
    lock, plan = threading.Lock(), pipeline.plan

    def planned(*given: Any) -> Any:
        with lock:
            return plan(*given)

    def made(count: int = 2, scheduler: str = "1f1b", interleave: bool = False) -> Threads:
        ms.set_auto_parallel_context(
            parallel_mode="semi_auto_parallel", pipeline_stages=count, pipeline_config={
                "pipeline_scheduler": scheduler, "pipeline_interleave": interleave})
        found = Threads(count, monkeypatch)
        monkeypatch.setattr(pipeline, "pipeline_of", found.pipeline)
        return found

    monkeypatch.setattr(pipeline, "plan", planned)
    monkeypatch.setattr(stages, "_latest", None)
    monkeypatch.setattr(parts, "in_use", False)
    yield made
    ms.reset_auto_parallel_context()


def dense(seed: int, **options: Any) -> nn.Cell:
    weight = Tensor(np.random.default_rng(seed).normal(size=(3, 3)) * 0.5, ms.float32)
    return nn.Dense(3, 3, weight_init=weight, bias_init="zeros", **options)


class Net(nn.Cell):
    """Cells one after the other, with what a test does between them and at the end."""

    def __init__(self, stages: tuple[Any, ...], between: Any = None, last: Any = None):
        super().__init__()
        self.blocks = nn.CellList([dense(i, activation="tanh") for i in range(len(stages))])
        for cell, stage in zip(self.blocks, stages, strict=True):
            if stage is not None:
                cell.pipeline_stage = stage
        self.between, self.last = between, last

    def construct(self, x: Tensor) -> Tensor:
        first = None
        for number, cell in enumerate(self.blocks):
            x = cell(x)
            first = x if first is None else first
            if self.between is not None:
                x = self.between(self, number, x)
        return (x ** 2).mean() if self.last is None else self.last(self, x, first)


def batches(count: int = PARTS) -> list[tuple[Tensor, ...]]:
    return [(Tensor(np.random.default_rng(i).normal(size=(2, 3)), ms.float32),)
            for i in range(count)]


def alone(make: Any, count: int = PARTS) -> tuple[float, dict[str, np.ndarray]]:
    """The sum of the losses of all parts, and its gradients, in one process."""
    net = make()
    weights = net.trainable_params()
    loss, gradients = ms.value_and_grad(
        lambda: sum(net(*part) for part in batches(count)), None, weights)()
    return float(loss), {w.name: g.asnumpy() for w, g in zip(weights, gradients, strict=True)}


def staged(threads: Threads, make: Any, count: int = PARTS, factor: float = 1.0,
           again: bool = False) -> list[Any]:
    """For each stage the loss and the gradients that it has."""
    def work(stage: int) -> Any:
        net = make()
        weights = net.trainable_params()
        call = ms.value_and_grad(lambda: pipeline.run_stages(
            net, lambda: batches(count), "f") * factor, None, weights)
        for _ in range(1 + again):
            loss, gradients = call()
        return float(loss), {
            w.name: g.asnumpy() for w, g in zip(weights, gradients, strict=True)
            if not isinstance(g._raw, Elsewhere)}, {
            w.name: w._data.is_meta for w in weights}

    found = threads.run(work)
    assert threads.is_empty()
    for each in found:
        if isinstance(each, Exception):
            raise each
    return found


def check(threads: Threads, make: Any, count: int = PARTS, factor: float = 1.0,
          again: bool = False) -> list[Any]:
    loss, gradients = alone(make, count)
    found = staged(threads, make, count, factor, again)
    held: list[str] = []
    for told, its, elsewhere in found:
        assert told == pytest.approx(loss * factor, rel=1e-5)
        assert {name for name, is_meta in elsewhere.items() if not is_meta} == its.keys()
        for name, gradient in its.items():
            np.testing.assert_allclose(gradient, gradients[name] * factor, rtol=1e-4, atol=1e-6,
                                       err_msg=name)
        held += its
    assert sorted(held) == sorted(gradients)  # each by one stage
    return found


def skipping(net: Any, x: Tensor, first: Tensor) -> Tensor:
    return ((x + first) ** 2).mean()


def shared(net: Any, x: Tensor, first: Tensor) -> Tensor:
    """The first Cell's weight is used again by the last stage."""
    return ((x @ net.blocks[0].weight) ** 2).mean()


WAYS = {
    "chain": ((0, 0, 1, 1), None, None), "skips": ((0, 1, 1), None, skipping),
    "shared": ((0, 1), None, shared), "unmarked": ((0, None, 1, None), None, skipping),
    "one stage": ((0, 0), None, None), "last stage": ((1, 1), None, None),
    "between": ((0, 1, 1), lambda net, i, x: x * (i + 1) - 0.5, skipping)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scheduler", ["1f1b", "gpipe"])
def test_two_stages(threads, way, scheduler):
    check(threads(2, scheduler), lambda: Net(*WAYS[way]))


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_three_stages_and_any_number_of_parts(threads, count):
    check(threads(3), lambda: Net((0, 1, 1, 2), None, skipping), count)


@pytest.mark.parametrize("scheduler", ["1f1b", "gpipe"])
@pytest.mark.parametrize("last", [None, skipping, shared])
def test_stages_of_several_chunks(threads, scheduler, last):
    check(threads(2, scheduler, True), lambda: Net((0, 1, 0, 1), None, last))


@pytest.mark.parametrize("last", [None, skipping, shared])
def test_backward_passes_in_two(threads, last):
    check(threads(2, "zero_bubble_v"), lambda: Net((0, 1, 1, 0), None, last))


def test_the_second_step_is_as_the_first(threads):
    """Parameters are where their stages are by then."""
    check(threads(2), lambda: Net((0, 1), None, shared), again=True)


@pytest.mark.parametrize("factor", [8.0, -0.25])
def test_what_the_program_does_with_the_loss(threads, factor):
    """Gradients started from one, and are multiplied at the end."""
    check(threads(2), lambda: Net((0, 1)), factor=factor)


def narrow(net: Any, x: Tensor, first: Tensor) -> Tensor:
    return (ops.cast(x, ms.float16) ** 2).mean().astype(ms.float32)


def test_in_float16_the_backward_pass_starts_from_what_the_program_gives(threads, monkeypatch):
    """A loss that is scaled: forward passes first, for all parts."""
    made, begun = threads(2), []
    step = stage_step.StageStep.__init__

    def noted(self: Any, *given: Any) -> None:
        step(self, *given)
        begun.append((len(self.row), len(self.later), self.start))

    monkeypatch.setattr(stage_step.StageStep, "__init__", noted)
    loss, gradients = alone(lambda: Net((0, 1), None, narrow))
    for told, its, _ in staged(made, lambda: Net((0, 1), None, narrow), factor=1024.0):
        assert told == pytest.approx(loss * 1024, rel=1e-3)
        for name, gradient in its.items():
            np.testing.assert_allclose(gradient, gradients[name] * 1024, rtol=0.02, atol=2e-2)
    assert [each[2] for each in begun] == [None, None] and all(each[1] > 0 for each in begun)


class Scored(nn.Cell):
    """Gives what is above zero, too, and how many there are."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = dense(9)

    def construct(self, x: Tensor) -> Any:
        y = self.dense(x)
        return y, {"above": y > 0, "count": (y > 0).sum()}


class Choosing(nn.Cell):
    """A later stage needs integers and booleans of an earlier one."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = Scored(), dense(3)
        self.first.pipeline_stage, self.last.pipeline_stage = 0, 1

    def construct(self, x: Tensor) -> Tensor:
        y, told = self.first(x)
        return (ops.where(told["above"], self.last(y), 2 * y) * told["count"]).mean()


def test_values_without_gradients_are_sent_forward_alone(threads):
    check(threads(2), Choosing)


class Twice(nn.Cell):
    """One Cell is called twice, and its second result is the one that is used."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = dense(1), dense(2)
        self.first.pipeline_stage, self.last.pipeline_stage = 0, 1

    def construct(self, x: Tensor) -> Tensor:
        self.first(x)
        return (self.last(self.first(x * 2)) ** 2).mean()


def test_a_cell_that_is_called_twice(threads):
    check(threads(2), Twice)


def test_weights_that_are_not_looked_at(threads):
    """Of a borrowed one no gradient is given back."""
    made = threads(2)

    def work(stage: int) -> Any:
        net = Net((0, 1), None, shared)
        net.blocks[0].weight.requires_grad = False
        weights = net.trainable_params()
        loss, gradients = ms.value_and_grad(lambda: pipeline.run_stages(
            net, batches, "f"), None, weights)()
        return float(loss), [w.name for w, g in zip(weights, gradients, strict=True)
                             if not isinstance(g._raw, Elsewhere)]

    (one, first), (other, second) = made.run(work)
    assert one == other == pytest.approx(alone(lambda: Net((0, 1), None, shared))[0], rel=1e-5)
    assert first == ["blocks.0.bias"] and second == ["blocks.1.weight", "blocks.1.bias"]


def test_without_gradients_there_are_forward_passes_alone(threads):
    made = threads(2)
    want, _ = alone(lambda: Net((0, 1), None, skipping))

    def work(stage: int) -> float:
        return float(pipeline.run_stages(Net((0, 1), None, skipping), batches, "f"))

    assert made.run(work) == [pytest.approx(want, rel=1e-5)] * 2


class Failing(nn.Cell):
    """Raises for the third part."""

    calls = 0

    def construct(self, x: Tensor) -> Tensor:
        run = stages.here.run
        if run is not None and not run.plans:
            self.calls += 1
            if self.calls == 3:
                raise KeyError("mine")
        return x


def staged_once(net: Any) -> Any:
    return ms.value_and_grad(lambda: pipeline.run_stages(net, batches, "f"), None,
                             net.trainable_params())()


@pytest.mark.parametrize("where", [0, 1])
def test_an_error_in_one_part_is_raised_when_all_have_ended(threads, where):
    def work(stage: int) -> Any:
        net = Net((0, 1))
        net.blocks[where] = nn.SequentialCell(Failing(), dense(where))
        net.blocks[where].pipeline_stage = where
        return staged_once(net)

    made = threads(2)
    found = made.run(work)
    assert isinstance(found[where], KeyError) and made.is_empty()
    assert isinstance(found[1 - where], RuntimeError) and "KeyError('mine')" in str(
        found[1 - where])


class Other(nn.Cell):
    """For the third part it calls another Cell, or the same one with another shape."""

    def __init__(self, way: str):
        super().__init__()
        self.first, self.second, self.last = dense(1), dense(2), dense(3)
        self.first.pipeline_stage = self.second.pipeline_stage = 0
        self.last.pipeline_stage = 1
        self.way, self.calls = way, 0

    def construct(self, x: Tensor) -> Tensor:
        run = stages.here.run
        if run is not None and not run.plans:
            self.calls += 1
        odd = self.calls == 3
        x = (self.second if odd and self.way == "cell" else self.first)(
            x[:1] if odd and self.way == "shape" else x)
        if odd and self.way == "more":
            x = self.second(x)
        return (self.last(x) ** 2).mean()


@pytest.mark.parametrize("way, words", [
    ("cell", "the network calls a Cell Dense for one part of the batch, but not for another"),
    ("more", "the network calls a Cell Dense for one part of the batch, but not for another"),
    ("shape", r"the network gets Tensors \[.*\] of a Cell Dense for one part")])
def test_parts_that_take_another_way(threads, way, words):
    found = threads(2).run(lambda stage: staged_once(Other(way)))
    assert all(isinstance(each, RuntimeError) for each in found)
    with pytest.raises(RuntimeError, match=words):
        raise next(each for each in found if "another stage" not in str(each))


def changing(net: Any, x: Tensor, first: Tensor) -> Tensor:
    """Changes a borrowed weight in place, through a view."""
    weight = net.blocks[0].weight
    weight._raw.mul_(1.0)
    return ((x @ weight) ** 2).mean()


def test_a_borrowed_weight_is_not_changed(threads):
    found = threads(2).run(lambda stage: pipeline.run_stages(
        Net((0, 1), None, changing), batches, "f"))
    assert all(isinstance(each, RuntimeError) for each in found), found
    told = str(found[1])
    assert "stage 1 changes Parameters ['blocks.0.weight'], which are in other stages" in told


def test_a_loss_has_one_element(threads):
    found = threads(2).run(lambda stage: staged_once(
        Net((0, 1), None, lambda net, x, first: x)))
    for each in found:
        assert isinstance(each, RuntimeError)
        assert "a Tensor of one element, but it returned one" in str(each)


def test_gradients_by_inputs_are_refused(threads):
    def work(stage: int) -> Any:
        net = Net((0, 1))
        return ms.grad(lambda x: pipeline.run_stages(net, lambda: [(x,)], "f"))(batches()[0][0])

    for each in threads(2).run(work):
        assert isinstance(each, RuntimeError) and "by Parameters only, not by inputs" in str(each)


def test_second_derivatives_are_refused(threads):
    def work(stage: int) -> Any:
        net = Net((0, 1))
        weights = net.trainable_params()
        inner = ms.grad(lambda: pipeline.run_stages(net, batches, "f"), None, weights)
        return ms.grad(lambda: inner()[0].sum(), None, weights)()

    for each in threads(2).run(work):
        assert isinstance(each, RuntimeError) and "first derivatives in reverse mode" in str(each)


def test_frozen_parameters_stay_in_their_stages(threads):
    def work(stage: int) -> Any:
        net = Net((0, 1))
        net.own = Parameter(ops.ones(3), name="own", requires_grad=False)
        net.between = lambda net, number, x: x * net.own if number == 1 else x
        pipeline.run_stages(net, batches, "f")
        return [p.name for p in net.get_parameters() if not p._data.is_meta]

    first, second = threads(2).run(work)
    assert first == ["blocks.0.weight", "blocks.0.bias"]
    assert sorted(second) == ["blocks.1.bias", "blocks.1.weight", "own"]


@pytest.mark.parametrize("last", [shared, narrow])
def test_a_backward_pass_that_is_run_again(threads, last):
    """A shared weight's gradient is added up once."""
    def work(stage: int) -> Any:
        net = Net((0, 1), None, last)
        weights = net.trainable_params()
        _, pull = ms.vjp(lambda x: pipeline.run_stages(net, batches, "f") * x, Tensor(2.0),
                         weights=weights)
        return [[(w.name, g.asnumpy()) for w, g in zip(weights, pull(Tensor(start))[1], strict=True)
                 if not isinstance(g._raw, Elsewhere)] for start in (1.0, 1.0, 3.0)]

    _, want = alone(lambda: Net((0, 1), None, last))
    for found in threads(2).run(work):
        for pulled, factor in zip(found, (2, 2, 6), strict=True):
            for name, gradient in pulled:
                np.testing.assert_allclose(gradient, want[name] * factor, rtol=0.02, atol=2e-3)
