"""Weights that are gathered where they are used: in which order, how often, and how many at a time.

One process stands for all: what the others would add is nothing.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from lamella.autodiff.engine import backpropagate
from lamella.communication.groups import Group
from lamella.core.state import state
from lamella.parallel import on_use
from lamella.parallel.on_use import Uses


class Weight:
    """A Parameter of which a process has its part, here the whole."""

    def __init__(self, name: str, *shape: int):
        self.name, self.shape = name, shape
        generator = torch.Generator().manual_seed(len(name) + ord(name[0]))
        self._data = torch.randn(shape, generator=generator)


class Watched(Uses):
    """Notes which weights are gathered and sent, and how many wholes there are at a time."""

    def __init__(self, alike: bool = True):
        group = Group("group", [0])
        super().__init__(None, SimpleNamespace(  # type: ignore[arg-type]
            group=group, alike=alike, scattered=lambda raw: raw * 1))
        self.gathered: list[str] = []
        self.sent: list[str] = []
        self.alive: list[Any] = []
        self.most = 0
        self.aliases: dict[str, torch.Tensor] = {}
        self.names: dict[int, str] = {}  # by the part

    def _gather(self, part: torch.Tensor) -> torch.Tensor:
        self.gathered.append(self.names[id(part)])
        whole = super()._gather(part)
        self.alive.append(StorageWeakRef(whole.untyped_storage()))
        self.most = max(self.most, sum(not each.expired() for each in self.alive))
        return whole

    def _send(self, use: Any) -> None:
        self.sent.append(use.parameter.name)
        super()._send(use)

    def of(self, weight: Any) -> torch.Tensor:
        """The whole of a weight, as a function reads it."""
        return self.read(weight, self.aliases.setdefault(
            weight.name, weight._data.clone().requires_grad_()))

    def read(self, weight: Any, alias: torch.Tensor) -> torch.Tensor:
        self.names[id(weight._data)] = weight.name
        return self.whole(weight, alias)

    def backward(self, out: torch.Tensor) -> None:
        torch.autograd.grad(out.sum(), list(self.aliases.values()), allow_unused=True,
                            retain_graph=True)


A, B, C = Weight("a", 3, 3), Weight("b", 3, 3), Weight("c", 3)
X = torch.arange(6.0).reshape(2, 3) / 5


def wanted(function: Any, *weights: Any) -> list[torch.Tensor]:
    own = {weight.name: weight._data.clone().requires_grad_() for weight in weights}
    out = function(lambda weight: own[weight.name])
    return list(torch.autograd.grad(out.sum(), list(own.values())))


def twice(read: Any) -> torch.Tensor:
    """One weight is used twice, around another, and one where no kernel needs it back."""
    return torch.tanh(torch.tanh(X @ read(A)) @ read(B) + read(C)) @ read(A).t()


def test_gathered_again_in_the_reverse_order_and_sent_in_it():
    uses = Watched()
    out = uses.run(twice, uses.of)
    assert uses.gathered == ["a", "b", "c", "a"] and uses.sent == []
    uses.backward(out)
    assert uses.gathered[4:] == ["a", "c", "b"] and uses.sent == ["a", "c", "b", "a"]
    for weight, want in zip((A, B, C), wanted(twice, A, B, C), strict=True):
        torch.testing.assert_close(uses.gradient(weight), want)  # type: ignore[arg-type]
    assert uses.gathered[7:] == ["a"]  # in its place, though no kernel needed it
    assert len(uses.sent) == 4


def test_few_wholes_are_there_at_a_time():
    weights = [Weight(name, 3, 3) for name in "abcdefgh"]
    uses = Watched()

    def deep() -> torch.Tensor:
        x = X
        for weight in weights:
            x = torch.tanh(x @ uses.of(weight))
        return x

    out = uses.run(deep)
    assert uses.most <= 2
    uses.backward(out)
    uses.gradient(weights[0])  # type: ignore[arg-type]
    assert uses.most <= 2 and uses.gathered == [*"abcdefgh", *"hgfedcba"]
    assert all(use.whole is None for use in uses.forward)


def test_a_whole_that_no_kernel_needs_is_not_kept():
    uses = Watched()
    out = uses.run(lambda: torch.exp(X) + uses.of(C))
    (use,) = uses.forward
    assert (use.saved, use.left) == (0, 0)
    uses.backward(out)
    uses.gradient(C)  # type: ignore[arg-type]
    assert uses.gathered == ["c", "c"] and use.whole is None


def both(whole: torch.Tensor) -> torch.Tensor:
    return torch.sin(whole) + torch.cos(whole)


def test_a_whole_that_is_saved_twice_is_gathered_once():
    uses = Watched()
    out = uses.run(lambda: both(uses.of(A)) * both(uses.of(B)))
    assert [(use.saved, use.left) for use in uses.forward] == [(2, 2)] * 2
    uses.backward(out)
    assert uses.gathered == ["a", "b", "b", "a"]
    assert [(use.left, use.whole) for use in uses.forward] == [(0, None)] * 2


def test_parts_of_a_whole_are_saved_as_parts():
    def parts(read: Any) -> torch.Tensor:
        whole = read(A)
        return (X[:, :2] @ whole[1:].t()[:2]).exp() + whole[:, ::2].sum() ** 2

    uses = Watched()
    out = uses.run(parts, uses.of)
    uses.backward(out)
    torch.testing.assert_close(uses.gradient(A), wanted(parts, A)[0])  # type: ignore[arg-type]


def test_a_second_backward_pass_gives_the_same():
    uses = Watched()
    out = uses.run(twice, uses.of)
    found = []
    for _ in range(2):
        uses.backward(out)
        found.append([uses.gradient(weight) for weight in (A, B, C)])  # type: ignore[arg-type]
    assert uses.gathered[4:] == ["a", "c", "b", "a"] * 2 and uses.sent == ["a", "c", "b", "a"] * 2
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_a_backward_pass_that_goes_on_without_an_end_gathers_what_it_needs():
    """As where an error ends the first one."""
    uses = Watched()
    out = uses.run(lambda: torch.tanh(X @ uses.of(A)) @ uses.of(B))
    for _ in range(3):
        uses.backward(out)
    assert uses.gathered == ["a", "b", "b", "a", "b", "b"]  # of A no value is needed


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_backward_pass_after_one_that_an_error_has_ended(place):
    uses, failing = Watched(), [True]

    def fail_once(gradient: torch.Tensor) -> torch.Tensor:
        if failing:
            raise KeyError(failing.pop())
        return gradient

    def hooked() -> torch.Tensor:
        x = X
        for i, weight in enumerate((A, B, A)):
            x = torch.tanh(x @ uses.of(weight))
            if i == place:
                x.register_hook(fail_once)
        return x

    def pull(factor: float) -> list[torch.Tensor]:
        start = torch.full_like(out, factor)
        backpropagate([(out, start)], list(uses.aliases.values()), True, False)
        return [uses.gradient(weight) for weight in (A, B)]  # type: ignore[arg-type]

    out = uses.run(hooked)
    with pytest.raises(KeyError):
        pull(1.0)
    uses.gathered.clear()
    want = wanted(lambda read: torch.tanh(torch.tanh(torch.tanh(X @ read(A)) @ read(B)) @ read(A)),
                  A, B)
    for factor in (2.0, 3.0):
        for gradient, own in zip(pull(factor), want, strict=True):
            torch.testing.assert_close(gradient, own * factor)
    assert uses.gathered == ["a", "b", "a"] * 2


def test_a_weight_that_is_assigned_before_the_backward_pass():
    """Its gradient is that at the values which were read."""
    weight = Weight("w", 3, 3)

    def twice_and_later(read: Any) -> torch.Tensor:
        return torch.tanh(X @ read(weight)) @ read(weight)

    want = wanted(twice_and_later, weight)[0]
    uses = Watched()
    out = uses.run(twice_and_later, uses.of)
    weight._data = torch.zeros(3, 3)
    uses.backward(out)
    torch.testing.assert_close(uses.gradient(weight), want)  # type: ignore[arg-type]


def test_what_the_result_does_not_depend_on_is_sent_as_zeros():
    uses = Watched()

    def loses() -> torch.Tensor:
        uses.of(B).exp()
        return X @ uses.of(A)

    out = uses.run(loses)
    uses.backward(out)
    assert uses.sent == ["a"]
    assert uses.gradient(B).tolist() == [[0.0] * 3] * 3  # type: ignore[arg-type]
    assert uses.sent == ["a", "b"] and uses.gathered == ["b", "a", "a", "b"]
    unread = Weight("unread", 4)
    assert uses.gradient(unread).tolist() == [0.0] * 4  # type: ignore[arg-type]
    assert uses.gradient(B).tolist() == [[0.0] * 3] * 3  # type: ignore[arg-type] # given once


def test_gradients_of_one_weight_are_added_up():
    uses = Watched()
    out = uses.run(lambda: X @ uses.of(A) + X @ uses.of(A) * 2)
    uses.backward(out)
    want = wanted(lambda read: X @ read(A) * 3, A)[0]
    torch.testing.assert_close(uses.gradient(A), want)  # type: ignore[arg-type]


def test_reads_that_are_not_recorded_make_no_exchange_in_the_backward_pass():
    uses = Watched()

    def reads() -> torch.Tensor:
        with torch.no_grad():
            scale = uses.of(B).sum()
        plain = uses.read(C, C._data.clone())  # of a frozen one
        assert not plain.requires_grad and torch.equal(plain, C._data)
        return torch.exp(X @ uses.of(A)) * scale * plain

    out = uses.run(reads)
    assert uses.gathered == ["b", "c", "a"] and len(uses.forward) == 1
    uses.backward(out)
    uses.gradient(A)  # type: ignore[arg-type]
    assert uses.gathered == ["b", "c", "a", "a"] and uses.sent == ["a"]


def test_a_part_that_is_computed_again_reads_again():
    def layer(x: torch.Tensor, read: Any) -> torch.Tensor:
        return torch.tanh(x @ read(A))

    def again(read: Any) -> torch.Tensor:
        part = torch.utils.checkpoint.checkpoint(layer, X, read, use_reentrant=False)
        return part @ read(B)

    import torch.utils.checkpoint

    uses = Watched()
    out = uses.run(again, uses.of)
    assert [use.parameter.name for use in uses.forward] == ["a", "b"]
    torch.autograd.grad(out.sum(), list(uses.aliases.values()), allow_unused=True)
    assert [use.parameter.name for use in uses.forward] == ["a", "b"]


class Sending:
    """Exchanges of which a test says when they have finished."""

    def __init__(self, monkeypatch: Any):
        self.begun: list[Any] = []
        self.finished: set[int] = set()
        self.asked = 0
        for name in ("begin_scatter", "end_scatter", "has_finished"):
            monkeypatch.setattr(on_use.exchange, name, getattr(self, name))

    def begin_scatter(self, name: str, raw: torch.Tensor, group: Any) -> int:
        self.begun.append(raw)
        return len(self.begun) - 1

    def has_finished(self, number: int) -> bool:
        self.asked += 1
        return number in self.finished

    def end_scatter(self, name: str, number: int, group: Any) -> torch.Tensor:
        return torch.stack([self.begun[number], 2 * self.begun[number]])  # those of two processes


@pytest.mark.parametrize("finished, taken", [((), 0), ((0,), 1), ((1,), 0), ((0, 1), 2)])
def test_gradients_that_are_on_their_way(monkeypatch, finished, taken):
    """They are taken in their order, those that have arrived before the next one is sent."""
    sending, uses = Sending(monkeypatch), Watched(alike=False)
    sending.finished.update(finished)
    out = uses.run(lambda: ((X @ uses.of(A)) @ uses.of(B)) * uses.of(C))
    uses.backward(out)
    assert len(sending.begun) == 3 and len(uses.pending) == 3 - taken
    want = wanted(lambda read: ((X @ read(A)) @ read(B)) * read(C), A, B, C)
    for weight, its in zip((A, B, C), want, strict=True):
        torch.testing.assert_close(uses.gradient(weight), 3 * its)  # type: ignore[arg-type]
    assert uses.pending == []


def test_a_recording_takes_gradients_at_the_end(monkeypatch):
    """When they arrive is no fact of the program's."""
    sending, uses = Sending(monkeypatch), Watched(alike=False)
    sending.finished.update(range(9))
    out = uses.run(lambda: (X @ uses.of(A)) @ uses.of(B))
    monkeypatch.setattr(state, "trace", object())
    uses.backward(out)
    assert sending.asked == 0 and len(uses.pending) == 2


def test_uses_belong_to_the_outermost_gradient_call(monkeypatch):
    monkeypatch.setattr(on_use, "_last", {})
    outer: Any = SimpleNamespace(outer=None)
    inner: Any = SimpleNamespace(outer=outer)
    one, two = (SimpleNamespace(group=Group("group", [0]), alike=True) for _ in range(2))
    elsewhere = SimpleNamespace(group=Group("other", [0]), alike=True)
    first = on_use.uses_in(inner, one)  # type: ignore[arg-type]
    assert first.level is outer and on_use.uses_in(outer, one) is first  # type: ignore[arg-type]
    other = on_use.uses_in(outer, elsewhere)  # type: ignore[arg-type]
    assert other is not first and on_use.uses_in(outer, one) is first  # type: ignore[arg-type]
    assert on_use.uses_in(outer, two) is not first  # type: ignore[arg-type]
    assert on_use.uses_in(SimpleNamespace(outer=None), two).level is not outer  # type: ignore


def test_where_nothing_flows_back_zeros_are_sent_all_the_same():
    """Other processes may have a gradient."""
    uses = Watched()
    uses.run(lambda: uses.of(A))
    assert not uses.gradient(A).any() and uses.sent == ["a"]  # type: ignore[arg-type]
    assert uses.gathered == ["a", "a"]


def test_a_backward_pass_that_reads_weights_and_gives_them_nothing():
    uses, x = Watched(), X.clone().requires_grad_()
    out = uses.run(lambda: (x @ uses.of(A)).sum())
    torch.autograd.grad(out, [x, *uses.aliases.values()], allow_unused=True, retain_graph=True)
    first = uses.gradient(A)  # type: ignore[arg-type]
    assert first.any() and uses.sent == ["a"] and uses.gathered == ["a", "a"]
    torch.autograd.grad(out, [x])
    assert not uses.gradient(A).any()  # type: ignore[arg-type]
    assert uses.sent == ["a", "a"] and uses.gathered == ["a", "a", "a"]
