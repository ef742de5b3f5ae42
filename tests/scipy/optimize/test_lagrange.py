"""Minimization under inequalities beside the same method with PyTorch's optimizer."""

import numpy as np
import pytest
import torch

from lamella import Tensor
from lamella.scipy import optimize
from lamella.scipy.optimize import lagrange

GOAL = np.array([3.0, -2.0], np.float32)


def bounded(x, lower, upper):
    low, high = (None if v is None else torch.tensor(v) for v in (lower, upper))
    if low is None:
        return x if high is None else high - x * x
    return x * x + low if high is None else (high - low) * torch.sigmoid(x) + low


def reference(rounds, steps, limits, weight, rate, lower, upper):
    """The augmented Lagrangian of Birgin and Martínez, written out."""
    x = torch.tensor([0.4, 0.2], requires_grad=True)
    optimizer = torch.optim.Adam([x], rate)
    multipliers, penalty, tolerance = np.ones(2), 1.0, 1.0
    least, best, losses = None, None, None
    for _ in range(rounds):
        shifts = torch.tensor(multipliers / penalty, dtype=torch.float32)
        for _ in range(steps):
            at = bounded(x, lower, upper)
            value = ((at - torch.from_numpy(GOAL)) ** 2).sum()
            place = at.detach().numpy().copy()  # before the optimizer moves it
            held = torch.stack([at[0] + at[1] - 0.5, at[0] - 2])
            excess = torch.relu(shifts + held) ** 2 - shifts ** 2
            optimizer.zero_grad()
            (weight * value + penalty / 2 * excess.sum()).backward()
            optimizer.step()
            held = held.detach().numpy()
            least = value.item() if least is None else least
            if (held < limits).all() and value.item() < least:
                least, best, losses = value.item(), place, held
        violation = np.linalg.norm(np.maximum(held, -multipliers / penalty))
        if violation <= tolerance:
            multipliers = np.maximum(multipliers + penalty * held, 0)
            tolerance /= penalty ** 0.9
        else:
            penalty *= 1.1
            tolerance = 1 / penalty ** 0.1
    return best, least, losses


@pytest.mark.parametrize("options", [
    {}, {"lower": [0.5, -1.0]}, {"upper": [1.5, 0.5]}, {"lower": [0.5, -1.0], "upper": [2.5, 0.7]},
    {"obj_weight": 3.0, "learning_rate": 0.03}, {"obj_weight": 0.2, "learning_rate": 0.4}],
    ids=str)
@pytest.mark.parametrize("limits", [None, (0.3, 0.8)])
def test_rounds_are_those_of_the_method(options, limits):
    wanted = reference(6, 12, (1.0, 1.0) if limits is None else limits,
                       options.get("obj_weight", 1.0), options.get("learning_rate", 0.1),
                       options.get("lower"), options.get("upper"))
    found = optimize.minimize(
        lambda x: ((x - Tensor(GOAL)) ** 2).sum(), Tensor([0.4, 0.2]), method="LAGRANGE",
        constraints=[lambda x: x[0] + x[1] - 0.5, lambda x: x[0] - 2.0],
        options={"rounds": 6, "steps": 12, **options,
                 **{k: Tensor(options[k]) for k in ("lower", "upper") if k in options}},
        **({} if limits is None else {"tol": list(limits)}))
    assert found.succeeded
    for one, other in zip(found[1:], wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3)


def shared_problem(limit, **options):
    return optimize.minimize(
        lambda x, parts: (parts[0] ** 2).sum() + 1.5, Tensor([1.0, 4.0]), method="LAGRANGE",
        constraints=[lambda x, parts: parts[1] - 9.0, lambda x, parts: x[0] - parts[1]], tol=limit,
        options={"rounds": 2, "steps": 3, "coincide_fun": lambda x: (x - 2.0, x.sum()), **options})


def test_what_objective_and_constraints_share_and_what_is_logged(monkeypatch):
    told = []
    monkeypatch.setattr(lagrange.log, "info", lambda text, *given: told.append(text % given))
    quiet = shared_problem([0.5, 0.5])
    assert not told and quiet.succeeded
    loud = shared_problem([0.5, 0.5], log_sw=True)
    assert len(told) == 6
    # the first step is at the start: (1 - 2)^2 + (4 - 2)^2 + 1.5, and the constraints are -4
    assert told[0] == ("round:0, step:0, object_value:6.500000, lagrange_value:"
                       f"{6.5 + (0 - 1 + 0 - 1) / 2:f}")
    assert [line[:15] for line in told[1:]] == [
        "round:0, step:1", "round:0, step:2", "round:1, step:0", "round:1, step:1",
        "round:1, step:2"]
    np.testing.assert_array_equal(quiet.best_value, loud.best_value)
    x = loud.best_value
    np.testing.assert_allclose(loud.object_value, ((x - 2) ** 2).sum() + 1.5, rtol=1e-5)
    np.testing.assert_allclose(loud.loss_value, [x.sum() - 9, x[0] - x.sum()], rtol=1e-5)
    assert loud.object_value < 6.5


def test_without_a_point_within_the_limits_the_start_is_given_back():
    """Each constraint counts by itself: one that holds makes up for none that doesn't."""
    for limits in ([-8.0, 0.5], [0.5, -8.0]):
        found = shared_problem(limits)
        assert not found.succeeded
        assert np.asarray(found.best_value).tolist() == [1, 4]
        assert float(found.object_value) == 6.5
        assert np.asarray(found.loss_value).tolist() == [1, 1]
