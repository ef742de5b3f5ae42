"""Recompilations in `report` and in a warning: which guard failed, at which line."""

import functools
import warnings

import pytest

import lamella as ms
from lamella import Tensor, jit, nn, ops
from lamella.graph.runtime.recompilations import Failure, name_of

scale = "1"


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.kind = "a"

    def construct(self, x, how="sum"):
        y = x * 2 if self.kind == "a" else x
        return y.sum() if how == "sum" else y.mean() * float(scale)


def line(text, file=__file__):
    """Where a line of this file stands, as messages say it."""
    with open(file) as f:
        number = next(i for i, found in enumerate(f, 1) if found.strip().startswith(text))
    return f"({file}:{number})"


def changed(before, now):
    global scale
    net, x = Net(), Tensor([1.0, 2.0])
    compiled = jit(net)
    calls = {"kind": lambda v: (setattr(net, "kind", v), compiled(x)),
             "how": lambda v: compiled(x, v), "shape": lambda v: compiled(ops.ones(v))}
    for what, value in (before, now):
        if what == "scale":
            scale = value
            compiled(x, "mean")
        else:
            calls[what](value)
    return compiled.report()["recompilations"]


@pytest.mark.parametrize("before, now, wanted", [
    (("kind", "a"), ("kind", "b"),
     "the attribute 'kind' of Net {y = x * 2 if}: 'a', now 'b'"),
    (("scale", "1"), ("scale", "2"),
     "the global 'scale' {return y.sum() if how}: '1', now '2'"),
    (("how", "sum"), ("how", "max"),
     "the argument 'how' {def construct}: 'sum', now 'max'"),
    (("shape", 3), ("shape", 4),
     "the argument 'x' {def construct}: Tensor of shape (3,) and type Float32, "
     "now Tensor of shape (4,) and type Float32"),
], ids=["attribute", "global", "argument", "shape"])
def test_the_report_names_the_guard_and_its_line(before, now, wanted):
    head, _, rest = wanted.partition("{")
    text, _, tail = rest.partition("}")
    assert changed(before, now) == [head + line(text) + tail]


def test_guards_on_values_of_tensors():
    @jit
    def fn(x):
        if x.sum() > 0:
            return x[x > 1].sum()
        return x

    for values in ([1.0, 2.0], [1.0, -2.0], [2.0, 3.0]):
        fn(Tensor(values))
    assert fn.report()["recompilations"] == [
        f"the value of a Tensor {line('if x.sum() > 0:')}: True, now False",
        f"a data-dependent shape {line('return x[x > 1]')}: (1,), now (2,)"]


def test_one_warning_for_a_guard_that_keeps_failing():
    compiled = jit(lambda x, how: x * 2)
    with pytest.warns(UserWarning, match="recorded again and again, for 16 values "
                                         "so far of the argument 'how'") as warned:
        for number in range(1, 30):
            compiled(Tensor(1.0), [None] * number)
    assert len(warned) == 1


def test_texts_have_a_limit_of_their_own():
    compiled = jit(lambda x, how: x * len(how))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(24):
            compiled(Tensor(1.0), "a" * number)
    assert len(compiled.report()["recompilations"]) == 23


def test_recordings_for_other_reasons_are_no_recompilations():
    compiled = jit(lambda x, count: x * count)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(30):
            compiled(Tensor(1.0), number)
    assert len(compiled.report()["recompilations"]) <= 2


def test_a_network_in_graph_mode():
    net = Net()
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        net(Tensor([1.0]))
        net.kind = "b"
        net(Tensor([1.0]))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    from lamella.graph.surface.mode import compiled_cell
    assert compiled_cell(net).report()["recompilations"] == [
        f"the attribute 'kind' of Net {line('y = x * 2 if')}: 'a', now 'b'"]


@pytest.mark.filterwarnings("ignore:For 'jit'")
def test_a_new_object_in_each_call_is_named():
    class Scale:
        def __init__(self, factor):
            self.factor = [factor]

    @ms.jit
    def by_cell(net, x):
        return net(x)

    @ms.jit
    def by_object(scale, x):
        return x * scale.factor[0]

    for _ in range(3):
        by_cell(nn.Dense(2, 2), ops.ones((1, 2)))
        by_object(Scale(2.0), ops.ones((1, 2)))
    for step, name, text in ((by_cell, "net", "Dense, now another Dense"),
                             (by_object, "scale", "Scale, now another Scale")):
        (said,) = {*step.report()["recompilations"]}
        assert said.startswith(f"the argument '{name}' (") and said.endswith(text)


def square(x):
    return x * x


class Own:
    def method(self, x):
        return x * 2

    def __call__(self, x):
        return x * 3


@pytest.mark.parametrize("make, name", [
    (lambda: square, "square"), (lambda: functools.partial(square), "square"),
    (lambda: functools.partial(functools.partial(square)), "square"), (Own, "Own"),
    (lambda: Own().method, "Own.method"), (nn.ReLU, "ReLU"), (lambda: ms.grad(square),
                                                            "grad of square"),
    (lambda: ms.vmap(square), "vmap of square"), (lambda: ms.vmap(Own()), "vmap of Own"),
    (lambda: ms.value_and_grad(ms.vmap(square)), "value_and_grad of vmap of square"),
    (lambda: ms.vmap(ms.grad(square)), "vmap of grad of square"),
    (lambda: ms.grad(functools.partial(square)), "grad of square"),
    (lambda: ms.grad(nn.ReLU()), "grad of ReLU"), (lambda: ms.jvp, "jvp")])
def test_names_in_messages(make, name):
    assert name_of(make()) == name


@pytest.mark.parametrize("guard, before, now, text", [
    ("a", "1", "2", "a: 1, now 2"), ("a", "", "", "a"), ("a", "1", "", "a")])
def test_failures_as_text(guard, before, now, text):
    assert str(Failure(guard, before, now)) == text


def of_two(first, second=None, *rest, **named):
    return first * 2


@pytest.mark.parametrize("one, other, wanted", [
    ((1.0, "a"), (1.0, "b"), "the argument 'second' {}: 'a', now 'b'"),
    ((1.0, [1, "a"]), (1.0, [1, "b"]), "the argument 'second' {}: 1, 'a', now 1, 'b'"),
    ((1.0, "a" * 99), (1.0, "b" * 99), f"the argument 'second' {{}}: '{'a' * 59}, now '{'b' * 59}"),
    ((1.0, ["a" * 90] * 4), (1.0, ["b"] * 4),
     "the argument 'second' {}: " + ", ".join(["'" + "a" * 59] * 4)[:200] + ", now 'b', 'b', 'b', "
     "'b'"),
    ((1.0, "a", "c"), (1.0, "a", "d"), "the argument 'rest' {}: 'c', now 'd'"),
    ((1.0, None), (1.0, "a"), "the argument 'second' {}: None, now 'a'"),
    ((1.0, (1,)), (1.0, {1}), "the argument 'second' {}: 1, now set"),
    ((1.0, Own), (1.0, square), "the argument 'second' {}: type, now function")])
def test_the_argument_that_differs(one, other, wanted):
    compiled = jit(of_two)
    for number, *others in (one, other):
        compiled(Tensor([number]), *others)
    assert compiled.report()["recompilations"] == [wanted.format(line("def of_two"))]
