"""Side effects on Python's objects: every replay makes them."""

import collections
import types

import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops
from lamella.graph.tracing.changes import check_givable
from lamella.graph.tracing.refusals import CannotTrace, Cause

from .agreement import Plain, agree, numbers, x

SCALE = 2.0


class Factors:
    shared = 2.0


def test_objects_lists_dicts_and_variables_change_in_every_call(monkeypatch):
    def program(wrap):
        thing, history, last, calls = Plain(), [], {}, 0
        seen = set()

        def fn(x):
            nonlocal calls
            global SCALE
            thing.count += 1
            thing.total = thing.total + x
            history.append(x * 2)
            last["sum"] = x.sum()
            last.pop("old", None)
            seen.add(thing.count)
            calls += 1
            SCALE = thing.count * 1.0
            Factors.shared = SCALE + 1
            return x * thing.count

        fn = wrap(fn)
        for i in range(4):
            thing.count, thing.total, calls = 0, x(0.0, 0.0), 0
            history.clear()
            last.clear()
            last["old"] = 1
            seen.clear()
            monkeypatch.setitem(globals(), "SCALE", 0.5)
            monkeypatch.setattr(Factors, "shared", 0.5)
            yield fn(x(1.0, i)), thing.count, thing.total, list(history), dict(last), calls
            yield sorted(seen), SCALE, Factors.shared

    agree(program)


def test_a_list_that_replaces_another_is_the_one_that_is_mutated():
    def program(wrap):
        thing = Plain()

        def fn(x):
            thing.seen.append(x + 1)
            return x

        fn = wrap(fn)
        for i in range(3):
            thing.seen = []
            fn(x(1.0, i))
            yield list(thing.seen)

    agree(program)


def test_a_list_is_changed_and_then_replaced():
    def program(wrap):
        thing = Plain()
        thing.last, thing.seen = [1.0], [0.0]

        def fn(x):
            thing.last += [thing.last[-1] * 2]
            thing.last = thing.last[-3:]
            thing.seen.append(x.sum())
            thing.seen = []
            return x * sum(thing.last)

        fn = wrap(fn)
        for i in range(8):
            before = thing.last, thing.seen
            yield fn(x(1.0, i)), before, thing.last, thing.seen

    agree(program)


def test_a_dict_is_kept_elsewhere_and_then_replaced():
    def program(wrap):
        thing = Plain()
        thing.now, thing.last = {"count": 0}, None

        def fn(x):
            thing.now["count"] += 1
            thing.last = thing.now
            thing.now = dict(thing.now, copied=True)
            return x * thing.now["count"], thing.last

        fn = wrap(fn)
        for i in range(8):
            before = thing.now
            found, last = fn(x(1.0, i))
            yield found, last, thing.now, last is before, thing.last is before

    agree(program)


CONTAINER = {}


@pytest.mark.parametrize("place", ["global", "class", "slot", "default"])
def test_a_container_that_replaces_another_is_the_one_that_is_changed(place, monkeypatch):
    class Slotted:
        __slots__ = ("container",)

    slotted, kind = Slotted(), type("Kind", (), {})

    def by_default(x, container={}):  # noqa: B006  (which is replaced below)
        container["sum"] = x.sum()
        return container

    def by_name(x):
        container = {"global": lambda: CONTAINER, "class": lambda: kind.container,
                     "slot": lambda: slotted.container}[place]()
        container["sum"] = x.sum()
        return container

    def put(container):
        monkeypatch.setitem(globals(), "CONTAINER", container)
        kind.container = slotted.container = container
        by_default.__defaults__ = (container,)

    def program(wrap):
        fn = wrap(by_default if place == "default" else by_name)
        for i in range(4):
            container = {}
            put(container)
            yield fn(x(1.0, i)) is container, container

    agree(program)


def test_names_that_hold_one_list_or_two():
    def program(wrap):
        thing = Plain()

        def fn(x):
            thing.first.append(x.sum())
            return x * len(thing.second)

        fn = wrap(fn)
        for shared in (True, True, False, False, True, True, False):
            thing.first = []
            thing.second = thing.first if shared else [1, 2]
            yield fn(x(1.0, 2.0)), thing.first, thing.second
            thing.second = thing.first if shared else []
            yield fn(x(1.0, 2.0)), thing.first, thing.second

    agree(program)


def test_buffers_assigned_in_construct():
    class Mean(nn.Cell):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", x(0.0, 0.0))

        def construct(self, x):
            self.mean = self.mean * 0.5 + x
            return self.mean * 1

    def program(wrap):
        net = Mean()
        fn = wrap(net)
        for i in range(4):
            yield fn(x(1.0, i)), net.mean

    agree(program)


@pytest.mark.parametrize("change", [lambda given: given.append(given[0] * 2),
                                    lambda given: given.__setitem__(0, given[0] + 1)])
def test_a_list_given_is_changed(change):
    fn = jit(lambda given: change(given))
    for i in range(3):
        mine, wanted = [x(1.0, i)], [x(1.0, i)]
        fn(mine)
        change(wanted)
        assert numbers(mine) == numbers(wanted)
    assert fn.report()["traces"] == 1


def test_dicts_of_other_classes_keep_their_class():
    def program(wrap):
        fn = wrap(lambda d: (d["a"] * len(d), type(d).__name__))
        for i in range(3):
            yield fn(collections.defaultdict(int, a=x(1.0, i)))
            yield fn({"a": x(1.0, i)})

    agree(program)


def test_an_operator_made_in_the_run_begins_its_stream_anew():
    def program(wrap):
        fn = wrap(lambda x: x + ops.StandardNormal(seed=3)((2,)) + ops.rand(2))
        for i in range(4):
            yield fn(x())
            if i == 2:
                ms.set_seed(9)

    agree(program)


def test_compiling_ahead_changes_nothing():
    thing, seen, kept = Plain(), [], x()
    thing.count = 0

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.calls, self.total = 0, x(0.0, 0.0)

        def construct(self, x):
            thing.count += 1
            seen.append(x * 2)
            kept.add_(1)
            self.calls += 1
            self.total = self.total + x
            return x * thing.count + ops.rand(2)

    net = Net()
    ms.set_seed(1)
    net.compile(x())
    assert (thing.count, seen, net.calls) == (0, [], 0)
    assert numbers((kept, net.total)) == numbers((x(), x(0.0, 0.0)))
    got = net.compile_and_run(x())
    assert (thing.count, len(seen), net.calls) == (1, 1, 1)
    assert numbers((kept, net.total)) == numbers((x(2.0, 3.0), x()))
    ms.set_seed(1)
    assert numbers(got) == numbers(x() + ops.rand(2))
    assert net.__dict__["_compiled_whole"].report()["replays"] == 1


def test_a_long_chain_of_objects():
    first = thing = Plain()
    for _ in range(5000):
        thing.next = Plain()
        thing = thing.next
    thing.factor = 2.0
    last = thing
    fn = jit(lambda x: x * last.factor if first.next else x)
    for factor in (2.0, 3.0, 3.0):
        last.factor = factor
        assert numbers(fn(x())) == numbers(x() * factor)


def test_hooks_and_attributes_of_arguments():
    given, other = x(), x()
    square = jit(ms.grad(lambda x: (x * x).sum()))
    assert square(given).asnumpy().tolist() == [2.0, 4.0]
    handle = given.register_hook(lambda gradient: gradient * 2)
    for _ in range(2):
        assert square(given).asnumpy().tolist() == [4.0, 8.0]
        assert square(other).asnumpy().tolist() == [2.0, 4.0]
    handle.remove()
    assert square(given).asnumpy().tolist() == [2.0, 4.0]
    assert not square.report()["eager"]

    scaled = jit(lambda x: x * x.scale)
    for given.scale in (2.0, 3.0, 3.0):
        assert scaled(given).asnumpy().tolist() == [given.scale, 2 * given.scale]

    def keep(x):
        x.double = x * 2
        return x

    kept = jit(keep)
    with pytest.warns(UserWarning, match="an attribute or a hook of a Tensor that it was given"):
        kept(other)
    assert other.double.asnumpy().tolist() == [2.0, 4.0]


@pytest.mark.filterwarnings("ignore:For 'jit'")
def test_a_dict_of_attributes_that_is_replaced_is_put_back_after_a_dry_run():
    thing = Plain()

    def fn(x, number):
        thing.__dict__ = {"count": thing.count + 1}
        return x * number

    for inside in (False, True):
        thing.__dict__ = {"count": 0}
        compiled = jit(fn)
        call = compiled
        if inside:
            def call(x, number, compiled=compiled):
                return ms.grad(lambda x: compiled(x, number).sum())(x)
        found = []
        for number in (1, 2, 0, 1, 2):
            call(x(1.0, 2.0), number)
            found.append(thing.count)
        assert found == [1, 2, 3, 4, 5]


def _closure(value):
    return lambda: value


def _nested(depth):
    found = 1
    for _ in range(depth):
        found = [found]
    return found


class Numbers:
    def __init__(self, *held):
        self.held = list(held)


class Slotted:
    __slots__ = ()


WEIGHT = Parameter(Tensor([1.0]), name="w")


@pytest.mark.parametrize("value, given, kept", [
    (1, True, True), ("a", True, True), (None, True, True), (Tensor([1.0]), True, True),
    ([1, (2, {"a": Tensor([1.0])})], True, True), (len, True, True), (int, True, True),
    (types, True, True), (slice(1), True, True), (range(3), True, True), (..., True, True),
    (numbers, True, True), (_closure(1), False, False), ([_closure(1)], False, False),
    ({"a": _closure(1)}, False, False), (frozenset([1]), True, True),
    (frozenset([(1,)]), False, False), ({1}, False, False), (Numbers(1), True, False),
    (Numbers(_closure(1)), False, False), ([Numbers(Numbers(1))], True, False),
    (Slotted(), False, False), (WEIGHT, False, False), ([WEIGHT], False, False),
    (nn.ReLU(), False, False), (ops.Softmax(), False, False)],
    ids=range(26))
def test_what_a_replay_can_make_again(value, given, kept):
    for cause, may in ((Cause.ALWAYS, given), (Cause.NEW_OBJECT, kept)):
        if may:
            check_givable(value, lambda _: False, "it keeps", cause)
        else:
            with pytest.raises(CannotTrace, match="it keeps a new "):
                check_givable(value, lambda _: False, "it keeps", cause)
        check_givable(value, lambda _: True, "it keeps", cause)  # what a replay finds


def test_what_a_replay_makes_again_has_an_end():
    around: list = []
    around.append(around)
    for value in (around, {"a": around}, _nested(200)):
        with pytest.raises(CannotTrace, match="objects that refer to each other"):
            check_givable(value, lambda _: True, "it returns")
    check_givable(_nested(5), lambda _: False, "it returns")
