"""What the steps of loops in compiled functions change besides their variables, or may not change.

An `if` on a Tensor computes both of its ways, `and` and `or` all of their parts.
"""

import collections
import types

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, ops
from lamella.autodiff.stop import no_grad
from lamella.graph.runtime.compiled import Compiled
from tests.graph.random_loops import compile_source

from .program_loops import CALLS, check, finds_loops, flat, program_of, values

SPACE = {"ops": ops, "collections": collections, "types": types, "Tensor": Tensor, "ms": ms}


def loop_of(body, start="", end="", test="x.max() > 0.1"):
    """A program with a loop of these statements."""
    return program_of(SPACE, body, start, end, f"while {test}:")


# -- what a step has made is changed in one of two ways --------------------------------------------


@finds_loops
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("body", [
    "parts = [x * 0.5]\nif x.min() > 0.3:\n    parts.append(x * 0.2)\nx = sum(parts)",
    "parts = [x * 0.5]\nif x.min() > 0.3:\n    parts += [x * 0.2]\nx = sum(parts)",
    "parts = [x * 0.5]\nif x.min() > 0.3:\n    parts[0] = x * 0.7\nx = parts[0]",
    "parts = [x * 0.5]\nif x.min() > 0.3:\n    pass\nelse:\n    parts.append(x * 0.2)\n"
    "x = sum(parts)",
    "parts = {'a': x * 0.5}\nif x.min() > 0.3:\n    parts['a'] = x * 0.7\nx = parts['a']",
    "parts = collections.deque([x * 0.5, x * 0.7])\nif x.min() > 0.3:\n    parts.rotate()\n"
    "x = parts[0]",
    "parts = types.SimpleNamespace(y=x * 0.5)\nif x.min() > 0.3:\n    parts.y = x * 0.7\n"
    "x = parts.y",
    "parts = [[x * 0.5]]\nif x.min() > 0.3:\n    parts[0].append(x * 0.2)\nx = sum(parts[0])",
    "y = x * 1\nif x.min() > 0.3:\n    y[0] = 0.1\nx = y * 0.7",
    "y = x * 1\nx = y * 0.7 if x.min() > 0.3 else y.add_(-0.01) * 0.6",
    "parts = [x * 0.5]\nif x.min() > 0.3 and parts.append(x * 0.2) is None:\n    n += 1\n"
    "x = sum(parts)",
    "parts = [x * 0.5]\nif x.min() > 0.3 or parts.append(x * 0.2):\n    n += 1\nx = sum(parts)",
    "parts = [x * 0.5]\nx = parts.pop() if x.min() > 0.3 else x * 0.7\nn += len(parts)"],
    ids=range(13))
def test_a_way_that_is_not_taken_changes_nothing(body):
    compiled = check(loop_of(body), 8)
    assert compiled.statistics.traces > 4  # once for each length


@finds_loops
@pytest.mark.parametrize("body, recordings", [
    ("if x.min() > 0.3:\n    parts = [x * 0.5]\n    parts.append(x * 0.2)\n    x = sum(parts)\n"
     "else:\n    x = x * 0.6", 3),
    ("parts = [x * 0.5]\nparts.append(x * 0.2)\nx = sum(parts) if x.min() > 0.3 else x * 0.8", 3),
    ("if x.min() > 0.3 and n < 4:\n    x, n = x * 0.7, n + 1\nelse:\n    x = x * 0.9", 4),
    ("if x.min() > 0.3 or len([x]) > 1 or n < 4:\n    x, n = x * 0.7, n + 1\nelse:\n"
     "    x = x * 0.9", 4)])
def test_ways_that_change_what_they_make_are_computed(body, recordings):
    check(loop_of(body), recordings)


@finds_loops
def test_a_loop_behind_and_ends_where_it_is_not_asked_for():
    def steps_to_zero(y):
        """For ever, unless y gets smaller."""
        count = 0 * y.sum()
        while y.sum() > 1e-2:
            y, count = y * y.max(), count + 1
        return count

    def run(a):
        x, t = a, 0 * a.sum()
        while t < 4:
            if a.max() < 0.99 and steps_to_zero(a * 0.9) > 3:
                x = x * 0.8
            if not (a.max() >= 0.99 or steps_to_zero(a * 0.9) < 3):
                x = x * 0.7
            t = t + ops.abs(a.max())
        return x

    compiled = Compiled(run)
    for call in (0, 1, 0, 2, 3, 0):
        a = values(call) * 0.95
        np.testing.assert_allclose(compiled(a).asnumpy(), run(a).asnumpy(), rtol=1e-6)


# -- lists that other names have -------------------------------------------------------------------


@finds_loops
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("start, body, end", [
    ("parts = [a * 1]\nstate = parts, 0", "state[0][0] = state[0][0] * 0.5\n"
     "state = state[0], state[1] + 1\nx = x * 0.7",
     "x, n = x + parts[0] + state[0][0], state[1]"),
    ("table = [a, a * 2]\ncurrent = [a, a]", "current, x = table, x * 0.7",
     "current.append(x)\nn = len(table)"),
    ("table = [a * 1, a * 2]\ncurrent = (table, 1)",
     "current, x = (current[0], current[1] + 1), x * 0.7",
     "current[0].append(x)\nn = len(table) + current[1]"),
    ("table = [[a * 1], a * 2]\ncurrent = [a, [a]]",
     "current, x = [x, table[0]], x * 0.7", "current[1].append(x)\nn = len(table[0])"),
    ("parts = [a * 1]\nother = parts", "parts = [x]\nother[0] = parts[0]\nx = x * 0.7",
     "n = len(parts)\nx = x + other[0]")])
def test_lists_that_no_step_has_made_stay_what_they_are(start, body, end):
    check(loop_of(body, start, end), 8)


@finds_loops
@pytest.mark.parametrize("start, body, end", [
    ("parts = [a * 1]", "parts = [p * 0.5 for p in parts]\nx = x * 0.7", "x = x + parts[0]"),
    ("parts = (a, [a * 1])", "parts = parts[0] * 0.5, [parts[1][0] * 0.6]\nx = x * 0.7",
     "x = x + parts[0] + parts[1][0]"),
    ("parts = [[a], 1]", "parts = [[parts[0][0] * 0.5], parts[1] + 1]\nx = x * 0.7",
     "x, n = x + parts[0][0], parts[1]")])
def test_lists_that_each_step_makes_are_carried(start, body, end):
    check(loop_of(body, start, end), 4)


# -- names -----------------------------------------------------------------------------------------


@finds_loops
@pytest.mark.parametrize("end", [
    "del y", "y += out\nx = x + y", "y -= out", "x = x + y", "del y, h\nh = 1.5"])
def test_names_that_are_used_after_a_loop_have_their_last_values(end):
    """Also by `del` and `+=`."""
    check(loop_of("y = out * 1\nx = x * 0.7", "out = a * 3", end), 4)


@finds_loops
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("end", ["y[0] = 3.0\nx = x + out", "y *= 2\nx = x + out"])
def test_a_name_may_be_another_name_of_a_tensor(end):
    check(loop_of("y = out\nx = x * 0.7", "out, y = a * 3, a * 1", end), 8)


@finds_loops
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("end", [
    "x[0] = 5.0", "x[0] += 5.0", "x[:2][0] = 5.0", "x.view(-1)[1] = 5.0", "x.add_(1.0)", "del n"])
@pytest.mark.parametrize("start", ["", "if a.min() < 0:\n    x = a * 1"])
def test_what_is_written_after_a_loop_without_a_step_is_written_into_its_first_value(start, end):
    """So an argument may be changed."""
    fn = loop_of("x = x * 0.7", start, end + "\nn, h = a * 1, 0", test="x.max() > 1")
    compiled = Compiled(fn)
    for call in (0, 3, 0, 2, 4, 0):
        a, b = values(call), values(call)
        for found, wanted in zip(flat(compiled(a)), flat(fn(b)), strict=True):
            np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


@finds_loops
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("start, end", [
    ("y = x", "y.add_(1.0)"), ("y = x", "y[0] = 5.0"), ("y = x.view(-1)", "y.add_(1.0)"),
    ("y = x[0]", "y[...] = 5.0"), ("y, z = x, 1", "y.add_(1.0)"), ("pass", "y = x; y.add_(1.0)")])
def test_what_is_written_under_another_name_after_a_loop_without_a_step(start, end):
    fn = loop_of("x = x * 0.7", f"x = a * 1\n{start}", f"{end}\nn, h = y * 1, 0",
                 test="x.max() > 1")
    compiled = Compiled(fn)
    for call in (1, 3, 2, 4, 0, 0):
        for found, wanted in zip(flat(compiled(values(call))), flat(fn(values(call))),
                                 strict=True):
            np.testing.assert_array_equal(found, wanted)


@finds_loops
def test_what_is_written_before_a_loop_leaves_it_an_operation():
    check(loop_of("x = x * 0.7", "x = a * 1\nx[0] = 0.5\nx.add_(0.1)\nh = x[0].view(-1)[0] * 2"), 3)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_names_of_other_scopes():
    """What a loop assigns may be a global, or a variable of a function around it."""
    text = ("total = None\ndef program(a):\n    global total\n    x, total = a, a * 0\n"
            "    while x.max() > 0.1:\n        x = x * 0.7\n        total = total + x\n"
            "    return look()\ndef look():\n    return total * 2\n")
    check(compile_source(text, "effects_global", SPACE), 8)
    text = ("def program(a):\n    x = a\n    def inner():\n        nonlocal x\n"
            "        while x.max() > 0.1:\n            x = x * 0.7\n    inner()\n"
            "    return x + 1\n")
    check(compile_source(text, "effects_nonlocal", SPACE), 8)


@finds_loops
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("body", [
    "w, x = (first if x.max() > 0.5 else second), x * 0.7", "w, x = first, x * 0.7",
    "w = second if x.max() > 0.5 else x * 1\nx = x * 0.7"])
def test_a_parameter_stays_one(body):
    text = ("def program(a):\n    x, w = a, a\n    while x.max() > 0.1:\n"
            + "".join(f"        {line}\n" for line in body.splitlines())
            + "    return x, w * 1, type(w).__name__\n")
    fn = compile_source(text, f"effects_{abs(hash(text))}", {
        **SPACE, "first": Parameter(np.ones(4, np.float32), name="first"),
        "second": Parameter(np.full(4, 2, np.float32), name="second")})
    compiled = Compiled(fn)
    for call in range(5):
        for a, b in zip(flat(compiled(values(call))), flat(fn(values(call))), strict=True):
            np.testing.assert_array_equal(a, b)


# -- what runs out ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("body", [
    "x = x * next(factors)", "for factor in factors:\n    x = x * factor\n    break",
    "x = x * factors.send(None)"])
def test_each_step_takes_another_element(body):
    text = ("def program(a):\n    x, n = a, 0\n    factors = (0.95 - i / 50 for i in range(40))\n"
            "    while x.max() > 0.1:\n        n += 1\n"
            + "".join(f"        {line}\n" for line in body.splitlines()) + "    return x, n\n")
    check(compile_source(text, f"effects_{abs(hash(text))}", SPACE), 8)


def _long(terms):
    return " + ".join(["h"] * terms)


@finds_loops
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("body", [
    f"x = x / ({_long(300)})", f"x = x / ({_long(940)})",
    f"try:\n    x = x / ({_long(300)})\nexcept ValueError:\n    pass"], ids=range(3))
def test_expressions_that_are_too_deep_to_be_changed(body):
    check(loop_of(body, test="x.max() > 1e-8"), 8)


# -- blocks that record nothing --------------------------------------------------------------------


def settled(x, t):
    """Without a step the value keeps its derivative; with one it has none."""
    with no_grad():
        while t < 3:
            x, t = x * 0.9, t + 1
    return x


TRANSFORMS = {
    "gradient": lambda f: ms.grad(lambda x, t: f(x, t).sum()),
    "tangents": lambda f: lambda x, t: ms.jvp(lambda y: f(y, t), x, x)[1],
    "batched": lambda f: ms.vmap(lambda x, t: f(x, t), (0, None)),
    "gradient of a batch": lambda f: ms.grad(
        lambda x, t: ms.vmap(f, (0, None))(x, t).sum()),
    "batch of gradients": lambda f: ms.vmap(ms.grad(lambda x, t: f(x, t).sum()), (0, None)),
    "tangents of a batch": lambda f: lambda x, t: ms.jvp(
        lambda y: ms.vmap(f, (0, None))(y, t), x, x)[1],
    "second": lambda f: ms.grad(lambda x, t: ms.grad(lambda y: (f(y, t) ** 3).sum())(x).sum())}


@finds_loops
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("factor", [lambda x: x, ops.sin, ops.stop_gradient], ids=range(3))
def test_what_no_step_has_changed_keeps_its_derivative(name, factor):
    def run(x, t):
        return settled(factor(x), t) * ops.cos(x)

    wanted, x = TRANSFORMS[name](run), Tensor(np.arange(1.0, 7).reshape(3, 2) / 4)
    compiled = Compiled(wanted)
    for t in (0, 5, 1, 7, 0, 5):
        np.testing.assert_allclose(compiled(x, Tensor(float(t))).asnumpy(),
                                   wanted(x, Tensor(float(t))).asnumpy(), rtol=1e-6)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_loop_in_what_the_backward_pass_computes_again():
    def part(x):
        while x.max() > 0.3:
            x = ops.sin(x) * 0.7
        return x

    wanted = ms.grad(lambda a: (ms.recompute(part, a) * a).sum())
    compiled = Compiled(wanted)
    for call in range(CALLS):
        np.testing.assert_allclose(compiled(values(call)).asnumpy(),
                                   wanted(values(call)).asnumpy(), rtol=1e-6)
