"""What a recorded run comes to: results that no kernel of the run has made."""

import dataclasses

import pytest
import torch
from torch.distributed._functional_collectives import AsyncCollectiveTensor

import lamella as ms
from lamella.tensors.tensor import wrap


@pytest.mark.parametrize(("function", "expected"), [
    (lambda x, given: given, [[5.0, 7.0]]), (lambda x, given: (x + 1, given), [[2.0], [5.0, 7.0]]),
    (lambda x, given: (given, given, x), [[5.0, 7.0], [5.0, 7.0], [1.0]])])
def test_a_result_that_the_recorder_has_not_seen_is_a_constant(function, expected):
    # PyTorch answers for this kind of tensor itself, so no kernel of it is recorded
    pending = wrap(AsyncCollectiveTensor(torch.tensor([5.0, 7.0])))
    step = ms.jit(lambda x: function(x, pending))
    for _ in range(3):
        found = step(ms.Tensor([1.0]))
        assert [t.asnumpy().tolist() for t in (found if isinstance(found, tuple) else [found])] == (
            expected)
    assert step.report()["replays"] == 2


def test_a_new_object_of_a_dataclass_is_given_by_every_replay():
    @dataclasses.dataclass
    class Moments:
        mean: ms.Tensor
        spread: tuple

    step = ms.jit(lambda x: Moments(x.mean(), (x.max(), x.min())))
    found = [step(ms.Tensor([1.0, 2.0, float(n)])) for n in (3, 6, 9)]
    assert [type(one) for one in found] == [Moments] * 3 and len({*map(id, found)}) == 3
    assert [one.mean.item() for one in found] == [2.0, 3.0, 4.0]
    assert [one.spread[0].item() for one in found] == [3.0, 6.0, 9.0]
    assert step.report()["replays"] == 2
