"""Recomputed blocks of raw tensors: what is asked for when, and second runs that differ."""

from __future__ import annotations

import pytest
import torch

from lamella.autodiff.kept_again import kept_again

X = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)


def block(x, runs=None):
    if runs is not None:
        runs.append(torch.is_grad_enabled())
    return torch.sin(torch.exp(x)) * torch.cos(x)


def gradient(run, x):
    leaf = x.clone().requires_grad_()
    run(leaf).sum().backward()
    return leaf.grad


@pytest.mark.parametrize("stops_early", [True, False])
def test_the_gradient_is_that_of_the_block(stops_early):
    runs: list[bool] = []
    found = gradient(lambda x: kept_again(lambda x: block(x, runs), [x], stops_early=stops_early),
                     X)
    assert torch.equal(found, gradient(block, X)) and runs == [True, True]


def test_a_second_run_ends_where_nothing_more_is_needed():
    ended: list[int] = []

    def run(x):
        y = torch.exp(x)
        ended.append(1)  # after the last tensor that is kept
        return y + 1

    for stops_early, count in ((True, 1), (False, 2)):
        ended.clear()
        gradient(lambda x, early=stops_early: kept_again(run, [x], stops_early=early), X)
        assert len(ended) == count


def test_each_backward_pass_runs_it_once():
    runs: list[bool] = []
    leaf = X.clone().requires_grad_()
    y = kept_again(lambda x: block(x, runs), [leaf])
    for number in range(3):
        (found,) = torch.autograd.grad(y.sum(), leaf, retain_graph=True)
        assert torch.equal(found, gradient(block, X)) and len(runs) == number + 2


def test_what_is_asked_for_outside_of_a_backward_pass_is_computed_each_time():
    leaf = X.clone().requires_grad_()
    y = kept_again(lambda x: torch.sin(torch.exp(x)), [leaf])
    for _ in range(3):
        assert torch.equal(y.grad_fn._saved_self, torch.exp(X))
    (found,) = torch.autograd.grad(y.sum(), leaf)
    assert torch.equal(found, torch.cos(torch.exp(X)) * torch.exp(X))


def other(second):
    """A function that runs otherwise the second time."""
    runs: list[int] = []

    def run(x):
        runs.append(1)
        return (block if len(runs) == 1 else second)(x)

    return run


@pytest.mark.parametrize("second, words", [
    (lambda x: torch.exp(x), "keeps fewer tensors"),
    (lambda x: block(torch.sin(x)), "keeps more tensors"),
    (lambda x: block(x[:2]), "keeps a tensor of another shape or"),
    (lambda x: block(x.float()), "keeps a tensor of another shape or")])
def test_second_runs_that_differ(second, words):
    with pytest.raises(RuntimeError, match=f"second run of the block {words}"):
        gradient(lambda x: kept_again(other(second), [x], stops_early=False), X)


def test_contexts_of_both_runs():
    entered: list[str] = []

    class Context:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            entered.append(self.name)

        def __exit__(self, *error):
            entered.append(f"after {self.name}")

    found = gradient(lambda x: kept_again(block, [x], lambda: (Context("first"),
                                                              Context("second"))), X)
    assert torch.equal(found, gradient(block, X))
    assert entered == ["first", "after first", "second", "after second"]


def test_mixed_precision_is_as_it_was():
    w = torch.randn((3, 3), generator=torch.Generator().manual_seed(0))
    kinds: list[torch.dtype] = []

    def run(x):
        y = torch.sin(x @ w)
        kinds.append(y.dtype)
        return y.float()

    leaf = torch.ones(2, 3, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        y = kept_again(run, [leaf], stops_early=False)
    y.sum().backward()
    assert kinds == [torch.bfloat16] * 2
    kinds.clear()
    plain = kept_again(run, [leaf], stops_early=False)
    with torch.autocast("cpu", torch.bfloat16):
        plain.sum().backward()
    assert kinds[0] is torch.float32
