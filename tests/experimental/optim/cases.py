"""Optimizers and schedules with their settings, and a run of each."""

import numpy as np

OPTIMIZERS = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd momentum": ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    "sgd dampened": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    "sgd nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    "adam": ("Adam", {"lr": 0.1, "weight_decay": 0.05}),
    "adam maximize": ("Adam", {"lr": 0.1, "betas": (0.8, 0.9), "maximize": True}),
    "adamw": ("AdamW", {"lr": 0.1, "weight_decay": 0.1}),
    "adamw amsgrad": ("AdamW", {"lr": 0.1, "amsgrad": True}),
    "adamax": ("Adamax", {"lr": 0.1, "weight_decay": 0.1}),
    "nadam": ("NAdam", {"lr": 0.1, "momentum_decay": 0.01}),
    "radam": ("RAdam", {"lr": 0.1, "betas": (0.9, 0.95)}),
    "adagrad": ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5}),
    "adadelta": ("Adadelta", {"lr": 1.0, "rho": 0.8}),
    "rmsprop": ("RMSprop", {"lr": 0.01, "alpha": 0.8}),
    "rmsprop centered": ("RMSprop", {"lr": 0.01, "alpha": 0.8, "centered": True,
                                     "momentum": 0.9}),
    "rprop": ("Rprop", {"lr": 0.1}),
    "asgd": ("ASGD", {"lr": 0.1, "t0": 2.0, "lambd": 0.01}),
}
SCHEDULES = {
    "step": ("StepLR", {"step_size": 3, "gamma": 0.5}),
    "linear": ("LinearLR", {"start_factor": 0.25, "total_iters": 4}),
    "exponential": ("ExponentialLR", {"gamma": 0.9}),
    "polynomial": ("PolynomialLR", {"total_iters": 6, "power": 2.0}),
    "multistep": ("MultiStepLR", {"milestones": [2, 5, 5], "gamma": 0.5}),
    "constant": ("ConstantLR", {"factor": 0.5, "total_iters": 3}),
    "cosine": ("CosineAnnealingLR", {"T_max": 4, "eta_min": 0.01}),
    "restarts": ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 2, "eta_min": 0.01}),
    "triangular": ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 3,
                                "step_size_down": 2}),
    "triangular2": ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 2,
                                 "mode": "triangular2"}),
    "exp range": ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 3,
                               "mode": "exp_range", "gamma": 0.9}),
}
STEPS = 8


def starts():
    """Two parameters."""
    rng = np.random.RandomState(0)
    return [rng.randn(2, 3).astype(np.float32), rng.randn(4).astype(np.float32)]


def gradients(step):
    """The gradients of a step."""
    rng = np.random.RandomState(100 + step)
    return [rng.randn(2, 3).astype(np.float32), rng.randn(4).astype(np.float32)]


def mindspore_run(ms, optim, name):
    """The parameters after each step."""
    kind, options = OPTIMIZERS[name]
    params = [ms.Parameter(ms.Tensor(v), name=f"p{i}") for i, v in enumerate(starts())]
    optimizer = getattr(optim, kind)([{"params": params[:1]}, {"params": params[1:], "lr": 0.05}],
                                     **options)
    found = []
    for step in range(STEPS):
        optimizer(tuple(ms.Tensor(g) for g in gradients(step)))
        found.append(np.concatenate([p.asnumpy().reshape(-1) for p in params]).tolist())
    return found


def mindspore_rates(ms, optim, name):
    """The learning rates before each step."""
    kind, options = SCHEDULES[name]
    params = [ms.Parameter(ms.Tensor(v), name=f"p{i}") for i, v in enumerate(starts())]
    optimizer = optim.SGD([{"params": params[:1]}, {"params": params[1:], "lr": 0.5}], lr=1.0)
    schedule = getattr(optim.lr_scheduler, kind)(optimizer, **options)
    found = []
    for _ in range(12):
        found.append([float(rate) for rate in schedule.get_last_lr()])
        schedule.step()
    return found
