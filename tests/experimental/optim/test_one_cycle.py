"""OneCycleLR step for step against PyTorch's."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, mint
from lamella.experimental import optim

SETTINGS = [
    {"max_lr": 1.0, "total_steps": 12}, {"max_lr": [1.0, 0.5], "epochs": 3, "steps_per_epoch": 4},
    {"max_lr": 0.3, "total_steps": 20, "anneal_strategy": "linear", "pct_start": 0.4},
    {"max_lr": 0.3, "total_steps": 20, "three_phase": True, "final_div_factor": 10.0},
    {"max_lr": 0.3, "total_steps": 9, "cycle_momentum": False},
]


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
def test_as_pytorch(settings, kind):
    more = {"momentum": 0.9} if kind == "SGD" else {}
    weights = [torch.nn.Parameter(torch.zeros(1)) for _ in range(2)]
    theirs = getattr(torch.optim, kind)([{"params": [w]} for w in weights], lr=0.1, **more)
    mine = getattr(optim, kind)(
        [{"params": [ms.Parameter(Tensor([0.0]), name=n)]} for n in "ab"], lr=0.1, **more)
    reference = torch.optim.lr_scheduler.OneCycleLR(theirs, **settings)
    schedule = mint.optim.lr_scheduler.OneCycleLR(mine, **settings)
    for _ in range(schedule.total_steps - 1):
        for ours, group in zip(mine.param_groups, theirs.param_groups, strict=True):
            np.testing.assert_allclose(float(ours["lr"]), group["lr"], rtol=1e-5, atol=1e-9)
            key = "momentum" if kind == "SGD" else "betas"
            np.testing.assert_allclose(ours[key], group[key], rtol=1e-5)
        theirs.step()
        reference.step()
        schedule.step()


def made(**settings):
    weight = ms.Parameter(Tensor([0.0]), name="w")
    return optim.lr_scheduler.OneCycleLR(optim.Adagrad([weight]), 1.0, **settings)


@pytest.mark.parametrize(("settings", "message"), [
    ({}, "'total_steps' must be given"), ({"epochs": 3}, "'total_steps' must be given"),
    ({"steps_per_epoch": 3}, "'total_steps' must be given"),
    ({"total_steps": 0}, "above 0, but got 0"),
    ({"total_steps": 5, "pct_start": 2}, "'pct_start' must be 0 to 1, but got 2"),
    ({"total_steps": 5}, "'cycle_momentum' must be False"),
    ({"total_steps": 5, "anneal_strategy": "up"}, "'anneal_strategy' must be"),
])
def test_errors(settings, message):
    with pytest.raises(ValueError, match=message):
        made(**settings)


def test_more_steps_than_there_are():
    schedule = made(total_steps=3, cycle_momentum=False)
    with pytest.raises(ValueError, match="there are 3 steps, but this is step 4"):
        for _ in range(5):
            schedule.step()
