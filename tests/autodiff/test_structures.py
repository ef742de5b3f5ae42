"""Dataclasses, named tuples, dicts in lists and registered classes in every transformation."""

import collections
import dataclasses
import typing

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops


@dataclasses.dataclass
class Line:
    slope: Tensor
    start: Tensor
    name: str = "line"


@dataclasses.dataclass(frozen=True)
class Frozen:
    slope: Tensor
    start: Tensor


@dataclasses.dataclass(slots=True)
class Slotted:
    slope: Tensor
    start: Tensor


@dataclasses.dataclass
class Checked:
    slope: Tensor
    start: Tensor
    made: int = dataclasses.field(default=0, init=False)

    def __post_init__(self):
        assert isinstance(self.slope, Tensor), "called again"
        self.made = 7


class Pair(typing.NamedTuple):
    slope: Tensor
    start: Tensor


class Registered:
    def __init__(self, slope, start, name="registered"):
        self.slope, self.start, self.name = slope, start, name


ms.tree.register(Registered, lambda r: ((r.slope, r.start), r.name),
                 lambda name, parts: Registered(*parts, name), lambda r: ("slope", "start"))


class Hidden:
    def __init__(self, slope, start):
        self.slope, self.start = slope, start


def in_dict(slope, start):
    return [{"slope": slope}, ({"start": start},)]


def in_ordered(slope, start):
    return collections.OrderedDict(slope=slope, start=start)


def in_default(slope, start):
    made = collections.defaultdict(list)
    made["slope"], made["start"] = slope, start
    return made


MAKERS = [Line, Frozen, Slotted, Checked, Pair, Registered, in_dict, in_ordered, in_default]
X, SLOPE, START = Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), Tensor(5.0)


def parts(line):
    if isinstance(line, list):
        return line[0]["slope"], line[1][0]["start"]
    if isinstance(line, dict):
        return line["slope"], line["start"]
    return line.slope, line.start


def value(line, x):
    slope, start = parts(line)
    return (slope * slope * x).sum() + start


def arrays(line):
    return [part.asnumpy().tolist() for part in parts(line)]


GRADIENT = [[6.0, 16.0], 1.0]


@pytest.fixture(params=MAKERS, ids=lambda m: m.__name__)
def make(request):
    return request.param


def test_gradients(make):
    line = make(SLOPE, START)
    gradient = ms.grad(value)(line, X)
    assert type(gradient) is type(line) and arrays(gradient) == GRADIENT
    of_line, by_x = ms.grad(value, (0, 1))(line, X)
    assert arrays(of_line) == GRADIENT and by_x.asnumpy().tolist() == [9, 16]
    got, gradient = ms.value_and_grad(value)(line, X)
    assert got == 46 and arrays(gradient) == GRADIENT
    found = ops.GradOperation(get_all=True)(value)(line, X)
    assert len(found) == 2 and arrays(found[0]) == GRADIENT
    assert arrays(line) == [[3, 4], 5]


def test_other_transformations(make):
    line = make(SLOPE, START)
    got, pull = ms.vjp(value, line, X)
    assert got == 46 and arrays(pull(Tensor(1.0))[0]) == GRADIENT
    direction = make(Tensor([1.0, 0.0]), Tensor(2.0))
    assert ms.jvp(lambda line: value(line, X), (line,), (direction,))[1] == 8
    if make is not in_dict:  # a list is one of inputs
        assert ms.jvp(lambda line: value(line, X), line, direction)[1] == 8
    got, push = ops.linearize(lambda line: value(line, X), (line,))
    assert got == 46 and push((direction,)) == 8
    for jacobian in (ms.jacfwd, ms.jacrev):
        assert arrays(jacobian(value)(line, X)) == GRADIENT
    rows = ms.hessian(value)(line, X)
    assert type(rows) is type(line)
    np.testing.assert_array_equal(parts(parts(rows)[0])[0].asnumpy(), [[2, 0], [0, 4]])


def test_results(make):
    def twice(x):
        return make(x * 2, x.sum())

    found = ms.vmap(twice)(ops.stack([X, X]))
    assert type(found) is type(make(X, X)) and arrays(found) == [[[2, 4]] * 2, [3, 3]]
    got, tangent = ms.jvp(twice, X, Tensor([1.0, 0.5]))
    assert arrays(got) == [[2, 4], 3] and arrays(tangent) == [[2, 1], 1.5]
    for jacobian in (ms.jacfwd, ms.jacrev):
        assert arrays(jacobian(twice)(X)) == [[[2, 0], [0, 2]], [1, 1]]
    got, pull = ms.vjp(twice, X)
    assert pull(make(X, Tensor(1.0)))[0].asnumpy().tolist() == [3, 5]
    assert ms.grad(twice)(X).asnumpy().tolist() == [3, 3]
    got, gradient = ms.value_and_grad(twice)(X)
    assert arrays(got) == [[2, 4], 3] and not parts(got)[0]._raw.requires_grad


def test_examples_along_axes(make):
    line = make(ops.stack([SLOPE, SLOPE], 1), ops.stack([START, START]))
    axes = make(1, 0) if make is not Checked else dataclasses.replace(
        line, slope=X, start=X)
    if make is Checked:
        axes.slope, axes.start = 1, 0
    assert ms.vmap(value, (axes, None))(line, X).asnumpy().tolist() == [46, 46]
    both = make(ops.stack([SLOPE, SLOPE]), ops.stack([START, START]))
    found = ms.vmap(ms.grad(value), (0, None))(both, X)
    assert arrays(found) == [[GRADIENT[0]] * 2, [1, 1]]


def test_recomputation_and_compiled_gradients(make):
    line = make(SLOPE, START)
    assert arrays(ms.grad(lambda line: ms.recompute(value, line, X))(line)) == GRADIENT
    step = ms.jit(lambda a, b, x: arrays_of(ms.grad(value)(make(a, b), x)))
    for _ in range(3):
        by_slope, by_start = step(SLOPE, START, X)
        assert by_slope.asnumpy().tolist() == GRADIENT[0] and by_start == 1


def arrays_of(line):
    return parts(line)


def test_hooks(make):
    seen = []

    def rule(gradient):
        seen.append(arrays(gradient))
        return make(*[part * 2 for part in parts(gradient)])

    insert = ops.InsertGradientOf(rule)
    gradient = ms.grad(lambda line: value(insert(line), X))(make(SLOPE, START))
    assert seen == [GRADIENT] and arrays(gradient) == [[12, 32], 2]
    cell = Halved()
    found = []
    cell.register_backward_hook(lambda cell, by_input, by_output: found.append(by_input))
    ms.grad(lambda line: value(cell(line), X))(make(SLOPE, START))
    assert len(found) == 1 and len(found[0]) == 2


class Halved(nn.Cell):
    def construct(self, line):
        return ms.tree.map(lambda part: part * 0.5 if isinstance(part, Tensor) else part, line)


class Scaled(nn.Cell):
    """Its rule gives ten times the gradient."""

    def construct(self, line, x):
        slope, start = parts(line)
        return (slope * x).sum() + start

    def bprop(self, line, x, out, dout):
        return ms.tree.map(lambda part: dout * part * 10 if isinstance(part, Tensor) else part,
                           line), dout * x


def test_rules(make):
    line = make(SLOPE, START)
    of_line, by_x = ms.grad(Scaled(), (0, 1))(line, X)
    assert arrays(of_line) == [[30, 40], 50] and by_x.asnumpy().tolist() == [1, 2]

    class Rule(ms._Function):
        @staticmethod
        def forward(ctx, line):
            slope, start = parts(line)
            return slope * start

        @staticmethod
        def backward(ctx, gradient):
            return make(gradient * 3, gradient.sum())

    assert arrays(ms.grad(Rule.apply)(line)) == [[3, 3], 2]


def test_objects_keep_what_is_no_part():
    line = Line(SLOPE, START, "a")
    line.note = "kept"
    gradient = ms.grad(value)(line, X)
    assert gradient.name == "a" and gradient.note == "kept"
    assert ms.grad(value)(Checked(SLOPE, START), X).made == 7
    made = ms.grad(value)(in_default(SLOPE, START), X)
    assert made.default_factory is list


def test_compiled_functions_see_what_objects_hold():
    @dataclasses.dataclass
    class Scaled:
        factor: Tensor
        times: int = 1

    def f(scaled, x):
        return (ms.grad(lambda s: (s.factor ** 2 * x).sum())(scaled).factor * scaled.times).sum()

    step, scaled = ms.jit(f), Scaled(X)
    for change in (None, None, None, ("times", 3), None, ("times", 4), ("factor", X * 2), None,
                   ("factor", Tensor([1.0, 2.0, 3.0])), ("times", 5)):
        if change:
            setattr(scaled, *change)
        x = ops.ones(scaled.factor.shape)
        assert float(step(scaled, x)) == float(f(scaled, x))


def test_a_dict_as_last_input_of_a_rule():
    class Weighted(nn.Cell):
        def construct(self, x, options):
            return x * options["scale"]

        def bprop(self, x, options, out, dout):
            return dout * 2, {"scale": dout * 3}

    class Alone(nn.Cell):
        def construct(self, options):
            return options["a"] * options["b"]

        def bprop(self, options, out, dout):
            return ({"a": dout * 2, "b": dout * 3},)

    by_x, options = ms.grad(Weighted(), (0, 1))(X, {"scale": SLOPE})
    assert by_x.asnumpy().tolist() == [2, 2] and options["scale"].asnumpy().tolist() == [3, 3]
    found = ms.grad(Alone())({"a": X, "b": SLOPE})
    assert found["a"].asnumpy().tolist() == [2, 2] and found["b"].asnumpy().tolist() == [3, 3]


class Pushed(nn.Cell):
    def construct(self, x, y):
        return x * y

    def jvp(self, x, y, out, dinputs):
        dx, dy = dinputs
        return dx * y * 10 + dy * x


def test_a_cell_with_a_forward_rule_alone():
    net = Pushed()
    assert net(X, SLOPE).asnumpy().tolist() == [3, 8]
    assert ms.jvp(net, (X, SLOPE), (X, None))[1].asnumpy().tolist() == [30, 80]
    by_x, by_y = ms.grad(net, (0, 1))(X, SLOPE)
    assert by_x.asnumpy().tolist() == [30, 40] and by_y.asnumpy().tolist() == [1, 2]
    assert ms.vmap(ms.grad(net))(ops.stack([X, X]), ops.stack([SLOPE, SLOPE])).shape == (2, 2)
    np.testing.assert_array_equal(ms.jacrev(net)(X, SLOPE).asnumpy(), np.diag([30, 40]))
    by_y = ms.grad(lambda y: ms.grad(net)(X, y).sum())(SLOPE)
    assert by_y.asnumpy().tolist() == [10, 10]

    class Owner(Pushed):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(X, name="w")

    own = Owner()
    with pytest.raises(RuntimeError, match="Parameter"):
        ms.grad(own, 0, own.trainable_params())(X, SLOPE)


@pytest.mark.parametrize("call", [
    lambda hidden: ms.grad(value)(hidden, X),
    lambda hidden: ms.grad(value, (0, 1))(hidden, X),
    lambda hidden: ms.grad(lambda inputs: value(inputs["a"][0], X))({"a": [hidden]}),
    lambda hidden: ms.vjp(value, hidden, X),
    lambda hidden: ms.jvp(value, (hidden, X), (hidden, X)),
    lambda hidden: ms.jacrev(value)(hidden, X),
    lambda hidden: ms.jacfwd(value)(hidden, X),
    lambda hidden: ms.vmap(value)(hidden, ops.stack([X, X])),
    lambda hidden: ms.grad(lambda x: Hidden(x, x))(X),
    lambda hidden: ms.vjp(lambda x: Hidden(x, x), X),
    lambda hidden: ms.jvp(lambda x: [Hidden(x, x)], X, X),
    lambda hidden: ops.linearize(lambda x: [Hidden(x, x)], X),
    lambda hidden: ms.jacrev(lambda x: Hidden(x, x))(X),
    lambda hidden: ms.jacfwd(lambda x: Hidden(x, x))(X),
    lambda hidden: ms.vmap(lambda x: {"k": Hidden(x, x)})(ops.stack([X, X])),
    lambda hidden: ms.grad(lambda x: ms.recompute(lambda x: Hidden(x, x), x).slope)(X),
])
def test_what_is_no_structure_is_named(call):
    with pytest.raises(TypeError, match=r"of type Hidden, which holds Tensors .*tree.register"):
        call(Hidden(SLOPE, START))


def test_the_place_of_what_is_no_structure():
    with pytest.raises(TypeError, match=r"argument 0, at \['a'\]\[0\]\.start is of type Hidden"):
        ms.grad(lambda d: d["a"][0].slope)({"a": [Line(X, Hidden(X, X))]})


def test_cells_and_tensors_are_leaves():
    @dataclasses.dataclass(eq=False)
    class Net(nn.Cell):
        width: int

        def __post_init__(self):
            super().__init__()
            self.w = ms.Parameter(X, name="w")

        def construct(self, x):
            return x * self.w

    net = Net(2)
    assert ms.grad(lambda x, net: net(x))(X, net).asnumpy().tolist() == [1, 2]
    assert ms.tree.leaves([net, X])[0] is net


@pytest.mark.parametrize("kind", [Line, Pair, Registered])
def test_a_fresh_object_a_call_replays(kind):
    """Of a class that is registered, too; what it holds besides counts, and results are new."""
    def step(line, xs):
        last, moved = ms.scan(lambda c, x: (type(c)(c.slope + x, c.start), c.slope * x), line, xs)
        return ms.grad(lambda line: (line.slope * line.start).sum())(last), moved

    compiled = ms.jit(step)
    for i in range(5):
        line, xs = kind(Tensor([1.0 + i]), Tensor([2.0])), Tensor(np.ones((9, 1), np.float32))
        (found, moved), (want, wanted) = compiled(line, xs), step(line, xs)
        assert type(found) is kind and found.slope == want.slope and found.start == want.start
        np.testing.assert_array_equal(moved.asnumpy(), wanted.asnumpy())
    assert compiled.report()["replays"] >= 3


def test_what_a_registered_object_holds_counts():
    compiled = ms.jit(lambda line: line.slope * 2 if line.name == "double" else line.slope)
    for name, want in (("double", 6.0), ("single", 3.0), ("double", 6.0), ("single", 3.0)):
        assert float(compiled(Registered(Tensor(3.0), Tensor(0.0), name))) == want
    line = Registered(Tensor(3.0), Tensor(0.0))

    def write(line):
        line.start = line.slope * 2
        return line.slope

    compiled = ms.jit(write)
    for slope in (3.0, 4.0, 5.0):
        line = Registered(Tensor(slope), Tensor(0.0))
        compiled(line)
        assert float(line.start) == 2 * slope


def test_elements_of_a_scan_are_objects():
    lines = Line(Tensor([1.0, 2.0, 3.0]), Tensor([1.0, 1.0, 1.0]))
    total, lasts = ms.scan(lambda c, line: (c + line.slope, Line(line.slope * 2, c)),
                           Tensor(0.0), lines)
    assert float(total) == 6.0 and lasts.slope.asnumpy().tolist() == [2.0, 4.0, 6.0]
    assert lasts.start.asnumpy().tolist() == [0.0, 1.0, 3.0] and lasts.name == "line"
    with pytest.raises(TypeError, match="'xs' must be of Tensors or None"):
        ms.scan(lambda c, x: (c, x), Tensor(0.0), (Tensor([1.0]), 3))
