"""States of an optimizer that don't fit its parameters: refused before a kernel sees them.

PyTorch's fused kernels ask for no shape; each of these once wrote out of the bounds of a state.
"""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, mint, nn, ops
from lamella.common.initializer import initializer
from lamella.experimental import optim
from lamella.ops.primitives import optimizer, optimizer_adaptive, optimizer_rows

STATES = ("m v vhat accum accumulation accum_update linear moment mean_square mean_gradient stat "
          "gradient_accumulator gradient_squared_accumulator").split()
PARAMETERS = ("var", "variable", "parameters")
GRADIENTS = ("grad", "gradient", "delta")
NEEDED = {"lr": 0.1, "l1": 0.0, "l2": 0.0, "lr_power": -0.5, "epsilon": 1e-8, "l2_shrinkage": 0.0}
SHAPE = (1000, 2)


def parameter(shape: tuple[int, ...], dtype: Any = ms.float32) -> Parameter:
    return Parameter(ops.ones(shape, dtype))


def updates() -> Iterator[Any]:
    for module in (optimizer, optimizer_adaptive, optimizer_rows):
        for name in module.__all__:
            cls = getattr(module, name)
            if set(inspect.signature(cls.__call__).parameters) & set(STATES):
                yield pytest.param(cls, id=name)


def made(cls: Any) -> Any:
    needed = [p.name for p in inspect.signature(cls.__init__).parameters.values()
              if p.default is p.empty and p.name in NEEDED]
    return cls(**{name: NEEDED[name] for name in needed})


def arguments(cls: Any, **others: Any) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name in list(inspect.signature(cls.__call__).parameters)[1:]:
        if name in STATES or name in PARAMETERS:
            given[name] = parameter(SHAPE)
        elif name == "indices":
            given[name] = Tensor(np.arange(SHAPE[0]))
        else:
            given[name] = ops.ones(SHAPE) if name in GRADIENTS else 0.5
    return given | others


@pytest.mark.parametrize("cls", [*updates()])
def test_primitives_refuse_states_that_do_not_fit(cls: Any) -> None:
    made(cls)(**arguments(cls))
    for name in [n for n in arguments(cls) if n in STATES]:
        for shape in ((3,), (1, 2), (0, 2), (2, 1000), (1001, 2), ()):
            with pytest.raises(ValueError, match=rf"For '{cls.__name__}', the state"):
                made(cls)(**arguments(cls, **{name: parameter(shape)}))
        unfit = ms.int32 if cls._any_types else ms.float16
        with pytest.raises(TypeError, match=rf"For '{cls.__name__}', the state.*{unfit}"):
            made(cls)(**arguments(cls, **{name: parameter(SHAPE, unfit)}))
        with pytest.raises((TypeError, ValueError), match=f"For '{cls.__name__}'"):
            made(cls)(**arguments(cls, **{name: 1.0}))


@pytest.mark.parametrize("cls", [*updates()])
def test_primitives_refuse_gradients_numbers_and_types_that_do_not_fit(cls: Any) -> None:
    given = arguments(cls)
    gradient = next(n for n in given if n in GRADIENTS)
    for shape in ((3,), (1000, 0), (1000, 3), ()):
        with pytest.raises(ValueError, match=f"For '{cls.__name__}'"):
            made(cls)(**arguments(cls, **{gradient: ops.ones(shape)}))
    for name in [n for n, value in given.items() if isinstance(value, float)]:
        for value in (None, "much", ops.ones(3), Tensor([1j])):
            with pytest.raises((TypeError, ValueError), match=f"For '{cls.__name__}', a number"):
                made(cls)(**arguments(cls, **{name: value}))
    whole = {n: parameter(SHAPE, ms.int32) for n in given if n in STATES or n in PARAMETERS}
    with pytest.raises(TypeError, match=rf"For '{cls.__name__}'.* type.*Int32"):
        made(cls)(**arguments(cls, **whole))


@pytest.mark.parametrize("cls", [c for c in updates() if str(c.id) in optimizer_rows.__all__])
def test_rows_that_are_not_there_are_left_out(cls: Any) -> None:
    far, near = arguments(cls), arguments(cls)
    near.update({n: ops.ones((1, 2)) for n in near if n in GRADIENTS}, indices=Tensor([5]))
    far.update({n: ops.ones((3, 2)) for n in far if n in GRADIENTS},
               indices=Tensor([-7, 5, 10**6]))
    for got, want in zip(made(cls)(**far), made(cls)(**near), strict=True):
        np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())
    for indices in (Tensor([[5]]), Tensor([0.5]), Tensor(5)):
        with pytest.raises((TypeError, ValueError), match=f"For '{cls.__name__}'.*indices"):
            made(cls)(**(near | {"indices": indices}))


OPTIMIZERS = {
    "Adam": nn.Adam, "AdamWeightDecay": nn.AdamWeightDecay, "LazyAdam": nn.LazyAdam,
    "amsgrad": lambda p: nn.Adam(p, use_amsgrad=True), "AdaMax": nn.AdaMax,
    "nesterov": lambda p: nn.Adam(p, use_nesterov=True), "Lamb": lambda p: nn.Lamb(p, 0.1),
    "Momentum": lambda p: nn.Momentum(p, 0.1, 0.9), "Adagrad": nn.Adagrad,
    "SGD": lambda p: nn.SGD(p, 0.1, 0.9), "damped": lambda p: nn.SGD(p, 0.1, 0.9, 0.5),
    "RMSProp": nn.RMSProp, "centered": lambda p: nn.RMSProp(p, centered=True),
    "Adadelta": nn.Adadelta, "FTRL": nn.FTRL, "ProximalAdagrad": nn.ProximalAdagrad,
    "Rprop": nn.Rprop, "ASGD": nn.ASGD, "AdaFactor": nn.AdaFactor,
    "LARS": lambda p: nn.LARS(nn.Momentum(p, 0.1, 0.9)),
}


@pytest.mark.parametrize("make", [*OPTIMIZERS.values()], ids=OPTIMIZERS)
@pytest.mark.parametrize("steps", [0, 1])
def test_a_parameter_of_another_shape_than_its_states(make: Any, steps: int) -> None:
    for old, new in (((3,), (100000,)), ((100000,), (3,)), ((3, 4), (1000, 4)), ((4, 4), (16,))):
        weight = Parameter(ops.ones(old), name="w")
        update = make([weight])
        for _ in range(steps):
            update((ops.ones(old),))
        weight.set_data(ops.ones(new), slice_shape=True)
        before = weight.asnumpy().copy()
        with pytest.raises(ValueError, match=r"the state in Parameter '\w+.*w' must have shape"):
            update((ops.ones(new),))
        np.testing.assert_array_equal(weight.asnumpy(), before)


OTHERS = {f"{kind}-{amsgrad}": (lambda p, k=kind, a=amsgrad: getattr(mint.optim, k)(
    p, 0.1, amsgrad=a)) for kind in ("Adam", "AdamW") for amsgrad in (False, True)}
OTHERS["SGD"] = lambda p: mint.optim.SGD(p, 0.1, 0.9)
OTHERS |= {f"experimental {name}": (lambda p, n=name: getattr(optim, n)(p, 0.1)) for name in (
    "ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop")}
OTHERS["experimental amsgrad"] = lambda p: optim.Adam(p, 0.1, amsgrad=True)


@pytest.mark.parametrize("make", [*OTHERS.values()], ids=OTHERS)
def test_states_of_the_optimizers_whose_groups_are_dicts(make: Any) -> None:
    for old, new in (((3,), (100000,)), ((100000,), (3,)), ((4, 4), (16,))):
        fixed, weight = (Parameter(ops.ones(s), name=f"w{i}") for i, s in enumerate(((2,), old)))
        update = make([{"params": [fixed]}, {"params": [weight]}])
        update((ops.ones(2), ops.ones(old)))
        weight.set_data(ops.ones(new), slice_shape=True)
        with pytest.raises(ValueError, match=r"the state in Parameter '.*w1' must have shape"):
            update((ops.ones(2), ops.ones(new)))


def test_parameters_that_came_later_have_no_states() -> None:
    first, second = (Parameter(ops.ones(3), name=name) for name in "ab")
    update = mint.optim.Adam([first], 0.1)
    update.add_param_group({"params": [second]})
    with pytest.raises(ValueError, match="For 'Adam', there must be a state for each of 2"):
        update((ops.ones(3), ops.ones(3)))


def test_in_a_compiled_step() -> None:
    weight = Parameter(ops.ones(3), name="w")
    step = ms.jit(nn.Adam([weight], 0.1), jit_level="O0")
    step((ops.ones(3),))
    weight.set_data(ops.ones(100000), slice_shape=True)
    with pytest.raises(ValueError, match="For 'Adam', the state in Parameter 'moment1.w'"):
        step((ops.ones(100000),))


def test_states_whose_data_was_put_off_are_made() -> None:
    with nn.no_init_parameters():
        net = nn.Dense(300, 400)
        update = nn.Adam(net.trainable_params(), 0.1)
        weight, moment = (Parameter(initializer("zeros", (300, 400))) for _ in range(2))
    update(tuple(ops.ones(p.shape) for p in net.trainable_params()))
    assert not update.moment1[0].has_init
    np.testing.assert_allclose(update.moment1[0].asnumpy(), 0.1, rtol=1e-6)
    ops.ApplyMomentum()(weight, moment, 0.1, ops.ones((300, 400)), 0.9)
    np.testing.assert_array_equal(moment.asnumpy(), np.ones((300, 400), np.float32))


def test_states_follow_a_parameter_to_another_memory_layout() -> None:
    start, other = np.random.rand(2, 3, 4).astype(np.float32)
    gradient = Tensor(np.random.rand(3, 4).astype(np.float32))
    results = []
    for moved in (Tensor(other), Tensor(np.ascontiguousarray(other.T)).T):
        weight = Parameter(Tensor(start), name="w")
        update = nn.Adam([weight], 0.1)
        update((gradient,))
        weight._raw = moved._raw.clone()
        update((gradient,))
        results.append((weight.asnumpy(), update.moment1[0].asnumpy()))
    for got, want in zip(*results, strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_copy_of_an_optimizer_looks_at_its_own_states() -> None:
    weight = Parameter(ops.ones(3), name="w")
    update = nn.Adam([weight], 0.1)
    update((ops.ones(3),))
    for again in (copy.deepcopy(update), pickle.loads(pickle.dumps(update))):
        again((ops.ones(3),))
        again.moment1[0].set_data(ops.ones(2), slice_shape=True)
        with pytest.raises(ValueError, match="For 'Adam', the state in Parameter 'moment1.w'"):
            again((ops.ones(3),))
