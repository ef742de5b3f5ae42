"""Arguments taken apart, put together, and which objects they hold."""

import dataclasses
import functools
import time
import types
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass

import pytest

import lamella as ms
from lamella import Parameter, Tensor
from lamella.graph.guards.arguments import (
    DEEPEST,
    MOST_LEAVES,
    apart,
    beside,
    branches_of,
    container_of,
    given_tensors,
    holds_values,
    is_ours_class,
    is_record,
    leaves_of,
    may_be_passed_on,
    pattern_of,
    put_together,
    roots_of,
    things_of,
    with_leaves,
)
from lamella.graph.guards.kinds import MOST_PARTS, ByIdentity, attributes_in

Pair = namedtuple("Pair", "left right")


@dataclass
class Options:
    scale: float
    weights: list


def adds(by, *, times=3, extra=1):
    def inner(x, shift=2, *, power=times):
        return (x + by + shift + extra) ** power
    return inner


def test_things_are_lists_dicts_and_what_is_taken_apart():
    x, inner, part = Tensor([1.0]), [2, x2 := Tensor([2.0])], functools.partial(max, [3], key=abs)
    options = Options(1.5, inner)
    tree = (x, {"a": inner, "b": (4, "t", None)}, Pair(options, part), options.weights)
    found = list(things_of(tree))
    assert [type(each) for each in found] == [
        dict, list, Options, list, functools.partial, list, list]
    assert found[0] is tree[1] and found[1] is inner and found[2] is options
    assert found[4] is part and found[5] is part.args[0]
    assert pattern_of(found) == [0, 1, 2, 1, 3, 4, 1]
    for leaf in (x, x2, 1, "t", None, 2.0, (1, (x, "a"))):
        assert list(things_of(leaf)) == []


def test_leaves_are_replaced_wherever_they_are():
    x = Tensor([1.0])

    def twice(leaf):
        return leaf * 2 if isinstance(leaf, (Tensor, int, float)) else leaf

    tree = ([x, 1], (2, "t"), Pair(3, x), OrderedDict(a=4, b=[5]), Options(1.5, [6]))
    found = with_leaves(tree, twice)
    assert found[0][0].tolist() == [2.0] and found[0][1] == 2 and found[1] == (4, "t")
    assert type(found[2]) is Pair and found[2].left == 6 and found[2].right.tolist() == [2.0]
    assert type(found[3]) is OrderedDict and found[3] == OrderedDict(a=8, b=[10])
    assert type(found[4]) is Options and found[4].scale == 3.0
    assert tree[0][1] == 1 and tree[3] == OrderedDict(a=4, b=[5])  # not changed in place


@pytest.mark.parametrize("make", [adds, functools.partial(adds, times=2, extra=5)])
def test_functions_are_put_together_with_other_parts(make):
    fn = make(10)
    parts = apart(fn).parts
    other = put_together(fn, [part.thing if hasattr(part, "thing") else part for part in parts])
    assert other is not fn and other(1) == fn(1) and other(1, 3, power=1) == fn(1, 3, power=1)
    closed = [cell.cell_contents for cell in fn.__closure__]
    changed = put_together(fn, [*[each + 1 for each in closed], 20, 2])
    assert changed(1) == (1 + sum(closed) + 2 + 20) ** 2
    assert (changed.__defaults__, changed.__kwdefaults__) == ((20,), {"power": 2})
    assert changed.__qualname__ == fn.__qualname__ and changed.__module__ == fn.__module__


def test_methods_partial_functions_and_gradients():
    method, part = [3].append, functools.partial(pow, 2, exp=5)
    assert apart(method) is None  # in C
    found = put_together(part, [max, 7, 1])
    assert (found.func, found.args, found.keywords) == (max, (7,), {"exp": 1})
    cell = ms.nn.ReLU()
    bound = cell.construct
    assert apart(bound).parts == [bound.__func__, cell]
    other = ms.nn.ReLU()
    assert put_together(bound, [bound.__func__, other]).__self__ is other
    grad = ms.ops.GradOperation(get_all=True)
    assert apart(grad).parts == [] and put_together(grad, []) is grad
    assert apart(ms.ops.GradOperation())[0] != apart(grad)[0]


def test_functions_that_count_as_wholes():
    def counts():
        nonlocal total
        total += 1

    total = 0
    assert not may_be_passed_on(counts) and apart(counts) is None  # it assigns
    assert apart(test_functions_that_count_as_wholes) is None  # of a module

    def later():
        return unknown

    assert not may_be_passed_on(later) and apart(later) is None  # without a value so far
    unknown = 1
    assert may_be_passed_on(later) and apart(later).parts == [unknown]
    later.marked = True
    assert apart(later) is None  # it has attributes


class Plain:
    def __init__(self, value=1):
        self.value = value


class Derived(Plain):
    pass


class Slotted:
    __slots__ = ("value",)


class OfSlotted(Slotted):
    pass


class Deleted(Plain):
    def __del__(self):
        pass


class Made(Plain):
    def __new__(cls, *args):
        return super().__new__(cls)


class Assigning(Plain):
    def __setattr__(self, name, value):
        super().__setattr__(name, value)


class Looking(Plain):
    def __getattribute__(self, name):
        return super().__getattribute__(name)


class Meta(type):
    pass


class OfMeta(metaclass=Meta):
    pass


class Numbers(list):
    pass


class Failing(ArithmeticError):
    pass


@dataclass
class LookedAt:
    a: int = 1

    def __getattribute__(self, name):
        return super().__getattribute__(name)


@dataclass
class MadeOwn:
    a: int = 1

    def __new__(cls, *args):
        return super().__new__(cls)


@dataclass
class DeletedOwn:
    a: int = 1

    def __del__(self):
        pass


@dataclass
class Sized(Plain):
    a: int = 1


@dataclass(frozen=True)
class Frozen:
    a: int = 1


@dataclass
class WithSlots:
    __slots__ = ("a", "b")
    a: int
    b: int


@dataclass
class WithBoth(WithSlots):
    c: int = 3


@dataclass
class OfTensor(Tensor):
    pass


@dataclass
class OfList(list):
    a: int = 1


@dataclass
class OfCell(ms.nn.Cell):
    pass


@pytest.mark.parametrize("kind, record, holds", [
    (Plain, False, True), (Derived, False, True), (Slotted, False, False),
    (OfSlotted, False, False), (Deleted, False, False), (Made, False, False),
    (Assigning, False, False), (Looking, False, False), (OfMeta, False, False),
    (Numbers, False, False), (Failing, False, False), (object, False, False), (int, False, False),
    (types.SimpleNamespace, False, False), (Tensor, False, False), (ms.nn.ReLU, False, False),
    (Options, True, True), (LookedAt, False, False), (MadeOwn, False, False),
    (DeletedOwn, False, False), (Sized, True, True), (Frozen, True, True), (WithSlots, True, True),
    (WithBoth, True, True), (OfTensor, False, False), (OfList, False, False),
    (OfCell, False, False), (Pair, False, False)])
def test_of_which_objects_only_the_attributes_matter(kind, record, holds):
    value = kind.__new__(kind, *[0] * (kind is Pair) * 2)
    assert (is_record(value), holds_values(value)) == (record, holds)


def test_the_attributes_of_dataclasses():
    both = WithBoth(1, 2)
    both.d = 4
    assert attributes_in(both) == {"a": 1, "b": 2, "c": 3, "d": 4}
    assert attributes_in(WithSlots(1, 2)) == {"a": 1, "b": 2}
    del both.a
    assert attributes_in(both) == {"b": 2, "c": 3, "d": 4}
    own = Options(1.0, [])
    assert attributes_in(own) is vars(own) and attributes_in(object()) == {}


def test_parts_of_dataclasses():
    key, parts = apart(WithBoth(1, 2))
    assert key == (WithBoth, "a", "b", "c") and parts == [1, 2, 3]
    assert put_together(WithBoth(1, 2), [4, 5, 6]) == WithBoth(4, 5, 6)
    for count, is_whole in ((MOST_PARTS, False), (MOST_PARTS + 1, True)):
        part = apart(Options(1.0, [0] * count)).parts[1]
        assert (type(part) is ByIdentity) == is_whole


def test_partial_functions_with_attributes_are_wholes():
    part = functools.partial(max, 1, key=abs)
    assert apart(part) == ((functools.partial, 1, "key"), [max, 1, abs])
    part.note = 1
    assert apart(part) is None


def test_gradient_functions():
    weight = Parameter(Tensor([1.0]), name="w")
    one, other = (ms.value_and_grad(abs, *given).__self__ for given in ((0,), ((0, 1), [weight])))
    assert apart(one).parts == [abs, None] and apart(other).parts[1][0] is weight
    assert apart(one).key != apart(other).key
    assert apart(one).key == apart(ms.value_and_grad(max).__self__).key
    made = put_together(one, [max, None])
    assert made.fn is max and made.key() == one.key() and one.fn is abs


def around(value, times=1):
    """A function that gives the value, or one that gives such a function."""
    for _ in range(times):
        value = (lambda held: lambda: held)(value)
    return value


def inside(value):
    """What functions in each other give, and how many there are."""
    count = 0
    while type(value) is types.FunctionType:
        value, count = value(), count + 1
    return value, count


def test_functions_in_closures_of_functions():
    fn, deeper, most = around(3, DEEPEST + 1), around(3, DEEPEST + 2), DEEPEST + 1
    assert apart(around(3), DEEPEST).parts == [3] and apart(around(3), DEEPEST + 1) is None
    many = list(range(2 * MOST_LEAVES))
    for before in ([], many):
        assert leaves_of((*before, fn)) == [*before, 3]
        assert inside(leaves_of((*before, deeper))[-1]) == (3, 1)
    assert len(list(roots_of(fn))) == len(list(roots_of(deeper))) == most + 1
    assert list(roots_of(fn))[-1] == 3 and inside(list(roots_of(deeper))[-1]) == (3, 1)
    assert len(list(things_of(fn))) == len(list(things_of(deeper))) == most
    for each, found in ((fn, 4), (deeper, 3)):
        changed = with_leaves(each, lambda leaf: leaf + 1 if leaf == 3 else leaf)
        assert inside(changed)[0] == found and inside(each)[0] == 3


def test_what_a_closure_holds_counts_as_an_argument_if_it_is_a_value():
    def holding(value):
        return lambda: value

    for value in (1, "t", None, (1, 2), Tensor([1.0]), Options(1.0, []), holding(2), max.__call__,
                  [1].append, functools.partial(max, 1)):
        part, = apart(holding(value)).parts
        is_same = not isinstance(value, (types.BuiltinMethodType, type(max.__call__)))
        assert (part is value) == is_same
        assert is_same or type(part) is ByIdentity and part.thing is value
    for value in ([1], {"a": 1}, Plain(), ms.nn.ReLU()):
        part, = apart(holding(value)).parts
        assert type(part) is ByIdentity and part.thing is value


def test_a_function_that_holds_itself_is_a_whole():
    def count(n, last=0):
        return count(n - 1) if n > last else n

    def other(n):
        return count(n)

    assert apart(count) is None
    assert apart(other).parts == [count]


def test_functions_of_modules_and_lambdas():
    made = eval("lambda x, y=2: x + y", {})
    assert made.__qualname__ == "<lambda>"
    assert apart(made).parts == [2] and apart(made).key[2:] == (1,)
    assert apart(adds) is None
    assert apart(adds(1)).key[2:] == (1, "power")


@pytest.mark.parametrize("depth", [1, 20])
def test_many_leaves_of_containers_inside_of_each_other(depth):
    tree = [1, 2]
    for _ in range(depth):
        tree = [tree, tree]
    if depth == 1:
        assert leaves_of(tree) == [1, 2, 1, 2]
    else:
        with pytest.raises(ValueError, match="inside of others many times over"):
            leaves_of(tree)


def test_how_many_leaves_may_be_the_same():
    objects = [object() for _ in range(2000)]
    inner = list(objects)
    for more, fails in ((8, False), (9, True)):  # beside 4 times 2000: 4 times what there is
        tree = [inner] * 4 + [objects[0]] * more
        if fails:
            with pytest.raises(ValueError, match="many times over"):
                leaves_of(tree)
        else:
            assert leaves_of(tree) == objects * 4 + [objects[0]] * more
    one = objects[0]
    assert leaves_of([[one] * MOST_LEAVES, [one]]) == [one] * (MOST_LEAVES + 1)
    with pytest.raises(ValueError, match="many times over"):
        leaves_of([[one] * (MOST_LEAVES + 1), [one]])
    many = list(range(3 * MOST_LEAVES))
    assert leaves_of((many, {"a": [0]}, "t")) == [*many, 0, "t"]


class Hidden(dict):
    def values(self):
        raise AssertionError

    __iter__ = items = values


class Backwards(list):
    def __iter__(self):
        raise AssertionError


def test_what_containers_hold_whatever_their_classes_show():
    assert list(branches_of(Hidden(a=1, b=2))) == [1, 2]
    assert list(branches_of(Backwards([3, 4]))) == [3, 4]
    assert list(branches_of(Pair(5, 6))) == [5, 6]
    assert list(branches_of({"a": 7})) == [7] and list(branches_of((8,))) == [8]
    assert list(branches_of(OrderedDict(a=9))) == [9]
    assert leaves_of([Hidden(a=1), Backwards([2])]) == [1, 2]


class Own(Tensor):
    pass


def test_the_tensors_among_arguments():
    x, weight, own = Tensor([1.0]), Parameter(Tensor([1.0]), name="w"), Own([2.0])
    found = given_tensors((weight, [x, 2, {"a": own}], Options(1.0, [x]), "t"))
    assert list(map(id, found)) == list(map(id, (x, own, x)))


def test_what_leads_from_arguments_to_other_objects():
    x, weight = Tensor([1.0]), Parameter(Tensor([1.0]), name="w")
    cell, plain = ms.nn.ReLU(), Plain()
    fn = adds(plain)
    tree = (x, [weight, {"a": cell}], fn, Options(plain, [x]), ByIdentity(plain), 1)
    found = list(roots_of(tree))
    assert found[0] is x.__dict__ and found[1] is weight and found[2] is cell
    copy = found[3]
    assert type(copy) is types.FunctionType and copy.__code__ is fn.__code__ and copy is not fn
    assert [type(cell) for cell in copy.__closure__] == [types.CellType] * len(fn.__closure__)
    with pytest.raises(ValueError, match="empty"):
        copy.__closure__[0].cell_contents  # noqa: B018
    at = found.index(Options)
    assert any(each is plain for each in found[4:at])  # in the closure
    assert found[at + 1] is plain and found[at + 2] is x.__dict__
    assert found[-2] is plain and found[-1] == 1


def test_leaves_by_identity_stay():
    inner = [1]
    found = with_leaves([ByIdentity(inner), 2, (3, [4])], lambda leaf: leaf + 1)
    assert found == [[1], 3, (4, [5])] and found[0] is inner
    assert leaves_of([ByIdentity(inner), 2])[0] is inner
    cell = ms.nn.ReLU()
    assert with_leaves(cell, lambda leaf: (leaf,)) == (cell,)


class Slots(list):
    __slots__ = ("last", "unset")


class Noted(tuple):
    pass


def test_containers_of_derived_classes_keep_class_and_attributes():
    slots, noted, numbers = Slots([1]), Noted((2, 3)), Numbers([4])
    slots.last, noted.name, numbers.name = 5, "n", [6]
    found = with_leaves((slots, noted, numbers, Pair(7, 8)), lambda leaf: leaf + 1)
    assert found == ([2], (3, 4), [5], (8, 9))
    assert list(map(type, found)) == [Slots, Noted, Numbers, Pair]
    assert (found[0].last, found[1].name) == (5, "n") and found[2].name is numbers.name
    assert not hasattr(found[0], "unset") and found[0] is not slots
    assert beside(slots) == [{"last": 5}] and beside(noted) == [vars(noted)]
    assert beside(defaultdict(list)) == [list] and beside(Pair(1, 2)) == beside(OrderedDict()) == []
    assert type(container_of(time.struct_time, range(9), {})) is tuple  # made of nine numbers only
    assert list(roots_of((noted, defaultdict(int, a=1)))) == [
        Noted, vars(noted), 2, 3, defaultdict, int, 1]


def test_whose_class_is_ours():
    class Named:
        pass

    assert is_ours_class(Tensor) and is_ours_class(ms.nn.ReLU) and not is_ours_class(Plain)
    for module, ours in (("lamella", True), ("lamella.ops", True), ("lamellar", False),
                         ("a.lamella", False), (None, False)):
        Named.__module__ = module
        assert is_ours_class(Named) == ours


def test_functions_keep_their_names_with_other_variables():
    fn = adds(1)
    made = put_together(fn, [1, 2, 3, 4])
    assert made.__name__ == fn.__name__ and made.__globals__ is fn.__globals__
    bare = eval("lambda x: x", {})
    again = put_together(bare, [])
    assert again.__defaults__ is None and again.__kwdefaults__ is None and again(3) == 3
    assert dataclasses.is_dataclass(put_together(Frozen(2), [5])) and put_together(
        Frozen(2), [5]) == Frozen(5)
