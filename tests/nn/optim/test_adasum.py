"""The adaptive sum beside its formula, and the groups and checks of its optimizers."""

import functools
import types

import numpy as np
import pytest
import torch

import lamella as ms
from lamella.nn.optim import adasum


def pair(a, b):
    """Maleki et al. (2020), equation 4."""
    dot = float((a * b).sum())
    return (1 - dot / (2 * float((a * a).sum()))) * a + (1 - dot / (2 * float((b * b).sum()))) * b


@pytest.mark.parametrize("count", [1, 2, 3, 4, 8])
def test_adaptive_sums_are_taken_pair_by_pair(count):
    rng = np.random.default_rng(count)
    parts = [rng.normal(size=(2, 3)) + 0.5 for _ in range(count)]
    found = adasum.adaptive_sum([torch.from_numpy(part) for part in parts]).numpy()
    if count == 3:
        wanted = pair(parts[0], pair(*parts[1:]))
    else:
        while len(parts) > 1:
            parts = [pair(*parts[i:i + 2]) for i in range(0, len(parts), 2)]
        wanted = parts[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_zeros_add_nothing():
    zero, one = torch.zeros(2), torch.tensor([3.0, -4.0])
    assert adasum.adaptive_sum([zero, zero]).tolist() == [0, 0]
    # the parts that are 0 are orthogonal to all others
    np.testing.assert_allclose(adasum.adaptive_sum([zero, one]).numpy(), one.numpy(), rtol=1e-6)


@pytest.fixture
def world(monkeypatch):
    """Processes as a test says they are; what groups were made is in `made`."""
    said = types.SimpleNamespace(rank=0, size=2, mode="data_parallel", spread=False, stages=1,
                                 made=[])
    settings = {"parallel_mode": lambda: said.mode, "pipeline_stages": lambda: said.stages,
                "enable_parallel_optimizer": lambda: said.spread}
    monkeypatch.setattr(adasum, "group_of", lambda group, name: said)
    monkeypatch.setattr(adasum, "create_group", lambda *group: said.made.append(group))
    monkeypatch.setattr(adasum, "get_auto_parallel_context", lambda name: settings[name]())
    return said


def optimizer():
    return ms.nn.SGD([ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")], 0.5)


@pytest.mark.parametrize("size, each", [(2, 1), (8, 1), (16, 8), (32, 8)])
def test_the_processes_of_one_place_on_each_server_make_a_group(world, size, each):
    world.size, world.rank = size, size - 3 if size > 2 else 1
    cell = ms.nn.AdaSumByGradWrapCell(optimizer())
    if each == 1:
        assert cell._group is None and not world.made
        return
    ranks = [list(range(place, size, each)) for place in range(each)]
    assert world.made == [("adasum-" + "-".join(map(str, r)), r) for r in ranks]
    assert cell._group == next(name for name, r in world.made if world.rank in r)


@pytest.mark.parametrize("change, message", [
    ({"mode": "stand_alone"}, "the parallel mode must not be 'stand_alone'"),
    ({"spread": True}, "states can't be spread over processes"),
    ({"stages": 2}, "there can't be stages of a pipeline"),
    *(({"size": n}, f"a power of 2 above 1, but got {n}") for n in (0, 1, 3, 6, 12))])
@pytest.mark.parametrize("kind", ["AdaSumByGradWrapCell", "AdaSumByDeltaWeightWrapCell"])
def test_where_there_is_no_adaptive_sum(world, kind, change, message):
    vars(world).update(change)
    with pytest.raises(RuntimeError, match=f"For '{kind}'.*{message}"):
        getattr(ms.nn, kind)(optimizer())
    vars(world).update(size=4, mode="data_parallel", spread=False, stages=1)
    getattr(ms.nn, kind)(optimizer())


@pytest.mark.parametrize("kind", ["AdaSumByGradWrapCell", "AdaSumByDeltaWeightWrapCell"])
def test_steps_are_those_of_the_adaptive_sum(world, monkeypatch, kind):
    """Beside another process, whose gradient (or step) is a third of this one's, turned."""
    other = torch.tensor([[0.0, -1.0], [1.0, 0.0]]) / 3

    def gathered(change):
        return torch.stack([change, other @ change + change / 2])

    monkeypatch.setattr(adasum.exchange, "all_gather", lambda name, raw, group: gathered(raw))
    cell = getattr(ms.nn, kind)(optimizer())
    cell((ms.Tensor([0.5, -2.0]),))
    gradient = torch.tensor([0.5, -2.0])
    summed = functools.reduce(pair, gathered(gradient).numpy())
    np.testing.assert_allclose(cell.parameters[0].asnumpy(), [1, 2] - 0.5 * summed, rtol=1e-5)
