"""Aliases: Tensors that are reached in two ways, and Tensors that share memory."""

import contextlib
import itertools
import random
import warnings

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops
from lamella.graph.ir.sharing import Ranges, Sharing
from tests.graph.passes.checks import recorded


def x(*values):
    return Tensor(list(values), ms.float32)


def numbers(value):
    if isinstance(value, Tensor):
        return value.asnumpy().tolist()
    return [numbers(v) for v in value] if isinstance(value, (list, tuple)) else value


def agree(program, eagerly=False):
    """Check that what a program yields is the same if the functions in it are compiled.

    `eagerly` says that no graph can hold them.
    """
    words = "memory that is shared by several of its Tensors"
    warned = (pytest.warns(UserWarning, match=words) if eagerly
              else contextlib.nullcontext())
    wanted = [numbers(value) for value in program(lambda fn: fn)]
    for level in ("O0", "O1"):
        with warned:
            assert [numbers(v) for v in program(lambda fn: jit(fn, jit_level=level))] == wanted  # noqa: B023


class Keeps(nn.Cell):
    def __init__(self, **kept):
        super().__init__()
        self.__dict__.update(kept)


# -- one Tensor reached in two ways ----------------------------------------------------------------

def test_an_attribute_that_is_also_a_closure_variable():
    def program(wrap):
        both = x(1.0, 2.0)

        class Net(Keeps):
            def construct(self, a):
                return a * self.h + both

        net = Net(h=both)
        fn = wrap(net)
        for h in (both, both, x(5.0, 5.0), both, x(6.0, 6.0)):
            net.h = h
            yield fn(x(1.0, 2.0))

    agree(program)


@pytest.mark.parametrize("replaced", [True, False])
def test_an_attribute_that_is_also_an_argument(replaced):
    class Net(Keeps):
        def construct(self, a, h):
            now = h * 0.5 + a + self.h
            if replaced:
                self.h = now
            return now

    def program(wrap):
        net = Net(h=x(1.0, 1.0))
        fn = wrap(net)
        for i in range(4):
            yield fn(x(1.0, i), net.h), net.h
        yield fn(x(1.0, 1.0), x(0.0, 3.0)), net.h
        net.h = x(9.0, 9.0)
        yield fn(x(1.0, 1.0), x(0.0, 3.0)), net.h

    agree(program)


def test_a_closure_variable_that_is_also_an_argument():
    def program(wrap):
        both = x(1.0, 2.0)
        fn = wrap(lambda a: a * 10 + both)
        for change in (lambda: None, lambda: both.__setitem__(0, 7.0),
                       lambda: both.assign_value(x(9.0, 9.0))):
            change()
            yield fn(both), fn(x(3.0, 4.0))

    agree(program)


def test_two_attributes_that_are_one_tensor_are_assigned_in_every_run():
    class Net(Keeps):
        def construct(self, a):
            self.h = self.g = self.h + self.g + a
            return self.h

    net = Net(h=x(1.0), g=x(1.0))
    fn = jit(net, fullgraph=True)
    assert [numbers(fn(x(1.0))) for _ in range(4)] == [[3.0], [7.0], [15.0], [31.0]]
    assert fn.report()["traces"] < 3


# -- mutation of shared memory ---------------------------------------------------------------------

def view_of_a_buffer(wrap):
    class Net(Keeps):
        def construct(self, a):
            self.cache[0] = a
            return self.head * 1

    cache = ops.zeros((4, 2))
    net = Net(cache=cache, head=cache[:2])
    fn = wrap(net)
    for i in range(4):
        yield fn(x(1.0, i)), net.cache, net.head


def value_of_a_parameter(wrap):
    weight = Parameter(x(1.0, 2.0), name="w")
    value = weight.value()

    def step(a):
        ops.assign(weight, weight + a)
        return value * 1

    fn = wrap(step)
    for i in range(4):
        yield fn(x(1.0, i)), weight, value


def changed_where_it_is_given(wrap):
    both = x(1.0, 2.0)

    def step(a):
        a.add_(1)
        return both * 2

    fn = wrap(step)
    for given in (x(1.0, 2.0), both, both, x(1.0, 2.0), both):
        yield fn(given), both


def part_of_what_is_given(wrap):
    class Net(Keeps):
        def construct(self, a):
            self.h[0] = 5.0
            return a.sum() + self.h.sum()

    net = Net(h=ops.zeros((2,)))
    fn = wrap(net)
    for i in range(4):
        given = ops.ones((2, 2)) * i
        net.h = given[0] if i > 1 else ops.zeros((2,))
        yield fn(given), given, net.h


@pytest.mark.parametrize("program", [view_of_a_buffer, value_of_a_parameter,
                                     changed_where_it_is_given, part_of_what_is_given])
def test_mutated_aliases(program):
    agree(program, eagerly=True)


def test_aliases_without_mutation_or_without_readers():
    def program(wrap):
        weight = Parameter(x(1.0, 2.0), name="w")
        kept = [weight.value()]
        part = x(1.0, 2.0, 3.0)[1:]

        def step(a):
            ops.assign_add(weight, a)
            _ = kept[:]
            return a * weight + part

        fn = wrap(step)
        for i in range(4):
            yield fn(x(1.0, i)), weight, kept
        yield wrap(lambda a, b: a * 2 + b)(part, part)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agree(program)


# -- results that are views of the program's state -------------------------------------------------

def test_results_alias_the_state_from_the_first_call_on():
    def program(wrap):
        weight, kept = Parameter(x(1.0, 2.0), name="w"), x(3.0, 4.0)
        fns = [wrap(lambda: weight.value()), wrap(lambda: kept), wrap(lambda: kept[1:])]
        found = [fn() for fn in fns for _ in range(3)]
        ops.assign(weight, x(7.0, 7.0))
        kept.add_(1)
        yield found
        found[4].add_(1)
        yield found, kept

    agree(program)


def test_state_with_gaps_in_memory():
    def program(wrap):
        table = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4))
        net = Keeps(part=table[:, ::2], wide=ops.broadcast_to(x(1.0, 2.0), (3, 2)))
        fn = wrap(lambda a: (a * net.part.reshape(-1), net.part.sum(0), net.wide.T + 1))
        for i in range(3):
            yield fn(x(i))

    agree(program)


# -- ranges of memory ------------------------------------------------------------------------------

def test_whether_ranges_meet_as_sets_of_bytes():
    """Ranges that meet none that is written are added, as `Sharing` does it."""
    choice, met = random.Random(3), 0
    for _ in range(300):
        ranges, known = Ranges(), []
        for _ in range(choice.randrange(1, 9)):
            start = choice.randrange(20)
            end, written = start + choice.randrange(1, 7), choice.random() < 0.3
            meets = any((written or its) and not known_bytes.isdisjoint(range(start, end))
                        for known_bytes, its in known)
            assert ranges.meets(start, end, written) == meets
            met += meets
            if not meets:
                ranges.add(start, end, written)
                known.append((set(range(start, end)), written))
                assert ranges.starts == sorted(ranges.starts)
                assert all(a <= b for a, b in itertools.pairwise(
                    x for pair in zip(ranges.starts, ranges.ends, strict=True) for x in pair))
    assert met > 100


@pytest.mark.parametrize("first, second, merged", [
    ((2, 5), (5, 7), [(2, 5), (5, 7)]), ((5, 7), (2, 5), [(2, 5), (5, 7)]),
    ((2, 5), (4, 7), [(2, 7)]), ((4, 7), (2, 5), [(2, 7)]), ((2, 9), (4, 5), [(2, 9)]),
    ((4, 5), (2, 9), [(2, 9)]), ((2, 5), (2, 5), [(2, 5)]), ((2, 5), (2, 3), [(2, 5)])])
def test_ranges_that_overlap_are_one(first, second, merged):
    ranges = Ranges()
    for start, end in (first, second):
        ranges.add(start, end, False)
    assert list(zip(ranges.starts, ranges.ends, strict=True)) == merged
    assert ranges.written == [False] * len(merged)


@pytest.mark.parametrize("seed", range(8))
def test_whether_inputs_share_memory_that_is_written(seed):
    """Each pair of inputs that are used, where the graph writes into one of them."""
    choice = random.Random(seed)
    unused = choice.randrange(6)
    written = set(choice.sample([i for i in range(6) if i != unused], choice.choice((0, 1, 1, 2))))

    def step(*inputs):
        for i in written:
            inputs[i].add_(1)
        return sum(x.sum() for i, x in enumerate(inputs) if i != unused)

    sharing = Sharing(recorded(step, *[torch.ones(2) for _ in range(6)]), 2, 2)
    assert sharing.written == written
    found = set()
    for _ in range(60):
        memory = [np.zeros(8, np.float32) for _ in range(5)]
        places = [choice.choice((i % 5, choice.randrange(5))) for i in range(6)]
        sizes = [choice.choice((0, 2, 2, 2, 2)) for _ in range(6)]
        values = [torch.from_numpy(memory[place][start:start + size]) for place, size, start in zip(
            places, sizes, [choice.choice((0, 1, 4)) for _ in range(6)], strict=True)]
        ranges = [range(x.data_ptr(), x.data_ptr() + x.untyped_storage().nbytes()) for x in values]
        pairs = [(i, j) for i, j in itertools.combinations(range(6), 2)
                 if unused not in (i, j) and sizes[i] and sizes[j] and written & {i, j}
                 and ranges[i].start < ranges[j].stop and ranges[j].start < ranges[i].stop]
        fixed = sharing.fixed(values)
        assert fixed.clash == any({2, 3} == {*pair} for pair in pairs)
        assert sharing.found(values, fixed) == bool(pairs)
        assert sharing.is_beside_arguments(values) == any({*pair} != {0, 1} for pair in pairs)
        found.add(bool(pairs))
    assert len(found) == 1 + bool(written)
