"""Numbers that stand for sizes which rules in C++ ask for."""

import pytest
import torch

from lamella import ops
from lamella.core.wrappers import functorch
from lamella.graph.ir.lazy_module import KernelGraph
from lamella.graph.tracing.asked_sizes import PRIMES, AskedSizes, told
from lamella.graph.tracing.symbolic import Symbolic, SymbolicRecorder, preparation
from lamella.tensors.tensor import wrap


def test_numbers_that_stand_for_sizes():
    asked = AskedSizes(0)
    assert not asked and asked.number(4, "4") == 4 and not asked
    first, second = asked.number(10, "s0"), asked.number(7, "s1")
    assert asked.number(10, "s0") == first != second and asked
    given = ([3 * first, first * second, -second, 5], {"end": first, "other": 2**63 - 1}, first + 1)
    assert asked.symbolic(given) == ([30, 70, -7, 5], {"end": 10, "other": 2**63 - 1}, first + 1)


def test_more_sizes_than_primes_are_numbers():
    asked = AskedSizes(1)
    for number, prime in enumerate(PRIMES[1]):
        assert asked.number(3, f"s{number}") == prime
    assert asked.number(3, "another") == 3


def test_primes():
    for prime in PRIMES[0] + PRIMES[1]:
        assert all(prime % divisor for divisor in range(2, int(prime**0.5) + 1))
    assert [*PRIMES[0]] == sorted(PRIMES[0]) and [*PRIMES[1]] == sorted(PRIMES[1])[::-1]


def test_graphs_that_say_the_same():
    def graph(size, of="relu"):
        made = KernelGraph()
        given = made.placeholder("x")
        made.output(made.call_function(getattr(torch.ops.aten, of).default, (given, [size, 2])))
        return told(made)

    assert graph(3) == graph(3) != graph(4) and graph(3) != graph(3, "sin")


def recorded(function, run):
    """What is recorded of a function of a size that is asked for in a `vmap`."""
    preparation.begin()
    assert preparation.finished.wait(120)
    symbolic = Symbolic([{0}], run=run)
    given = symbolic.data(torch.ones(5, 2), True)
    recorder = SymbolicRecorder([given], symbolic)

    def each(x):
        size, _ = torch.ops.aten.size.default(functorch.get_unwrapped(x._raw))
        return x * function(size)

    with symbolic.mode, recorder:
        ops.vmap(each)(wrap(given))
    return told(recorder.graph)


@pytest.mark.parametrize(("function", "same"), [
    (lambda size: wrap(torch.ones([size, 2 * size]).sum()), True), (lambda size: size - 1, False),
    (lambda size: 1 / size, False), (lambda size: size % 7, False), (lambda size: size**3, False)])
def test_what_is_computed_with_a_number_differs_between_two_runs(function, same):
    assert (recorded(function, 0) == recorded(function, 1)) is same


def test_which_numbers_stand_for_sizes():
    asked = AskedSizes(0)
    prime = asked.number(10, "s0")
    assert prime == PRIMES[0][0]
    for number in (2**28 - 1, -2**28 + 1, 2**28, 2**29, -2**40, 0, 1.5, True, "a", None):
        assert asked.symbolic(number) is number
    for factor in (1, -1, 7, 2**24, -2**24):
        assert asked.symbolic(factor * prime) == factor * 10
    for factor in (2**24 + 1, -2**24 - 1):
        assert asked.symbolic(factor * prime) == factor * prime
    assert asked.symbolic(prime * prime * 3) == 300
    given = asked.symbolic((prime, [prime], {"a": (prime, "b")}))
    assert given == (10, [10], {"a": (10, "b")}) and list(map(type, given)) == [int, list, dict]


def test_a_size_is_told_once_and_a_plain_one_is_itself():
    class Size(int):
        pass

    asked, own = AskedSizes(1), Size(7)
    assert asked.number(own, "s0") == asked.number(own, "s0") == PRIMES[1][0]
    assert asked.number(own, "s0 + 1") == PRIMES[1][1] and asked.number(own, "7") == 7
    for number, prime in enumerate(PRIMES[1][2:], 2):
        assert asked.number(own, f"t{number}") == prime
    assert asked.number(own, "more") == 7 and type(asked.number(own, "more")) is int
    assert asked.number(own, "s0") == PRIMES[1][0]
