"""Optimizers and schedules step for step against PyTorch and MindSpore 2.10 (recorded)."""

import json
import pathlib

import numpy as np
import pytest
import torch

import lamella as ms
from lamella.experimental import optim
from tests.experimental.optim import cases

RECORDED = json.loads((pathlib.Path(__file__).parent / "recorded.json").read_text())
TORCH = {"Adam": torch.optim.Adam, "AdamW": torch.optim.AdamW, "Adamax": torch.optim.Adamax,
         "NAdam": torch.optim.NAdam, "RAdam": torch.optim.RAdam, "SGD": torch.optim.SGD,
         "Adagrad": torch.optim.Adagrad, "Adadelta": torch.optim.Adadelta,
         "RMSprop": torch.optim.RMSprop, "Rprop": torch.optim.Rprop, "ASGD": torch.optim.ASGD}


@pytest.mark.parametrize("name", sorted(cases.OPTIMIZERS))
def test_steps_as_recorded(name):
    if name not in RECORDED["optimizers"]:
        pytest.fail(f"{name} was not recorded")
    np.testing.assert_allclose(cases.mindspore_run(ms, optim, name), RECORDED["optimizers"][name],
                               rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("name", sorted(cases.OPTIMIZERS))
def test_steps_as_in_torch(name):
    kind, options = cases.OPTIMIZERS[name]
    params = [torch.tensor(v, requires_grad=True) for v in cases.starts()]
    optimizer = TORCH[kind]([{"params": params[:1]}, {"params": params[1:], "lr": 0.05}],
                            **options)
    found = []
    for step in range(cases.STEPS):
        for p, g in zip(params, cases.gradients(step), strict=True):
            p.grad = torch.tensor(g)
        optimizer.step()
        found.append(np.concatenate([p.detach().numpy().reshape(-1) for p in params]))
    np.testing.assert_allclose(cases.mindspore_run(ms, optim, name), found, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", sorted(cases.SCHEDULES))
def test_rates_as_recorded_and_as_in_torch(name):
    found = cases.mindspore_rates(ms, optim, name)
    np.testing.assert_allclose(found, RECORDED["schedules"][name], rtol=1e-4, atol=1e-6)
    kind, options = cases.SCHEDULES[name]
    weights = [torch.zeros(1, requires_grad=True) for _ in range(2)]
    optimizer = torch.optim.SGD([{"params": weights[:1]}, {"params": weights[1:], "lr": 0.5}],
                                lr=1.0, momentum=0.1)
    schedule = getattr(torch.optim.lr_scheduler, kind)(optimizer, **options)
    wanted = []
    for _ in range(12):
        wanted.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        schedule.step()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def new(kind=optim.SGD, lr=1.0, **options):
    return kind([ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")], lr=lr, **options)


@pytest.mark.filterwarnings("ignore:The epoch parameter")  # PyTorch's own, of its own schedules
def test_functions_of_the_epoch_and_sequences():
    rates = optim.lr_scheduler
    made = rates.LambdaLR(new(), lambda epoch: 0.5 ** epoch)
    many = rates.MultiplicativeLR(new(), [lambda epoch: 0.5])
    optimizer = new()
    parts = [rates.ConstantLR(optimizer, 0.1, 2), rates.ExponentialLR(optimizer, 0.9)]
    sequence = rates.SequentialLR(optimizer, parts, [4])
    weight = torch.zeros(1, requires_grad=True)
    reference = torch.optim.SGD([weight], lr=1.0)
    wanted = torch.optim.lr_scheduler.SequentialLR(reference, [
        torch.optim.lr_scheduler.ConstantLR(reference, 0.1, 2),
        torch.optim.lr_scheduler.ExponentialLR(reference, 0.9)], [4])
    for epoch in range(8):
        assert float(made.get_last_lr()[0]) == float(many.get_last_lr()[0]) == 0.5 ** epoch
        assert float(sequence.get_last_lr()[0]) == pytest.approx(wanted.get_last_lr()[0])
        for schedule in (made, many, sequence):
            schedule.step()
        reference.step()
        wanted.step()


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_plateau_as_in_torch(mode, threshold_mode):
    options = {"mode": mode, "factor": 0.5, "patience": 1, "threshold": 0.1,
               "threshold_mode": threshold_mode, "cooldown": 1, "min_lr": 0.1}
    schedule = optim.lr_scheduler.ReduceLROnPlateau(new(), **options)
    reference = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    wanted = torch.optim.lr_scheduler.ReduceLROnPlateau(reference, **options)
    rng = np.random.default_rng(0)
    for value in rng.random(25).round(2) + 1:
        schedule.step(ms.Tensor(value, ms.float32))
        wanted.step(value)
        assert float(schedule.get_last_lr()[0]) == pytest.approx(reference.param_groups[0]["lr"])


CLOSED = ("step", "linear", "exponential", "polynomial", "multistep", "constant", "cosine")


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_reach_any_epoch(name):
    kind, options = cases.SCHEDULES[name]
    stepped = getattr(optim.lr_scheduler, kind)(new(lr=0.7), **options)
    for epoch in range(1, 12):
        stepped.step()
        jumped = getattr(optim.lr_scheduler, kind)(new(lr=0.7), **options)
        jumped.step(epoch)
        assert float(jumped.get_last_lr()[0]) == pytest.approx(
            float(stepped.get_last_lr()[0]), rel=1e-5, abs=1e-7), (name, epoch)


@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")  # PyTorch's
@pytest.mark.parametrize("options", [{"T_0": 3}, {"T_0": 2, "T_mult": 3, "eta_min": 0.1}], ids=str)
def test_restarts_at_parts_of_epochs_as_in_torch(options):
    mine = optim.lr_scheduler.CosineAnnealingWarmRestarts(new(lr=0.7), **options)
    reference = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.7)
    wanted = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(reference, **options)
    for epoch in (0.5, 1.9, 2.0, 3.25, None, 8, None, 11.75, 0, None):
        mine.step(epoch)
        wanted.step(epoch)
        assert float(mine.get_last_lr()[0]) == pytest.approx(wanted.get_last_lr()[0], rel=1e-5)
        assert float(mine.last_epoch) == wanted.last_epoch
    with pytest.raises(ValueError, match="'epoch' must be 0 or more, but got -1"):
        mine.step(-1)


@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")
def test_a_cycle_scaled_by_a_function():
    for mode, function in (("cycle", lambda x: 1 / (2 + x)), ("iterations", lambda x: 0.9 ** x)):
        options = {"base_lr": [0.1, 0.2], "max_lr": [1.0, 3.0], "step_size_up": 2,
                   "step_size_down": 3, "scale_fn": function, "scale_mode": mode}
        weights = [ms.Parameter(ms.Tensor([1.0]), name=name) for name in "ab"]
        mine = optim.lr_scheduler.CyclicLR(optim.SGD([{"params": [w]} for w in weights], lr=0.5),
                                           **options)
        wanted = torch.optim.lr_scheduler.CyclicLR(torch.optim.SGD(
            [{"params": [torch.zeros(1, requires_grad=True)]} for _ in "ab"], lr=0.5),
            cycle_momentum=False, **options)
        for _ in range(13):
            assert [float(rate) for rate in mine.get_last_lr()] == pytest.approx(
                wanted.get_last_lr(), rel=1e-5)
            mine.step()
            wanted.step()


@pytest.mark.parametrize("kind, fits, others", [
    ("LinearLR", {"start_factor": (1, 0.1), "end_factor": (0, 1, 0.5), "total_iters": (3,)},
     {"start_factor": (0, 1.01, -1), "end_factor": (-0.1, 1.01), "total_iters": (2.0, True)}),
    ("ConstantLR", {"factor": (0.1, 1), "total_iters": (1,)},
     {"factor": (-0.1, 1.1), "total_iters": (1.5,)}),
    ("PolynomialLR", {"power": (0.0, 0.5, 2.0)}, {"power": (-0.1, 1), "total_iters": (1.5,)}),
    ("CosineAnnealingLR", {"T_max": (1,), "eta_min": (0, 0.1)},
     {"T_max": (1.5, True), "eta_min": ("0", True)}),
    ("CosineAnnealingWarmRestarts", {"T_0": (1, 3), "T_mult": (1, 2), "eta_min": (0, 0.5)},
     {"T_0": (0, 1.5, True), "T_mult": (0, 1.5, True), "eta_min": ("0", True)}),
    ("CyclicLR", {"mode": ("triangular", "triangular2", "exp_range")},
     {"mode": ("square",), "base_lr": ([0.1, 0.2],), "max_lr": ([0.1, 0.2],)}),
    ("MultiStepLR", {"milestones": ([], [3]), "gamma": (1, 0.5)},
     {"milestones": ((3,), [1.5], [True]), "gamma": ("0", True)}),
    ("StepLR", {"step_size": (1, 2), "gamma": (0.1,)}, {"step_size": (1.5,), "gamma": (1,)}),
])
def test_limits_of_schedules(kind, fits, others):
    given = {"CosineAnnealingLR": {"T_max": 3}, "CosineAnnealingWarmRestarts": {"T_0": 3},
             "CyclicLR": {"base_lr": 0.1, "max_lr": 0.5}, "MultiStepLR": {"milestones": [2]},
             "StepLR": {"step_size": 2}}.get(kind, {})
    for name, value in ((n, v) for n, values in fits.items() for v in values):
        getattr(optim.lr_scheduler, kind)(new(), **{**given, name: value})
    for name, value in ((n, v) for n, values in others.items() for v in values):
        with pytest.raises((TypeError, ValueError), match=f"'{kind}'.*'{name}'"):
            getattr(optim.lr_scheduler, kind)(new(), **{**given, name: value})


@pytest.mark.parametrize("kind", sorted(TORCH))
def test_compiled_steps_are_the_eager_ones(kind):
    def run(compiled):
        net = ms.nn.Dense(3, 2, weight_init="ones", bias_init="ones")
        optimizer = getattr(optim, kind)(net.trainable_params(), lr=0.1)
        gradient = ms.value_and_grad(lambda x: (net(x) ** 2).sum(), None, optimizer.parameters)

        def step(x):
            loss, gradients = gradient(x)
            optimizer(gradients)
            return loss

        step = ms.jit(step) if compiled else step
        schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        losses = []
        for i in range(5):
            losses.append(float(step(ms.Tensor(np.full((2, 3), 0.1 * i + 0.1, np.float32)))))
            schedule.step()  # the graph sees the new learning rate
        return losses, step

    eager, _ = run(False)
    compiled, step = run(True)
    np.testing.assert_allclose(compiled, eager, rtol=1e-5)
    assert step.report()["replays"] >= 3


def test_groups_amsgrad_and_checkpoints(tmp_path):
    optimizer = new(optim.Adam, 0.1, amsgrad=True)
    optimizer.add_param_group({"params": ms.Parameter(ms.Tensor([3.0]), name="late"), "lr": 0.5})
    assert [float(lr) for lr in optimizer.lrs] == pytest.approx([0.1, 0.5])
    assert "Parameter Group 1" in repr(optimizer) and "lr: 0.5" in repr(optimizer)
    twins = [new(optim.Adam, 0.1, amsgrad=True) for _ in range(2)]
    gradient = [(ms.Tensor([1.0, 3.0]),), (ms.Tensor([0.1, -0.1]),), (ms.Tensor([0.2, 0.1]),)]
    for twin in twins:
        twin(gradient[0])
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    reference = torch.optim.Adam([weight], 0.1, amsgrad=True)
    for (g,) in gradient:
        weight.grad = torch.tensor(g.asnumpy())
        reference.step()
    path = str(tmp_path / "o.ckpt")
    ms.save_checkpoint(twins[0], path)
    late = new(optim.Adam, 0.1, amsgrad=True)
    ms.load_checkpoint(path, late)
    for g in gradient[1:]:
        late(g)
    np.testing.assert_allclose(late.parameters[0].asnumpy(), weight.detach().numpy(), rtol=1e-5)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="'lr' must be at least 0.0, but got -1"):
        new(lr=-1)
    with pytest.raises(ValueError, match=r"betas\[1\]' must be at least 0.0 and below 1.0"):
        new(optim.Adam, 0.1, betas=(0.9, 1.0))
    with pytest.raises(ValueError, match="'nesterov' needs a 'momentum' above 0"):
        new(nesterov=True)
    with pytest.raises(ValueError, match="'etas' must lie below and above 1"):
        new(optim.Rprop, etas=(1.5, 2.0))
    with pytest.raises(ValueError, match="a gradient for each of 1 parameters, but got 2"):
        new()((ms.Tensor([1.0, 1.0]),) * 2)
    with pytest.raises(ValueError, match="must have shape"):
        new()((ms.Tensor([1.0]),))
    with pytest.raises(TypeError, match="must be an Optimizer of experimental.optim"):
        optim.lr_scheduler.StepLR(ms.nn.SGD([ms.Parameter(1.0, name="w")], 0.1), 2)
    with pytest.raises(KeyError, match="must have an 'initial_lr'"):
        optim.lr_scheduler.StepLR(new(), 2, last_epoch=3)
    with pytest.raises(ValueError, match="a value for each of 1 groups, but got 2"):
        optim.lr_scheduler.LambdaLR(new(), [abs, abs])
    with pytest.raises(TypeError, match="'gamma' must be a float"):
        optim.lr_scheduler.ExponentialLR(new(), 1)


_FROM_0 = ((0, 0.0, 1e-9, 7.0), (-1e-9, -1))
_ABOVE_0 = ((1e-9, 7.0), (0, 0.0, -1e-9))
_ANY = ((-5.0, 0, 5.0), ())
_BETAS = (((0, 0.0), (0.99, 0.999)), ((0.9, 1.0), (1.0, 0.9), (-1e-9, 0.9), 0.9, (0.9,), (1, 2, 3)))


@pytest.mark.parametrize("kind, ranges", [
    (optim.SGD, {"lr": _FROM_0, "momentum": _FROM_0, "weight_decay": _FROM_0, "dampening": _ANY}),
    (optim.ASGD, {"lr": _ABOVE_0, "weight_decay": _FROM_0, "lambd": _ANY, "alpha": _ANY,
                  "t0": _ANY}),
    (optim.Rprop, {"lr": _ABOVE_0, "etas": (((0.1, 1.1),), (
        (0, 1.2), (1.0, 1.2), (0.5, 1.0), 0.5, (0.5,), (0.1, 1.2, 1.3)))}),
    (optim.Adagrad, {"lr": _ABOVE_0, "eps": _ABOVE_0, "lr_decay": _FROM_0, "weight_decay": _FROM_0,
                     "initial_accumulator_value": _FROM_0}),
    (optim.Adadelta, {"lr": _ABOVE_0, "eps": _ABOVE_0, "weight_decay": _FROM_0,
                      "rho": ((0, 1, 1.0), (-1e-9, 1.001))}),
    (optim.RMSprop, {"lr": _ABOVE_0, "eps": _ABOVE_0, "alpha": _FROM_0, "weight_decay": _FROM_0,
                     "momentum": _FROM_0}),
    (optim.Adam, {"lr": _FROM_0, "eps": _FROM_0, "weight_decay": _FROM_0, "betas": _BETAS}),
    (optim.AdamW, {"weight_decay": _FROM_0, "betas": _BETAS}),
    (optim.Adamax, {"weight_decay": _FROM_0, "betas": _BETAS}),
    (optim.NAdam, {"weight_decay": _FROM_0, "betas": _BETAS, "momentum_decay": _FROM_0}),
    (optim.RAdam, {"weight_decay": _FROM_0, "betas": _BETAS}),
    (optim.Muon, {"lr": _FROM_0, "weight_decay": _FROM_0, "momentum": _FROM_0, "eps": _FROM_0,
                  "ns_steps": ((1, 5, 99), (0, 100, -1))})])
def test_ranges_of_numbers(kind, ranges):
    def made(**options):
        return kind([ms.Parameter(ms.Tensor([[1.0, 2.0]]), name="w")], **{"lr": 0.1, **options})

    for name, (inside, outside) in ranges.items():
        for value in inside:
            made(**{name: value})
        for value in outside:
            with pytest.raises(ValueError, match=f"For '{kind.__name__}', '{name}"):
                made(**{name: value})
        for value in (True, "1"):
            with pytest.raises((TypeError, ValueError), match=f"For '{kind.__name__}', '{name}"):
                made(**{name: value})
