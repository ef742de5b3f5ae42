"""Which gradients are odd, on both sides of each limit: gradients that are what a network says."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, inspect_gradients, nn, ops

X = Tensor(np.ones(4), ms.float64)


class Sums(nn.Cell):
    """Parameters whose gradients are given: (gradient, value) of each."""

    def __init__(self, **given: tuple[float, float]):
        super().__init__()
        self.given = given
        for name, (_, value) in given.items():
            setattr(self, name, Parameter(Tensor(np.full(4, value), ms.float64), name=name))

    def construct(self, x):
        total = 0.0
        for name, (slope, _) in self.given.items():
            total = total + (getattr(self, name) * x * slope).sum()
        return total


HELD = {"a": Parameter(Tensor(np.full(4, 2.0)), name="a")}


def report(**given):
    return inspect_gradients(Sums(**given), X)


ONE = (1.0, 1.0)


@pytest.mark.parametrize("gradient, value, mark", [
    (1.1e-5, 1.0, ""), (0.9e-5, 1.0, "vanishing"),  # beside the largest gradient, 1
    (0.9e-5, 0.8e-2, ""), (0.9e-5, 1.0e-2, "vanishing"),  # and beside its own value
    (0.9e-5, 0.0, "vanishing"), (1.1e-5, 0.0, ""),
    (0.9e4, 1.0, ""), (1.1e4, 1.0, "exploding"),  # beside its own value
    (0.9e4, 0.5, "exploding"),
    # beside the median gradient, 1, and a hundred times the larger of its own and the usual value
    (1.1e4, 100.0, "exploding"), (0.9e4, 80.0, ""), (1.1e4, 120.0, ""),
    (1e4, 1.0, ""), (10000.5, 1.0, "exploding"), (10000.5, 100.0, "exploding"), (1e4, 50.0, "")])
def test_limits(gradient, value, mark):
    found = report(a=ONE, w=(gradient, value), b=ONE, c=ONE)
    assert found.mark("w") == mark and [found.mark(name) for name in "abc"] == [""] * 3
    text = found.why("w")
    assert {"": " is not zero: ", "vanishing": " vanishes: ", "exploding": " explodes: "}[mark] in (
        text)
    assert f"norm {2 * gradient:.4g}, 0% zeros" in text
    assert found.gradient("w").mean_size == pytest.approx(gradient)


def test_the_usual_value_of_parameters():
    """It is their median; a gradient is large beside that of values, where its own is small."""
    few = {name: (1.0, 200.0) for name in "abc"}
    assert report(**few, w=(1.9e4, 200.0)).mark("w") == ""
    assert report(**few, w=(2.1e4, 200.0)).mark("w") == "exploding"
    # by its own value alone
    assert report(**few, w=(1.9e4, 1.0)).mark("w") == "exploding"


def test_the_largest_gradients_are_the_upper_tenth():
    """One of eleven that is larger than all others isn't what they are measured by."""
    many = {f"p{i}": ONE for i in range(9)}
    text = report(**many, large=(1e3, 1.0), w=(2e-5, 1.0))  # eleven: the tenth counts
    assert text.mark("w") == ""
    fewer = {f"p{i}": ONE for i in range(7)}
    text = report(**fewer, large=(1e3, 1.0), w=(2e-3, 10.0))  # nine: the largest one
    assert text.mark("w") == "vanishing"
    assert "where the largest Parameters' are 5e+05 times as large" in text.why("w")


def test_what_explodes_is_told_beside_the_median():
    text = report(a=(2.0, 1.0), b=(3.0, 1.0), w=(5e5, 1.0)).why("w")
    assert "elements of about 5e+05 where the median Parameter's are 3." in text


def test_names():
    found = inspect_gradients(nn.SequentialCell(Sums(a=ONE), Sums(a=ONE, bias=ONE)), X)
    assert found.find("0.a")[0] == "0.a" and found.find("bias")[0] == "1.bias"
    assert found.find("input_data")[1].kind == "input" and found.owner("1.bias") == "1"
    assert found.owner("input_data") == ""
    for name, words in (("a", "'0.a', '1.a'"), ("1.bia", "'1.bias'"), ("zz", "for instance")):
        with pytest.raises(ValueError, match=f"no Parameter or input '{name}'.*{words}"):
            found.find(name)
    with pytest.raises(TypeError, match="must be a str or a Parameter, but got 3"):
        found.find(3)


def test_inputs_and_parameters_of_the_same_name():
    w, a = (Parameter(Tensor([2.0, 2.0]), name=name) for name in "wa")
    found = inspect_gradients(lambda w_, w: w * w_ * a, Tensor([1.0, 1.0]), Tensor([5.0, 5.0]))
    assert list(found.inputs) == ["w_", "w"] and list(found.parameters) == ["a"]
    found = inspect_gradients(lambda a, b=None: a * HELD["a"] + b, X, b=X,
                              weights=HELD["a"])
    assert (found.gradient("a").high, found.gradient("a (2)").high) == (2.0, 1.0)
    # the Parameter's own name, where it is the argument itself
    found = inspect_gradients(lambda w: w * 3, w, weights=w)
    assert found.gradient("w").high == 3.0 and found.mark("w (2)") == "unused"
    assert list(inspect_gradients(lambda x, w: x * w, X, w=HELD["a"]).parameters) == ["a"]


def test_what_is_not_differentiated():
    cold = Parameter(Tensor(np.ones(4)), name="cold", requires_grad=False)
    whole = Parameter(Tensor([1, 2, 3, 4]), name="whole", requires_grad=False)
    found = inspect_gradients(lambda x, y, z, k: x * y * z * k * whole, X, cold, Tensor(2), k=X)
    assert {n: found.mark(n) for n in ("x", "y", "z", "k", "cold", "whole")} == {
        "x": "", "y": "frozen", "z": "not floating", "k": "frozen", "cold": "frozen",
        "whole": "not floating"}
    assert "by keyword or is a frozen Parameter" in found.why("y") and found.why("k").endswith(
        "the function is not differentiated by it.")
    assert "requires_grad=False" in found.why("cold")
    assert "integers or booleans (int64)" in found.why("z")
    assert found.gradient("k") is None and "integers or booleans (int64)" in found.why("whole")


class Called(nn.Cell):
    """Its first Parameter isn't read, but it is called, as its inner Cell is."""

    def __init__(self):
        super().__init__()
        self.own = Parameter(Tensor(np.ones(4)), name="own")
        self.inner = nn.SequentialCell(Sums(a=ONE, b=ONE))
        self.inner[0].given = {"a": ONE}
        self.never = nn.SequentialCell(Sums(c=ONE))

    def construct(self, x):
        return self.inner(x)


def test_what_is_never_read_and_what_is_never_called():
    lone = Parameter(Tensor(np.ones(4)), name="lone")
    found = inspect_gradients(nn.SequentialCell(Called()), X, weights=None)
    for name in ("0.own", "0.inner.0.b"):
        assert found.why(name).endswith("not used by the output: 'SequentialCell' never reads it.")
    assert "its Cell '0.never.0' (Sums) is never called by" in found.why("c")
    alone = inspect_gradients(lambda x: x * 2, X, weights=lone)
    assert alone.why("lone").endswith("'<lambda>' never reads it.") and alone.owner("lone") == ""
    assert inspect_gradients(lambda x: x * 2, X, weights=[]).parameters == {}


@pytest.mark.parametrize("gamma, mark", [([1.0, 1.0, 1.0], "vanishing"), ([0.5, 1.0, 2.5], "")])
def test_what_is_no_more_than_rounding(gamma, mark):
    """A sum of what is normalized is constant, unless it is weighted."""
    w = Parameter(Tensor([1.0, 2.0, 4.0]), name="w")
    found = inspect_gradients(lambda x: ops.layer_norm(w * x, (3,), Tensor(gamma)), Tensor(1.0))
    assert found.mark("w") in (mark, "zero" if mark else mark)
    assert ("the sum of its results is always the same" in found.why("w")) is bool(mark)


def test_names_that_are_near():
    """The three nearest, or where none is near, the first five."""
    alike = report(**{f"weight{i}": ONE for i in range(6)})
    with pytest.raises(ValueError, match="'weigth3'.*instance '[^,]*', '[^,]*', '[^,]*'[.]$"):
        alike.find("weigth3")
    with pytest.raises(ValueError, match="instance 'x', 'weight0', 'weight1', 'weight2', "
                                         "'weight3'[.]$"):
        alike.find("QQQ")


def test_rules_of_parameters_are_told_too():
    net = Sums(a=ONE, b=ONE)
    net.b.register_hook(lambda gradient: gradient * 3)
    net.b.register_hook(lambda gradient: None)
    found = inspect_gradients(net, X)
    assert [at for at, _ in found.rules()] == [found.find("b")[1].id] * 2
    assert found.gradient("b").high == 3.0
    assert all(rule.name.startswith("hook ") for _, rule in found.rules())


def test_the_printed_form_counts_what_is_odd():
    given = {f"w{i}": (1e9, 1.0) for i in range(4)}
    many = {f"p{i}": ONE for i in range(9)}
    assert repr(report(a=ONE)) == "GradientReport(Sums: 1 Parameters, 4 steps)" or (
        "odd" not in repr(report(a=ONE)))
    for count, words in ((1, "1 odd (w0: exploding)"), (3, "3 odd (w0: exploding, w1: exploding, "
                                                           "w2: exploding)"),
                         (4, "4 odd (w0: exploding, w1: exploding, w2: exploding, ...)")):
        shown = repr(report(**many, **dict(list(given.items())[:count])))
        assert shown.endswith(f" steps, {words})"), shown
