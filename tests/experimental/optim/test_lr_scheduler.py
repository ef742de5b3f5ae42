"""Schedules far beyond their ends, resumed, and with settings at their limits, beside PyTorch's."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor
from lamella.experimental import optim

rates = optim.lr_scheduler
pytestmark = pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step",
                                        "ignore:The epoch parameter")


def pair(lr=(0.5, 0.125), kind="SGD", **more):
    """Ours and PyTorch's optimizer, with a group for each learning rate."""
    mine = getattr(optim, kind)([{"params": [ms.Parameter(Tensor([1.0]), name=f"w{i}")], "lr": x}
                                 for i, x in enumerate(lr)], lr=1.0, **more)
    theirs = getattr(torch.optim, kind)(
        [{"params": [torch.zeros(1, requires_grad=True)], "lr": x} for x in lr], lr=1.0, **more)
    return mine, theirs


def beside(name, steps, **options):
    mine, theirs = pair()
    schedule = getattr(rates, name)(mine, **options)
    wanted = getattr(torch.optim.lr_scheduler, name)(theirs, **options)
    for step in range(steps):
        found = [float(lr) for lr in schedule.get_last_lr()]
        assert found == pytest.approx(wanted.get_last_lr(), rel=2e-5, abs=1e-7), step
        assert found == [float(group["lr"]) for group in mine.param_groups]
        schedule.step()
        wanted.step()
    return schedule


@pytest.mark.parametrize("name, options", [
    ("StepLR", {"step_size": 1}), ("StepLR", {"step_size": 4, "gamma": 1.5}), ("LinearLR", {}),
    ("LinearLR", {"start_factor": 1.0, "end_factor": 0.0, "total_iters": 4}),
    ("LinearLR", {"start_factor": 0.5, "end_factor": 0.25, "total_iters": 3}),
    ("ExponentialLR", {"gamma": 1.25}), ("PolynomialLR", {}),
    ("PolynomialLR", {"total_iters": 4, "power": 0.5}), ("ConstantLR", {}),
    ("ConstantLR", {"factor": 0.25, "total_iters": 1}), ("ConstantLR", {"factor": 1}),
    ("MultiStepLR", {"milestones": [1, 3, 3, 8], "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [2]}),
    ("CosineAnnealingLR", {"T_max": 3}), ("CosineAnnealingLR", {"T_max": 1, "eta_min": 0.25}),
    ("CosineAnnealingLR", {"T_max": 5, "eta_min": 0.0625}),
    ("CosineAnnealingWarmRestarts", {"T_0": 1}), ("CosineAnnealingWarmRestarts", {"T_0": 3}),
    ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 3, "eta_min": 0.125}),
    ("LambdaLR", {"lr_lambda": [lambda e: 0.5 ** e, lambda e: 1 / (1 + e)]}),
    ("MultiplicativeLR", {"lr_lambda": [lambda e: 0.5, lambda e: 1 + 1 / e]}),
])
def test_beyond_the_end(name, options):
    beside(name, 15, **options)


def test_a_factor_of_0_ends():
    """PyTorch divides by it."""
    schedule = rates.ConstantLR(pair()[0], 0, 2)
    found = []
    for _ in range(4):
        found.append([float(lr) for lr in schedule.get_last_lr()])
        schedule.step()
    whole = [float(lr) for lr in schedule.base_lrs]
    assert found == [[0, 0], [0, 0], whole, whole] and min(whole) > 0


@pytest.mark.parametrize("options", [
    {}, {"mode": "triangular2"}, {"mode": "exp_range", "gamma": 0.75}, {"step_size_down": 1},
    {"step_size_up": 1}, {"step_size_up": 3, "step_size_down": 5, "mode": "triangular2"}], ids=str)
def test_cycles(options):
    options = {"base_lr": [0.25, 0.5], "max_lr": [1.0, 4.0], "step_size_up": 2, **options}
    mine, theirs = pair()
    schedule = rates.CyclicLR(mine, **options)
    wanted = torch.optim.lr_scheduler.CyclicLR(theirs, cycle_momentum=False, **options)
    for _ in range(18):
        assert [float(lr) for lr in schedule.get_last_lr()] == pytest.approx(
            wanted.get_last_lr(), rel=1e-4)
        schedule.step()
        wanted.step()
    assert schedule.base_lrs == [0.25, 0.5]


def test_a_cycle_takes_two_thousand_steps_up_by_default():
    schedule = rates.CyclicLR(pair()[0], 1.0, 3.0)
    assert schedule.total_step_size == 4000 and schedule.step_up_ratio == 0.5
    schedule.step(1000)
    assert [float(lr) for lr in schedule.get_last_lr()] == [2.0, 2.0]
    schedule.step(3000)
    assert [float(lr) for lr in schedule.get_last_lr()] == [2.0, 2.0]
    with pytest.raises(ValueError, match="'mode' must be"):
        rates.CyclicLR(pair()[0], 1.0, 3.0, mode="other")
    custom = rates.CyclicLR(pair()[0], 1.0, 3.0, 2, mode="other", scale_fn=lambda x: 0.5)
    custom.step()
    assert float(custom.get_last_lr()[0]) == 1.5


@pytest.mark.parametrize("options", [
    {"pct_start": 0.0, "total_steps": 8}, {"pct_start": 1.0, "total_steps": 8},
    {"pct_start": 0.25, "epochs": 3, "steps_per_epoch": 4, "anneal_strategy": "linear"},
    {"total_steps": 15, "three_phase": True, "anneal_strategy": "linear", "div_factor": 2.0},
    {"total_steps": 10, "final_div_factor": 2, "base_momentum": [0.5, 0.25],
     "max_momentum": [0.75, 0.875]}], ids=str)
def test_one_cycle(options):
    mine, theirs = pair(kind="Adam")
    schedule = rates.OneCycleLR(mine, max_lr=[2.0, 0.5], **options)
    wanted = torch.optim.lr_scheduler.OneCycleLR(theirs, max_lr=[2.0, 0.5], **{
        **options, "anneal_strategy": options.get("anneal_strategy", "cos")})
    for _ in range(schedule.total_steps - 1):
        for ours, group in zip(mine.param_groups, theirs.param_groups, strict=True):
            np.testing.assert_allclose(float(ours["lr"]), group["lr"], rtol=1e-5, atol=1e-9)
            np.testing.assert_allclose(ours["betas"], group["betas"], rtol=1e-5)
        schedule.step()
        wanted.step()


@pytest.mark.parametrize("options, what", [
    ({"total_steps": 2}, None), ({"epochs": 1, "steps_per_epoch": 2}, None),
    ({"total_steps": 0}, "'total_steps' must be an int above 0"),
    ({"total_steps": True}, "'total_steps' must be an int above 0"),
    ({"total_steps": 2.0}, "'total_steps' must be an int above 0"),
    ({"epochs": 0, "steps_per_epoch": 2}, "'epochs' must be an int above 0"),
    ({"epochs": 2, "steps_per_epoch": 0}, "'steps_per_epoch' must be an int above 0"),
    ({"total_steps": 9, "pct_start": 1.001}, "'pct_start' must be 0 to 1"),
    ({"total_steps": 9, "pct_start": -0.001}, "'pct_start' must be 0 to 1"),
    ({"total_steps": 9, "pct_start": True}, "'pct_start' must be 0 to 1"),
    ({"total_steps": 9, "max_lr": [1.0]}, "'max_lr' must have a value for each of 2 groups"),
    ({"total_steps": 9, "base_momentum": [0.5]}, "'base_momentum' must have a value for each"),
    ({"total_steps": 9, "max_momentum": [0.5] * 3}, "'max_momentum' must have a value for each")],
    ids=str)
def test_limits_of_one_cycle(options, what):
    mine = pair(kind="Adam")[0]
    if what is not None:
        with pytest.raises(ValueError, match=what):
            rates.OneCycleLR(mine, **{"max_lr": 1.0, **options})
        return
    assert rates.OneCycleLR(mine, 1.0, **options).total_steps == 2


def test_plateaus_with_limits_of_each_group():
    options = {"factor": 0.5, "patience": 0, "min_lr": [0.2, 0.01], "eps": 0.03, "cooldown": 2}
    mine, theirs = pair()
    schedule = rates.ReduceLROnPlateau(mine, **options)
    wanted = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **options)
    for value in (3.0, 3.0, 3.0, 3.0, 3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0):
        schedule.step(value)
        wanted.step(value)
        assert [float(lr) for lr in schedule.get_last_lr()] == pytest.approx(
            [group["lr"] for group in theirs.param_groups])
        assert schedule.in_cooldown() is wanted.in_cooldown
        assert float(schedule.best) == wanted.best
        assert int(schedule.last_epoch) == wanted.last_epoch


@pytest.mark.parametrize("mode, losses", [("min", [1.0] * 40), ("max", [1.0, 1.00005, 1.0002] * 9)])
def test_plateaus_by_default(mode, losses):
    mine, theirs = pair()
    schedule = rates.ReduceLROnPlateau(mine, mode)
    wanted = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, mode)
    for value in losses:
        schedule.step(value)
        wanted.step(value)
        assert [float(lr) for lr in schedule.get_last_lr()] == pytest.approx(
            [group["lr"] for group in theirs.param_groups])
        assert float(schedule.wait) == wanted.num_bad_epochs
    assert float(schedule.get_last_lr()[0]) < 0.5


@pytest.mark.parametrize("given, what", [
    ({"factor": 0.999}, None), ({"factor": 1.0}, "'factor' must be below 1"),
    ({"mode": "least"}, "'mode' must be 'min' or 'max'"), ({"mode": "max"}, None),
    ({"threshold_mode": "min"}, "'threshold_mode' must be 'rel' or 'abs'"),
    ({"min_lr": [0.1]}, "'min_lr' must have a value for each of 2 groups"),
    ({"min_lr": (0.1, 0.2)}, None)])
def test_limits_of_plateaus(given, what):
    if what is None:
        assert not rates.ReduceLROnPlateau(pair()[0], **given).in_cooldown()
    else:
        with pytest.raises(ValueError, match=what):
            rates.ReduceLROnPlateau(pair()[0], **given)


@pytest.mark.parametrize("milestones", [[1, 2], [3, 5], [2, 6]])
def test_sequences_of_three(milestones):
    made = []
    for module, optimizer in zip((rates, torch.optim.lr_scheduler), pair(), strict=True):
        made.append(module.SequentialLR(optimizer, [
            module.LinearLR(optimizer, 0.5, total_iters=2), module.ConstantLR(optimizer, 0.25, 9),
            module.StepLR(optimizer, 2, 0.5)], milestones))
    for _ in range(12):
        mine, wanted = made[0].get_last_lr(), made[1].get_last_lr()
        assert [float(lr) for lr in mine] == pytest.approx(wanted)
        assert float(made[0].last_epoch) == made[1].last_epoch
        made[0].step()
        made[1].step()


def test_what_a_sequence_is_made_of():
    optimizer, other = pair()[0], pair()[0]
    parts = [rates.ConstantLR(optimizer), rates.ExponentialLR(optimizer, 0.5)]
    for milestones in ([], [1, 2]):
        with pytest.raises(ValueError, match=f"but got {len(milestones)} and 2"):
            rates.SequentialLR(optimizer, parts, milestones)
    with pytest.raises(ValueError, match=r"schedulers\[1\] is of another"):
        rates.SequentialLR(optimizer, [parts[0], rates.ConstantLR(other)], [1])


@pytest.mark.parametrize("last_epoch, what", [
    (-2, "'last_epoch' must be -1 or more, but got -2"), (0, "must have an 'initial_lr'"),
    (-1, None), (1.0, "last_epoch"), (True, "last_epoch")])
def test_where_a_schedule_begins(last_epoch, what):
    optimizer = pair()[0]
    if what is None:
        assert int(rates.StepLR(optimizer, 2, last_epoch=last_epoch).last_epoch) == 0
        assert [float(group["initial_lr"]) for group in optimizer.param_groups] == [0.5, 0.125]
        return
    with pytest.raises((TypeError, ValueError, KeyError), match=what):
        rates.StepLR(optimizer, 2, last_epoch=last_epoch)


def test_a_schedule_goes_on_from_the_first_learning_rate():
    optimizer = pair()[0]
    for group in optimizer.param_groups:
        group["initial_lr"] = 0.75
    schedule = rates.LambdaLR(optimizer, lambda epoch: 0.5 ** epoch, last_epoch=0)
    assert int(schedule.last_epoch) == 1 and schedule.groups_num == 2
    assert [float(lr) for lr in schedule.get_last_lr()] == [0.375, 0.375]
    kept = schedule.get_last_lr()
    schedule.step(3)
    assert [float(lr) for lr in schedule.get_last_lr()] == [0.09375, 0.09375]
    assert [float(lr) for lr in kept] == [0.375, 0.375]
    with pytest.raises(NotImplementedError, match="must define 'get_lr'"):
        rates.LRScheduler(pair()[0])
