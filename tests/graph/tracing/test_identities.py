"""Ids and hashes of objects, which may differ in the next call."""

import copy
import gc
import types
import warnings

import pytest

from lamella import Parameter, Tensor, jit, nn
from lamella.core.state import state
from lamella.graph.guards.search import reachable_from
from lamella.graph.tracing.identities import identities_checked, identity

KNOWN: dict = {}
SEEN: set = set()


def by_id(x):
    return x * KNOWN.get(id(x), 3.0)


def by_hash(x):
    return x * KNOWN.get(hash(x), 3.0)


def by_method(x):
    return x * KNOWN.get(x.__hash__(), 3.0)


def by_key(x):
    return x * KNOWN.get(x, 3.0)


def counted(x):
    KNOWN[x] = KNOWN.get(x, 0.0) + 1.0
    return x * KNOWN[x]


def in_set(x):
    first = x not in SEEN
    SEEN.add(x)
    return x * (1.0 if first else 2.0)


def by_address(x):
    return x * KNOWN.get(x.data_ptr(), 3.0)


def found(function, tensors, is_first_known):
    """Results of calls, each Tensor three times in turns."""
    KNOWN.clear()
    SEEN.clear()
    if is_first_known:
        first = tensors[0]
        KNOWN.update({id(first): 2.0, hash(first): 2.0, first.data_ptr(): 2.0, first: 2.0})
    return [function(x).asnumpy().tolist() for _ in range(3) for x in tensors]


@pytest.mark.parametrize("function", [by_id, by_hash, by_method, by_key, counted, in_set,
                                      by_address])
def test_the_identity_of_an_argument_is_no_constant(function):
    tensors = [Tensor([1.0]), Tensor([1.0])]
    compiled = jit(function)
    is_first_known = function is not counted
    want = found(function, tensors, is_first_known)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert found(compiled, tensors, is_first_known) == want
    assert len(said) == 1 and compiled.report()["eager"], compiled.report()
    KNOWN.clear()
    SEEN.clear()
    gc.collect()


def test_ids_of_parameters_and_cells_are_constants():
    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    means = {id(p): Parameter(p.copy(), name=f"mean.{p.name}") for p in net.trainable_params()}
    factors = {id(net): 2.0}

    def step(x):
        loss = net(x).sum() * factors[id(net)]
        for p in net.trainable_params():
            means[id(p)].set_data(means[id(p)] * 0.5 + p * 0.5)
        return loss

    compiled = jit(step, fullgraph=True)
    for k in range(3):
        net.weight.set_data(Tensor([[k + 1.0, 0.0]]))
        assert compiled(Tensor([[1.0, 1.0]])).asnumpy() == 2.0 * (k + 1)
    assert means[id(net.weight)].asnumpy().tolist() == [[2.25, 0.125]]
    assert compiled.report()["replays"] > 0 and "id" not in globals()


def test_a_library_may_ask_for_ids():
    settings = {"rates": [0.5, 2.0]}
    compiled = jit(lambda x: x * copy.deepcopy(settings)["rates"][1], fullgraph=True)
    for _ in range(2):
        assert compiled(Tensor([1.0])).asnumpy() == 2.0



def test_outside_of_a_recorded_run_it_is_pythons():
    for thing in (Tensor([1.0]), [1], KNOWN, len, None):
        assert identity(thing) == id(thing)


class Plain:
    pass


class Equal:
    def __eq__(self, other):
        return True

    __hash__ = object.__hash__


def is_refused(thing, reached):
    """Whether the id of a thing is refused in a run that reaches another."""
    told: list[str] = []
    before, state.trace = state.trace, types.SimpleNamespace(
        reach=reachable_from(lambda: reached), refuse=told.append)
    try:
        assert identity(thing) == id(thing)
    finally:
        state.trace = before
    return bool(told)


WEIGHT, HELD, THING = Parameter(Tensor([1.0]), name="w"), Tensor([1.0]), Plain()
HOLDER = Plain()
HOLDER.held = HELD  # type: ignore[attr-defined]
LIST, NUMBERS = [1], types.SimpleNamespace(n=1)


@pytest.mark.parametrize("thing, reached, refused", [
    (WEIGHT, WEIGHT, False), (WEIGHT, None, True), (HELD, HELD, False), (HELD, HOLDER, True),
    (THING, THING, False), (THING, None, True), (LIST, LIST, True), (NUMBERS, NUMBERS, True),
    (Plain, None, False), (types, None, False), (len, None, False), (identity, None, False),
    (3, None, True), (KNOWN, None, True)], ids=range(14))
def test_ids_that_every_call_finds_again(thing, reached, refused):
    assert is_refused(thing, reached) is refused


def test_an_object_with_an_equality_of_its_own_may_be_another_one():
    thing = Equal()
    assert is_refused(thing, thing)


def module_of(name, **more):
    space = {"__name__": name, **more}
    exec("def by_id(x):\n    return id(x)\ndef other(x):\n    return x\n", space)
    return space


def test_modules_of_the_program_find_another_id_while_a_run_is_recorded():
    program, own = module_of("a_program"), module_of("a_program", id=len)
    library, without = module_of("json"), module_of("a_program")
    functions = [space["by_id"] for space in (program, own, library)] + [without["other"]]
    reach = reachable_from(lambda: functions)
    with pytest.raises(KeyError), identities_checked(reach):
        assert program["id"] is identity and own["id"] is len
        assert "id" not in library and "id" not in without
        raise KeyError
    assert "id" not in program and own["id"] is len
