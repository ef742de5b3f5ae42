"""Every setting of the optimizers beside PyTorch's: two groups, each with settings of its own."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor
from lamella.experimental import optim

# of the second group of parameters; the first one has the defaults
SETTINGS = [
    ("SGD", {"momentum": 0.5, "weight_decay": 0.25}), ("SGD", {"momentum": 0.5, "dampening": 0.5}),
    ("SGD", {"dampening": 0.5, "maximize": True}), ("SGD", {"momentum": 0.75, "nesterov": True}),
    ("Adam", {"betas": (0.5, 0.75)}), ("Adam", {"amsgrad": True, "betas": (0.5, 0.25)}),
    ("Adam", {"weight_decay": 0.25, "maximize": True}),
    ("AdamW", {"eps": 0.5, "betas": (0.5, 0.75)}), ("AdamW", {"weight_decay": 0.5}),
    ("AdamW", {"amsgrad": True, "maximize": True, "betas": (0.5, 0.25)}),
    ("Adamax", {"eps": 0.5, "betas": (0.5, 0.75)}), ("Adamax", {"weight_decay": 0.5}),
    ("NAdam", {"eps": 0.5, "betas": (0.5, 0.75)}), ("NAdam", {"momentum_decay": 2.0}),
    ("NAdam", {"weight_decay": 0.5}), ("RAdam", {"eps": 0.5, "betas": (0.5, 0.75)}),
    ("RAdam", {"betas": (0.75, 0.9), "eps": 0.25}), ("RAdam", {"weight_decay": 0.5}),
    ("Adagrad", {"eps": 0.5, "lr_decay": 0.5}), ("Adagrad", {"weight_decay": 0.5}),
    ("Adadelta", {"eps": 0.5, "rho": 0.25}), ("Adadelta", {"weight_decay": 0.5, "maximize": True}),
    ("RMSprop", {"eps": 0.5, "alpha": 0.25}), ("RMSprop", {"momentum": 0.5, "weight_decay": 0.25}),
    ("RMSprop", {"centered": True, "eps": 0.25, "alpha": 0.5, "maximize": True}),
    ("Rprop", {"etas": (0.25, 1.5), "step_sizes": (0.09, 0.12)}), ("Rprop", {"maximize": True}),
    ("ASGD", {"lambd": 0.5, "alpha": 0.25}), ("ASGD", {"t0": 2, "weight_decay": 0.5}),
]


@pytest.mark.parametrize("kind, options", SETTINGS, ids=str)
def test_settings_of_one_group(kind, options):
    rng = np.random.default_rng(0)
    starts = [rng.standard_normal(s).astype(np.float32) for s in ((2, 3), (4,), (3, 1))]
    mine = [ms.Parameter(Tensor(s), name=f"w{i}") for i, s in enumerate(starts)]
    theirs = [torch.nn.Parameter(torch.tensor(s)) for s in starts]
    made = getattr(optim, kind)([{"params": mine[:1]}, {"params": mine[1:], "lr": 0.25, **options}],
                                lr=0.1)
    reference = getattr(torch.optim, kind)(
        [{"params": theirs[:1]}, {"params": theirs[1:], "lr": 0.25, **options}], lr=0.1)
    for _ in range(7):
        grads = [rng.standard_normal(s.shape).astype(np.float32) for s in starts]
        for weight, grad in zip(theirs, grads, strict=True):
            weight.grad = torch.tensor(grad)
        assert made(tuple(map(Tensor, grads))) is True
        reference.step()
        for a, b in zip(mine, theirs, strict=True):
            # 1 - 0.999 ** step, of which RAdam takes a root of quotients, loses digits in float32
            np.testing.assert_allclose(a.asnumpy(), b.detach().numpy(), rtol=2e-5,
                                       atol=2e-4 if kind == "RAdam" else 1e-5)


@pytest.mark.parametrize("amsgrad", [False, True])
def test_what_adam_adds_to_the_root_is_not_corrected(amsgrad):
    """As in MindSpore; in PyTorch, and here in AdamW, the root is corrected before."""
    rng, (b1, b2), lr, eps = np.random.default_rng(1), (0.5, 0.25), 0.25, 0.5
    w, m, v, top = rng.standard_normal(4), 0.0, 0.0, 0.0
    weight = ms.Parameter(Tensor(w, ms.float32), name="w")
    made = optim.Adam([weight], lr, (b1, b2), eps, amsgrad=amsgrad)
    for step in range(1, 7):
        g = rng.standard_normal(4)
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        top = np.maximum(top, v)
        scale = lr * np.sqrt(1 - b2 ** step) / (1 - b1 ** step)
        w = w - scale * m / (np.sqrt(top if amsgrad else v) + eps)
        made((Tensor(g, ms.float32),))
        np.testing.assert_allclose(weight.asnumpy(), w, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in SETTINGS}))
def test_settings_by_default(kind):
    ours = getattr(optim, kind)([ms.Parameter(Tensor([1.0]), name="w")], 0.5).defaults
    theirs = getattr(torch.optim, kind)([torch.zeros(1, requires_grad=True)], 0.5).defaults
    shared = set(ours) & set(theirs)
    assert len(shared) >= 3
    assert {k: ours[k] for k in shared} == {k: theirs[k] for k in shared}


@pytest.mark.parametrize("momentum, dampening, fits", [
    (0.5, 0, True), (1e-9, 0.0, True), (0.5, 0.5, False), (0, 0.5, False), (0, 0, False),
    (0.5, -0.5, False)])
def test_looking_ahead_needs_momentum_without_dampening(momentum, dampening, fits):
    def make():
        return optim.SGD([ms.Parameter(Tensor([1.0]), name="w")], 0.1, momentum, dampening,
                         nesterov=True)
    if fits:
        assert make().defaults["nesterov"] is True
    else:
        with pytest.raises(ValueError, match="'nesterov' needs a 'momentum' above 0"):
            make()


@pytest.mark.parametrize("kind", ["Adam", "Adamax"])
def test_what_parameters_and_groups_may_be(kind):
    def make(params, **more):
        return getattr(optim, kind)(params, **more)

    a, b, c = (ms.Parameter(Tensor([1.0, 2.0]), name=n) for n in "abc")
    made = make([{"params": a}, {"params": (b, c), "lr": 0.5, "weight_decay": 1}])
    assert made.group_start_id == [0, 1, 3] and [p.name for p in made.parameters] == list("abc")
    assert [g["weight_decay"] for g in made.param_groups] == [0.0, 1.0]
    assert [lr.name for lr in made.lrs] == ["learning_rate_group_0", "learning_rate_group_1"]
    assert not made.lrs[0].requires_grad and made.lrs[1].dtype is ms.float32
    assert len(make(iter([a, b])).parameters) == 2
    for params, what in (([], "must not be empty"), (a, "must be a list of Parameters"),
                         (3, "must be a list of Parameters"), ([1.0], "must hold Parameters"),
                         ([{"params": {a}}], "must have an order"),
                         ([{"params": [a]}, {"params": [b, a]}], "'a' is in several"),
                         ([{"params": [a]}, [b]], "a group must be a dict"),
                         ([{"params": [a], "lr": Tensor([0.1])}], r"rank 0, but got shape \(1,\)"),
                         ([{"params": [a], "lr": "1"}], "'lr' must be a number or a Tensor"),
                         ([{"params": [a], "lr": -1e-9}], "'lr' must be 0 or more"),
                         ([{"params": [a], "weight_decay": -1e-9}], "'weight_decay' must be 0 or"),
                         ([{"params": [a], "weight_decay": True}], "'weight_decay' must be a num"),
                         ([{"params": [a], "weight_decay": "1"}], "'weight_decay' must be a numb")):
        with pytest.raises((TypeError, ValueError), match=what):
            make(params)
    for rate in (0, 0.0, 3, Tensor(0.5), Tensor(-1.0)):
        assert float(make([{"params": [a], "lr": rate}]).lrs[0]) == float(rate)
