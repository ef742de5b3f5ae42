"""Guards on all objects that a compiled function can reach: after any change results are right."""

import collections
import functools
import itertools
import re
import sys
import threading
import types

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.graph.guards.guard import Guard
from lamella.graph.guards.search import reachable_from

SCALE = [2.0]
TABLE = {"a": 1.0}


class Net(nn.Cell):
    bias = 0.5

    def __init__(self):
        super().__init__()
        self.w = Parameter(np.ones(3, np.float32), name="w")
        self.inner = nn.SequentialCell(nn.Dense(3, 3), nn.ReLU())
        self.sizes: list = [1.0, 2.0]
        self.flags = {"on": True, "deep": [1, [2, 3]]}
        self.kept = Tensor([1.0, 2.0, 3.0])
        self.fixed = (1, (2, 3))

    def construct(self, x):
        return self.w * x * self.sizes[0] * SCALE[0] * TABLE["a"] + self.bias + self.kept


def reachable():
    net = Net()
    factor = 1.0

    def step(x, power=2):
        return net(x) * factor ** power

    def change():
        nonlocal factor
        factor = 3.0

    return net, step, change


CHANGES = {
    "an attribute": lambda net, _: setattr(net, "more", 1),
    "a list": lambda net, _: net.sizes.append(3.0),
    "a number in a list": lambda net, _: net.sizes.__setitem__(0, 5.0),
    "a list far inside": lambda net, _: net.flags["deep"][1].append(4),
    "a name": lambda net, _: (setattr(net, "also", net.__dict__.pop("sizes")),),
    "training": lambda net, _: net.set_train(),
    "a cell": lambda net, _: setattr(net, "late", nn.ReLU()),
    "a cell within": lambda net, _: net.inner.append(nn.Tanh()),
    "a parameter": lambda net, _: setattr(net, "w", Parameter(np.ones(3, np.float32), name="w")),
    "what learns": lambda net, _: setattr(net.w, "requires_grad", False),
    "a first buffer": lambda net, _: net.register_buffer("first", Tensor([1.0])),
    "the shape of a Tensor": lambda net, _: setattr(net, "kept", Tensor([1.0])),
    "a variable": lambda _, change: change(),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_gives_another_fingerprint(what):
    net, step, change = reachable()
    guard = Guard(reachable_from(step))
    before = guard.fingerprint()
    assert guard.fingerprint() is before
    CHANGES[what](net, change)
    assert guard.fingerprint() != before
    assert guard.fingerprint() is guard.fingerprint()


def test_globals_defaults_and_classes_are_watched(monkeypatch):
    net, step, _ = reachable()
    guard = Guard(reachable_from(step, net.construct))
    seen = [guard.fingerprint()]
    for change in (lambda: monkeypatch.setitem(TABLE, "a", 4.0),
                   lambda: monkeypatch.setattr(Net, "bias", 4.0),
                   lambda: monkeypatch.setattr(step, "__defaults__", (4,)),
                   lambda: monkeypatch.setitem(globals(), "SCALE", [3.0])):
        change()
        assert guard.fingerprint() not in seen
        seen.append(guard.fingerprint())


def test_a_global_with_the_name_of_an_attribute(monkeypatch):
    net = Net()
    by_name = {"around": lambda x: net(x) + globals()["fixed"][0]}
    for name in ("attribute", "around"):
        monkeypatch.setitem(globals(), "fixed", (0, 0))
        function = by_name.get(name, lambda x: net(x) * net.fixed[0])
        guard = Guard(reachable_from(function))
        before = guard.fingerprint()
        monkeypatch.setitem(globals(), "fixed", (1, 0))
        assert (guard.fingerprint() is before) == (name == "attribute")
    compiled, x = ms.jit(by_name["around"]), Tensor([1.0, 1.0, 1.0])
    with pytest.warns(UserWarning, match="calls globals"):
        compiled(x)
    monkeypatch.setitem(globals(), "fixed", (2, 0))
    np.testing.assert_array_equal(compiled(x).asnumpy(), by_name["around"](x).asnumpy())


def test_an_equal_value_in_another_object_is_no_change():
    net, step, _ = reachable()
    guard = Guard(reachable_from(step))
    before = guard.fingerprint()
    net.sizes = [1.0, 2.0]
    net.kept = Tensor([4.0, 5.0, 6.0])
    assert guard.fingerprint() == before


@pytest.mark.parametrize("name", ["sizes", "table"])
def test_a_container_that_another_thread_makes_large_after_the_search(name):
    net = Net()
    net.sizes, net.table = [1.0], {}
    guard = Guard(reachable_from(lambda x: (net.sizes.append(x), net.table.update(a=x))))

    def grow(*values):
        own = getattr(net, name)
        own.extend(values) if name == "sizes" else own.update(dict.fromkeys(values))

    grow(*range(1100))
    before = guard.fingerprint()
    grow(-1)
    assert guard.fingerprint() != before


def test_containers_that_hold_themselves():
    net, step, _ = reachable()
    net.sizes.append(net.sizes)
    guard = Guard(reachable_from(step))
    assert guard.fingerprint() is guard.fingerprint()


@pytest.mark.parametrize("what", [w for w in CHANGES if w != "a name"])
def test_a_changed_network_gives_what_an_eager_call_gives(what):
    net, step, change = reachable()
    compiled = ms.jit(step, jit_level="O0")
    x = Tensor([1.0, -2.0, 3.0])
    compiled(x)
    compiled(x)
    CHANGES[what](net, change)
    for _ in range(2):
        np.testing.assert_allclose(compiled(x).asnumpy(), step(x).asnumpy(), rtol=1e-6)


def test_a_recurrent_network_is_trained_by_replays():
    # PyTorch's kernel keeps what the backward pass needs only where gradients are on
    ms.set_seed(0)
    net = nn.LSTM(8, 16, batch_first=True)
    net.set_train()
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    gradient = ms.value_and_grad(lambda x: ops.reduce_sum(net(x)[0] ** 2), None,
                                 optimizer.parameters)

    def step(x):
        loss, gradients = gradient(x)
        optimizer(gradients)
        return loss

    x = Tensor(np.random.default_rng(0).standard_normal((2, 5, 8)).astype(np.float32))
    before = [p.asnumpy().copy() for p in optimizer.parameters]
    wanted = [step(x).asnumpy() for _ in range(4)]
    for parameter, value in zip(optimizer.parameters, before, strict=True):
        parameter.set_data(Tensor(value))
    compiled = ms.jit(step, jit_level="O0")
    np.testing.assert_allclose([compiled(x).asnumpy() for _ in range(4)], wanted, rtol=1e-5)
    assert compiled.report()["replays"] == 3


def test_containers_in_a_partial_are_watched():
    values, more = [1.0], {"shift": 0.0}
    scale = functools.partial(lambda v, x, m: x * v[0] + m["shift"], values, m=more)
    step = ms.jit(lambda x: scale(x))
    found = []
    for number in range(4):
        values[0], more["shift"] = float(number), number // 2
        found.append(step(Tensor([2.0])).tolist())
    assert found == [[0.0], [2.0], [5.0], [7.0]]


def test_what_a_partial_method_holds_is_watched():
    factor = [2.0]

    class Net:
        def scaled(self, x, by, shift, then):
            return then(x * by + shift[0])

        double = functools.partialmethod(scaled, by=2.0, shift=[0.0], then=lambda x: x * factor[0])

    net, given = Net(), vars(Net)["double"].keywords
    step = ms.jit(lambda x: net.double(x))
    found = []
    for change in (lambda: None, lambda: None, lambda: given.update(by=3.0),
                   lambda: given["shift"].append(1.0), lambda: given.update(shift=(4.0,)),
                   lambda: factor.insert(0, 1.0), lambda: given.update(then=lambda x: -x)):
        change()
        found.append(step(Tensor([1.0])).item())
    assert found == [4.0, 4.0, 6.0, 6.0, 14.0, 7.0, -7.0]
    assert step.report()["replays"] >= 1


@pytest.mark.filterwarnings("ignore:For 'jit'")
def test_other_threads_may_change_guarded_objects():
    held = types.SimpleNamespace(k=1.0, table={}, last=collections.deque(maxlen=50), met=set())
    over = threading.Event()

    def change():
        for i in itertools.count():
            held.table[i % 97] = i
            held.table.pop(i * 7 % 97, None)
            vars(held)[f"a{i % 13}"] = i
            vars(held).pop(f"a{i * 5 % 13}", None)
            held.last.append(i)
            held.met.add(i % 31)
            held.met.discard(i * 3 % 31)
            if over.is_set():
                break

    def fn(x):
        return x * held.k + 0 * (len(held.table) + len(held.last) + len(held.met))

    thread, before = threading.Thread(target=change), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        step, x = ms.jit(fn), Tensor([2.0])
        found = [call(x).item() for _ in range(100) for call in (step, ms.jit(fn))]
    finally:
        over.set()
        thread.join(60)
        sys.setswitchinterval(before)
    assert found == [2.0] * 200


def test_expressions_of_sympy_are_constants():
    sympy = pytest.importorskip("sympy")  # PyTorch depends on it
    x, t = sympy.symbols("x t")

    class Equation:
        u = sympy.Function("u")(x, t)
        terms = [sympy.diff(u, t), u * sympy.diff(u, x)]

        def residual(self, v):
            return v * len(self.terms)

    equation = Equation()
    reach = reachable_from(equation.residual)
    assert equation in reach.objects.others
    assert not [f for f in reach.objects.functions if f.__module__.startswith(("sympy", "mpmath"))]
    step = ms.jit(equation.residual)
    for _ in range(2):
        assert step(Tensor([1.0, 2.0])).asnumpy().tolist() == [2.0, 4.0]
    equation.terms.append(x)
    assert step(Tensor([1.0, 2.0])).asnumpy().tolist() == [3.0, 6.0]


def test_the_masked_constant_of_numpy_is_compared_like_any_array():
    kept = [np.ma.masked, np.ma.array([1.0, 2.0], mask=[0, 1])]
    step = ms.jit(lambda v: v * float(kept[1].sum()))
    assert step(Tensor([2.0])).asnumpy().tolist() == [2.0]
    kept[1].mask[1] = False
    assert step(Tensor([2.0])).asnumpy().tolist() == [6.0]


def test_caches_of_pythons_library_are_no_state():
    class Words:
        _cache: dict = {}

        def letters(self, text):
            return len(re.sub("[0-9]", "", text)) + len(self._cache)

    words = Words()
    step = ms.jit(lambda v: v * words.letters("a1b2"))
    assert step(Tensor([1.0])).asnumpy().tolist() == [2.0]
    for number in range(3):  # what else the program does fills the cache of `re`
        assert re.compile(f"nobody had this pattern {number} {id(words)}")
        assert step(Tensor([1.0])).asnumpy().tolist() == [2.0]
    assert step.report()["replays"] == 3
    words._cache["more"] = 1
    assert step(Tensor([1.0])).asnumpy().tolist() == [3.0]


def test_names_that_appear_later_are_found_in_large_and_small_spaces():
    few = types.ModuleType("few")
    many = types.ModuleType("many")
    vars(many).update({f"name_{i}": i for i in range(200)})

    def scale(v):
        found = v
        for module in (few, many):
            if hasattr(module, "doubling"):
                found = found * module.doubling
        return found

    step = ms.jit(scale)
    results = []
    for change in (lambda: None, lambda: setattr(many, "doubling", 2.0),
                   lambda: setattr(few, "doubling", 3.0), lambda: delattr(many, "doubling")):
        change()
        results.append([step(Tensor([1.0])).asnumpy().tolist() for _ in range(2)])
    assert results == [[[1.0]] * 2, [[2.0]] * 2, [[6.0]] * 2, [[3.0]] * 2]
    assert step.report()["replays"] == 4


def test_what_an_iterator_of_the_programs_own_holds_is_compared():
    class Turns:
        by = 2.0

        def __iter__(self):
            return self

        def __next__(self):
            return self.by

    turns = Turns()
    step = ms.jit(lambda x: x * next(turns))
    found = [step(Tensor([1.0])).item() for _ in range(3)]
    turns.by = 5.0
    assert [*found, step(Tensor([1.0])).item()] == [2.0, 2.0, 2.0, 5.0]
    assert step.report()["replays"] == 2


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("base, given", [(itertools.count, (1,)), (itertools.cycle, ([1, 2, 3],))])
def test_an_iterator_of_the_programs_own_that_goes_on_in_c(base, given):
    turns = type("Turns", (base,), {})(*given)
    step = ms.jit(lambda x: x * next(turns))
    assert [step(Tensor([1.0])).item() for _ in range(3)] == [1.0, 2.0, 3.0]
