"""Flags by phase in GRAPH_MODE; the numbers are those of MindSpore 2.10."""

from __future__ import annotations

import pytest

import lamella as ms
from lamella import Tensor, context, nn


class Inner(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.add_flags(is_first=True)

    def construct(self, x: Tensor) -> Tensor:
        return x + 1 if self.is_first else x + 100


class Outer(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def construct(self, x: Tensor) -> Tensor:
        return self.inner(x)


@pytest.fixture
def graph_mode():  # noqa: ANN201
    before = context.get_context("mode")
    context.set_context(mode=context.GRAPH_MODE)
    yield
    context.set_context(mode=before)


def call(net: nn.Cell, phase: str, is_first: bool) -> float:
    net.phase = phase
    net.add_flags_recursive(is_first=is_first)
    return float(net(Tensor(0.0)))


@pytest.mark.usefixtures("graph_mode")
def test_a_phase_keeps_the_flags_of_its_first_call() -> None:
    net = Outer()
    assert [call(net, "prefill", True), call(net, "prefill", False), call(net, "inc", False),
            call(net, "prefill", False), call(net, "inc", True), call(net, "new", True)
            ] == [1, 1, 100, 1, 100, 1]
    assert net.inner.get_flags()["is_first"] is True  # what the program set last


@pytest.mark.usefixtures("graph_mode")
def test_without_a_phase_flags_hold_as_they_are() -> None:
    net = Outer()
    results = []
    for is_first in (True, False, True):
        net.add_flags_recursive(is_first=is_first)
        results.append(float(net(Tensor(0.0))))
    assert results == [1, 100, 1]  # MindSpore keeps the first: docs/differences.md


def test_flags_come_back_when_a_call_raises() -> None:
    net = Outer()
    context.set_context(mode=context.GRAPH_MODE)
    try:
        call(net, "prefill", True)
        net.add_flags_recursive(is_first=False)
        with pytest.raises(TypeError):
            net(Tensor(0.0), 1)
        assert net.inner.is_first is False
    finally:
        context.set_context(mode=context.PYNATIVE_MODE)


def test_eager_calls_follow_the_flags() -> None:
    net = Outer()
    assert [call(net, "prefill", True), call(net, "prefill", False)] == [1, 100]
    assert ms.get_context("mode") == ms.PYNATIVE_MODE


@pytest.mark.usefixtures("graph_mode")
@pytest.mark.parametrize("phase", ["train", "predict"])
def test_phases_that_are_not_the_programs_keep_no_flags(phase: str) -> None:
    net = Outer()
    assert [call(net, phase, True), call(net, phase, False), call(net, phase, True)] == [1, 100, 1]
    assert "_flags_of_phases" not in net.__dict__


@pytest.mark.usefixtures("graph_mode")
def test_cells_that_come_and_go_between_calls_of_a_phase() -> None:
    net = Outer()
    assert call(net, "prefill", True) == 1
    first = net.inner
    net.inner = Inner()
    assert call(net, "prefill", False) == 100  # it had no flags at the first call
    net.inner = first
    assert call(net, "prefill", False) == 1 and first.get_flags()["is_first"] is False
