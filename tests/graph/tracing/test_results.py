"""Results whose classes are derived from Python's: replays give what an eager call gives."""

from collections import Counter, OrderedDict, defaultdict, namedtuple

import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit

from .agreement import numbers


class Output(OrderedDict):
    """As libraries of models return: a value is an element and an attribute."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        self[name] = value


class Numbers(list):
    pass


class Slots(list):
    __slots__ = ("last", "unset")


class Row(tuple):
    __slots__ = ()


class Noted(tuple):
    pass


class Named(namedtuple("Pair", "x y")):
    def __new__(cls, x):
        return super().__new__(cls, x, x * 2)


def output(x):
    found = Output()
    found.logits = x * 2
    found.hidden = [x + 1, {"a": x * 3}]
    found.loss = found.logits
    return found


def numbers_of(x):
    found = Numbers([x * 2, 3])
    found.shift = x + 5
    return found


def noted(x):
    found = Noted((x * 2, x))
    found.by = {"x": x + 1}
    return found


def named(x):
    found = Named(x * 3)
    found.note = "text"
    return [found, found]


def slotted(x):
    found = Slots([x * 2])
    found.last = x + 1
    return found


def counted(x):
    found = Counter("aab")
    found["x"] = x * 2
    return found, defaultdict(list, a=x + 1)


def shown(value):
    """A result with the classes and the attributes of all containers."""
    if isinstance(value, (tuple, list, dict)):
        base = next(kind for kind in (tuple, list, dict) if isinstance(value, kind))
        parts = dict.items(value) if base is dict else base.__iter__(value)
        return (type(value), [shown(part) for part in parts],
                {name: shown(getattr(value, name)) for name in (
                    *getattr(value, "__dict__", ()), "last") if hasattr(value, name)})
    return numbers(value)


@pytest.mark.parametrize("fn", [output, numbers_of, lambda x: Row((x * 2, x.sum())), noted, named,
                                counted, slotted], ids=lambda fn: fn.__name__)
def test_results_of_derived_classes(fn):
    compiled = jit(fn)
    for value in (1.0, 2.0, 3.0, 4.0):
        x = Tensor([value, 5.0])
        assert shown(compiled(x)) == shown(fn(x))
    assert compiled.report()["replays"] >= 2


def test_one_tensor_in_two_places_of_a_result_is_one():
    compiled = jit(output)
    for value in (1.0, 2.0, 3.0):
        found = compiled(Tensor([value]))
        assert found.logits is found["logits"] is found.loss is found["loss"]
        assert found.hidden is found["hidden"] and found.logits.item() == 2 * value
    given = [jit(named)(Tensor([1.0])) for _ in range(2)]
    assert all(one is other for one, other in given)


def test_a_parameter_in_an_attribute_of_a_result_is_refused():
    def step(x):
        found = Noted((x,))
        found.weight = Parameter(x * 2, name="w")
        return found

    compiled = jit(step)
    with pytest.warns(UserWarning, match="a new Parameter"):
        for value in (1.0, 2.0, 3.0):
            assert compiled(Tensor([value])).weight.item() == 2 * value


def test_parameters_come_in_their_tuple():
    weights = ms.ParameterTuple([Parameter(Tensor([2.0]), name="w")])
    compiled = jit(lambda x: (x * weights[0], weights))
    for value in (1.0, 2.0):
        found, given = compiled(Tensor([value]))
        assert found.item() == 2 * value and type(given) is ms.ParameterTuple
        assert given[0] is weights[0]


def test_lists_of_other_classes_are_other_arguments_where_numbers_vary():
    compiled = jit(lambda x, v: x * v[0] * (2 if type(v) is Numbers else 1))
    for number in (1.0, 2.0, 3.0, 4.0):
        assert compiled(Tensor([1.0]), [number]).item() == number
    for number in (5.0, 6.0, 7.0):
        assert compiled(Tensor([1.0]), Numbers([number])).item() == 2 * number
        assert compiled(Tensor([1.0]), [number]).item() == number


def test_a_tuple_that_is_made_in_another_way_as_an_argument():
    compiled = jit(lambda x, v: x * v.y)
    for number in (1.0, 2.0, 3.0, 4.0):
        assert compiled(Tensor([1.0]), Named(number)).item() == 2 * number
