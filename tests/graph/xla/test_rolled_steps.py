"""Which steps of a graph become loops, and that these compute the same: as terms, without numbers.

A term is an operation's name with its arguments, in which each value is the term that made it. So
two graphs have the same results in each step, to the last argument, if the terms are the same.
"""

import random

import pytest

from lamella.graph.xla.lowering.rolling import (
    CARRIED,
    ELEMENT,
    OUTSIDE,
    Numbers,
    Rolled,
    operations_in,
    rolled,
)

F32 = "float32"
ONE = [[3], F32]


class Terms:
    """The terms of a graph's values: equal ones have one number."""

    def __init__(self):
        self.known = {}

    def of(self, steps, values):
        """The values by number, after these steps."""
        values = dict(values)
        for step in steps:
            if isinstance(step, Numbers):
                values.update(zip(step.to, map(float, step.values), strict=True))
            elif isinstance(step, Rolled):
                values.update(self.of_loop(step, values))
            else:
                args = self.filled(step["args"], values)
                values[step["to"]] = self.known.setdefault(
                    repr((step["op"], args)), f"term {len(self.known)}")
        return values

    def of_loop(self, loop, values):
        """What others may read of a loop."""
        queues = [[values[n] for n in queue.first] for queue in loop.queues]
        period, found = len(loop.to) // loop.count, {}
        for t in range(loop.count):
            at = {OUTSIDE: values.__getitem__, ELEMENT: lambda n: values[loop.stacks[n][t]],  # noqa: B023
                  CARRIED: lambda n: queues[n][0]}
            given = {i: at[kind](n) for i, (kind, n) in enumerate(loop.reads)}
            own = self.of(loop.body, given)
            for queue, known in zip(loop.queues, queues, strict=True):
                known[:] = [*known[1:], own[len(given) + queue.of]]
            found.update({loop.to[t * period + j]: own[len(given) + j] for j in (
                *loop.every, *[j for j, _ in loop.last if t == loop.count - 1])})
        return found

    def filled(self, arg, values):
        if isinstance(arg, dict):
            return values[arg["n"]]
        if isinstance(arg, list):
            return [self.filled(a, values) for a in arg]
        return float(arg) if type(arg) is int else arg


class Steps:
    """The steps of a graph, one after another."""

    def __init__(self, inputs):
        self.inputs, self.steps = [ONE] * inputs, []

    def __call__(self, op, *args, aval=ONE):
        number = len(self.inputs) + len(self.steps)
        self.steps.append({"op": op, "to": number, "aval": aval, "args": [
            {"n": a} if isinstance(a, Value) else
            [{"n": v} for v in a] if isinstance(a, list) else a for a in args]})
        return Value(number)


class Value(int):
    """The number of a value, among arguments that are numbers of the program's."""


def shape(steps):
    return [(s.count, shape(s.body)) for s in steps if isinstance(s, Rolled)]


def loops_of(graph, *results):
    """The loops that are found, which give the same results."""
    terms = Terms()
    inputs = {n: f"input {n}" for n in range(len(graph.inputs))}
    made = rolled(graph.steps, graph.inputs, list(results))
    wanted, found = terms.of(graph.steps, inputs), terms.of(made, inputs)
    assert [found[n] for n in results] == [wanted[n] for n in results]
    return made


def mapped(graph, count, length, read):
    """Steps of so many operations, of which the first reads a value of its own; their results."""
    found = []
    for t in range(count):
        h = graph("op0", read(graph, t))
        for j in range(1, length):
            h = graph(f"op{j}", h)
        found.append(h)
    return found


def element(graph, t):
    return graph("select.int", Value(1), 0, t)


@pytest.mark.parametrize("count, length, wanted", [
    (3, 16, []), (4, 6, [(4, [])]), (4, 5, []), (5, 4, [(5, [])]), (8, 2, []), (9, 2, [(9, [])]),
    (7, 30, [(7, [])]), (65, 3, [(65, [])])])
def test_loops_have_four_steps_and_save_sixteen_operations(count, length, wanted):
    graph = Steps(2)
    made = loops_of(graph, *mapped(graph, count, length, element))
    assert shape(made) == wanted
    assert operations_in(made) == count + (1 + length if wanted else count * length)


@pytest.mark.parametrize("length, read, wanted", [
    (16, lambda graph, t: Value(1 + t), True), (15, lambda graph, t: Value(1 + t), False),
    (16, lambda graph, t: Value(6 + t), True), (15, lambda graph, t: Value(6 + t), False),
    (5, element, True)], ids=["inputs", "inputs", "computed", "computed", "parts"])
def test_a_loop_that_stacks_values_saves_sixty_four_operations(length, read, wanted):
    graph = Steps(6)
    for t in range(5):
        graph(f"before{t}", Value(1 + t))
    assert shape(loops_of(graph, *mapped(graph, 5, length, read))) == [(5, [])] * wanted


def test_a_loop_reads_the_values_of_an_earlier_one_without_stacking_them():
    graph = Steps(2)
    kept = mapped(graph, 6, 5, element)
    for t in range(6):
        h = graph("other0", kept[5 - t])
        for j in range(1, 5):
            h = graph(f"other{j}", h)
    made = loops_of(graph, h)
    assert shape(made) == [(6, []), (6, [])]
    first, second = made[-2:]
    assert first.every == [4] and not first.last and not second.every
    assert [j for j, _ in second.last] == [4]
    assert second.stacks == [[first.to[5 * t + 4] for t in (5, 4, 3, 2, 1, 0)]]


@pytest.mark.parametrize("distance", [1, 2, 3, 7])
def test_values_of_so_many_steps_before(distance):
    """The steps that read what was there before the first one stand apart."""
    graph, states = Steps(8), [Value(n) for n in range(distance)]
    for t in range(24):
        h = graph("op0", element(graph, t))
        for j in range(1, 9):
            h = graph(f"op{j}", h)
        states.append(graph("op9", h, states[-distance]))
    (loop,) = [step for step in loops_of(graph, states[-1]) if isinstance(step, Rolled)]
    assert loop.count == 25 - distance  # one of which reads what is before the loop
    assert [len(queue.first) for queue in loop.queues] == [distance]


@pytest.mark.parametrize("which, aval, wanted", [
    ("state", [[4], F32], []), ("state", [[3], "float64"], []), ("state", None, []),
    ("state", ONE, [(6, [])]), ("element", ONE, [(6, [])])])
def test_what_steps_carry_is_of_one_type(which, aval, wanted):
    graph = Steps(1)
    h = graph("first", Value(0), aval=aval if which == "state" else ONE)
    for t in range(6):
        part = graph("select.int", Value(0), 0, t)
        h = graph("op0", h, part)
        for j in range(1, 5):
            h = graph(f"op{j}", h)
    found = shape(loops_of(graph, h))
    assert found == wanted or not wanted and found == [(5, [])]  # the first step by itself


def test_elements_of_several_types_are_in_no_stack():
    graph = Steps(1)
    graph.inputs = [ONE, *[[[3 + t], F32] for t in range(6)]]
    h = Value(0)
    for t in range(6):
        h = graph("op0", h, Value(1 + t))
        for j in range(1, 20):
            h = graph(f"op{j}", h)
    assert not shape(loops_of(graph, h))


@pytest.mark.parametrize("at, last, every", [
    ([5], {3}, set()), ([2], set(), {3}), ([0, 5], set(), {3})])
@pytest.mark.parametrize("as_result", [False, True])
def test_what_others_read(at, last, every, as_result):
    """A result, or the argument of a later operation."""
    graph = Steps(2)
    found = mapped(graph, 6, 4, element)
    wanted = [found[t] for t in at]
    results = wanted if as_result else [graph(f"after{n}", h) for n, h in enumerate(wanted)]
    (loop,) = [step for step in loops_of(graph, *results) if isinstance(step, Rolled)]
    assert {j for j, _ in loop.last} == last and set(loop.every) == every


def test_numbers_of_the_program_are_elements():
    graph, found = Steps(1), []
    for t in range(6):
        h = graph("mul.Tensor", Value(0), 0.5 * t)
        h = graph("add.Tensor", h, 0.25, 1)
        h = graph("sub.Tensor", h, 0.5 * t, 1)
        found.append(graph("div.Tensor", h, 3 - t))
    made = loops_of(graph, *found)
    assert shape(made) == [(6, [])]
    numbers = [step for step in made if isinstance(step, Numbers)]
    assert sorted(each.values for each in numbers) == [
        [0, 0.5, 1, 1.5, 2, 2.5], [3, 2, 1, 0, -1, -2]]
    assert all(each.dtype == F32 for each in numbers)
    assert len({n for each in numbers for n in each.to}) == 12
    assert min(n for each in numbers for n in each.to) > found[-1]
    (loop,) = [step for step in made if isinstance(step, Rolled)]
    assert [step["args"][1] for step in loop.body if step["op"] == "add.Tensor"] == [0.25]


def test_options_that_differ_between_steps_make_other_operations():
    graph, h = Steps(1), Value(0)
    for t in range(6):
        for j in range(6):
            h = graph(f"op{j}", h, "floor" if t % 2 else "trunc")
    made = loops_of(graph, h)
    assert shape(made) in ([], [(3, [])]) and operations_in(made) >= 12


@pytest.mark.parametrize("name", ["unbind.int", "slice.Tensor", "sin.default"])
def test_parts_are_taken_right_after_their_value(name):
    """And parts of them: what isn't a part is left where it is, and has to be stacked."""
    graph = Steps(2)
    whole = graph("whole", Value(1))
    graph("other", Value(0))
    if name == "unbind.int":
        several = graph(name, whole, 0, aval=[ONE] * 6)
    found = []
    for t in range(6):
        part = graph("getitem", several, t) if name == "unbind.int" else (
            graph(name, whole, 0, t))
        graph.steps[-1].update({"part": True} if name == "slice.Tensor" else {})
        h = graph("op0", graph("select.int", part, 0, 1))
        for j in range(1, 5):
            h = graph(f"op{j}", h)
        found.append(h)
    made = loops_of(graph, *found)
    names = [step["op"] for step in made if not isinstance(step, Rolled)]
    assert shape(made) == ([(6, [])] if name != "sin.default" else [])
    parts = ["getitem" if name == "unbind.int" else name] * 6 + ["select.int"] * 6
    if name == "slice.Tensor":
        assert names == ["whole", *parts, "other"]
    if name == "unbind.int":
        assert names == ["whole", "other", name, *parts]


def test_a_loop_within_a_loop():
    graph, found = Steps(2), []
    for t in range(5):
        h = graph("outer0", element(graph, t))
        for _ in range(6):
            h = graph("inner0", graph("select.int", h, 0, 0))
            for j in range(1, 5):
                h = graph(f"inner{j}", h)
        found.append(h)
    made = loops_of(graph, *found)
    assert [count for count, _ in shape(made)] == [5] and shape(made)[0][1][0][0] >= 5


def test_two_loops_beside_each_other_and_what_is_between():
    graph, found = Steps(2), []
    for name, count in (("a", 6), ("b", 5)):
        for t in range(count):
            h = graph(f"{name}0", element(graph, t))
            for j in range(1, 5):
                h = graph(f"{name}{j}", h)
            found.append(h)
        found.append(graph(f"after {name}", h))
    made = [s.count if isinstance(s, Rolled) else s["op"] for s in loops_of(graph, *found)]
    assert [one for one in made if one != "select.int"] == [6, "after a", 5, "after b"]


def test_a_chain_of_one_operation_is_no_loop():
    """It has no body that could be told from a part of it."""
    graph, h = Steps(1), Value(0)
    for _ in range(80):
        h = graph("op", h)
    assert not shape(loops_of(graph, h))


def test_no_more_than_so_many_loops_are_sought():
    graph, found = Steps(2), []
    for number in range(26):
        for t in range(4):
            h = graph(f"first {number}", element(graph, t))
            for j in range(5):
                h = graph(f"op{j} {number}", h)
            found.append(h)
    assert len(shape(loops_of(graph, *found))) == 24


def test_the_order_of_parts():
    """Those of inputs come first; parts of one value are in their order, then parts of these."""
    graph = Steps(1)
    whole = graph("whole", Value(0))
    other = graph("other", whole)
    first = graph("select.int", whole, 0, 0)
    inner = graph("select.int", first, 0, 0)
    second = graph("select.int", whole, 0, 1)
    late = graph("select.int", Value(0), 0, 1)
    deep = graph("select.int", late, 0, 1)
    last = graph("last", inner, second, deep, other)
    assert [step["to"] for step in rolled(graph.steps, graph.inputs, [last])] == [
        late, deep, whole, first, second, inner, other, last]


@pytest.mark.parametrize("seed", range(120))
def test_random_programs(seed):
    """Steps that read inputs, parts, numbers, other steps and each other; one may differ."""
    choice = random.Random(seed)
    graph = Steps(4)
    period, count = choice.randrange(3, 9), choice.randrange(4, 12)
    distance = choice.choice((1, 1, 2, 3))
    odd = choice.choice((None, None, 0, 1, 2, count - 1, choice.randrange(count)))
    how = choice.choice(("name", "link"))
    kinds = ["outside", "part", "number", "state", "before", "first"]

    def drawn(j):
        return (choice.choice(kinds), choice.randrange(j) if j else -1, choice.randrange(period),
                choice.randrange(1, distance + 1))

    links = [[drawn(j) for _ in range(choice.randrange(1, 3))] for j in range(period)]
    states = [[Value(t % 4)] * period for t in range(distance)]
    own = []

    def read(t, kind, before, state, back):
        if kind == "outside":
            return Value(state % 4)
        if kind == "part":
            return graph("select.int", Value(2), 0, t * 2 % 7)
        if kind == "number":
            return graph("add.Tensor", Value(3), 0.5 * t, 1)
        if kind == "first" and t:
            return states[distance][state]  # of the first step
        return own[before] if kind == "before" and own else states[-back][state]

    for t in range(count):
        own = []
        for j, mine in enumerate(links):
            is_odd = t == odd and j == period // 2
            mine = [drawn(j) for _ in mine] if is_odd and how == "link" else mine
            args = [read(t, *link) for link in mine]
            own.append(graph("odd" if is_odd and how == "name" else f"op{j}", *args))
        states.append(own)
    results = [choice.choice(own) for own in choice.sample(states[distance:], 3)]
    made = loops_of(graph, *results, states[-1][-1])
    if odd is None and count - distance > 4 and period * (count - distance - 2) >= 64:
        assert max(loop for loop, _ in shape(made)) >= count - distance - 1
