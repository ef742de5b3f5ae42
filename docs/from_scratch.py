"""Lamella's differentiation core from scratch, in NumPy, as a program to read from top to bottom.

    python docs/from_scratch.py

Lamella records on PyTorch's tape. Here we write a tape of our own, forty lines of it, so that
nothing is hidden, and then the five ideas that `lamella.autodiff` adds to a tape:

1. a gradient call replaces its inputs by *aliases*, and records only what is computed from those;
2. a gradient call inside another makes its aliases *views* that stay connected: any order follows;
3. Parameters are found through an *overlay* of the running gradient call;
4. a rule of the user's (`bprop`) is one node on the tape, whose own operations can be recorded
again;
5. a function in the backward pass (`InsertGradientOf`) is an identity with a hook.

Each part ends with assertions; the program prints one line when all of them hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# ----------------------------------------------------------------------------------------------
# Part 0. A tape.
#
# An Array holds a NumPy array. If it was computed from something a gradient is wanted for, it also
# holds a node: the Arrays it was computed from, and a function that takes the gradient of the
# output and gives the gradients of those inputs. That function computes on Arrays, not on NumPy
# arrays. So if the gradient is an Array with a node, the backward pass is itself recorded. That is
# all there is to higher derivatives.
# ----------------------------------------------------------------------------------------------


class Array:
    """A NumPy array that may remember how it was computed."""

    def __init__(self, value: Any, inputs: tuple = (), backward: Callable | None = None):
        self.value = np.asarray(value, np.float64)
        self.inputs = inputs
        self.backward = backward  # None: no gradient flows through this
        self.leaf = False

    @property
    def wanted(self) -> bool:
        """Whether a gradient flows to or through this Array."""
        return self.leaf or self.backward is not None

    def __add__(self, other):
        return add(self, as_array(other))

    def __mul__(self, other):
        return mul(self, as_array(other))

    def __pow__(self, power):
        return power_of(self, power)

    __radd__, __rmul__ = __add__, __mul__


def as_array(x: Any) -> Array:
    if isinstance(x, Parameter):
        return x.look_up()
    return x if isinstance(x, Array) else Array(x)


def record(value: Any, inputs: tuple[Array, ...], backward: Callable) -> Array:
    """An Array with a node, if one of its inputs is wanted; else just the value."""
    if any(i.wanted for i in inputs):
        return Array(value, inputs, backward)
    return Array(value)


def unbroadcast(gradient: Array, like: Array) -> Array:
    """Sum a gradient over the dimensions along which `like` was repeated (scalars only, here)."""
    if gradient.value.shape == like.value.shape:
        return gradient
    return total(gradient)


def add(a: Array, b: Array) -> Array:
    return record(a.value + b.value, (a, b), lambda g: (unbroadcast(g, a), unbroadcast(g, b)))


def mul(a: Array, b: Array) -> Array:
    return record(a.value * b.value, (a, b),
                  lambda g: (unbroadcast(g * b, a), unbroadcast(g * a, b)))


def power_of(a: Array, n: float) -> Array:
    return record(a.value**n, (a,), lambda g: (g * n * a ** (n - 1),))


def sin(a: Any) -> Array:
    a = as_array(a)
    return record(np.sin(a.value), (a,), lambda g: (g * cos(a),))


def cos(a: Any) -> Array:
    a = as_array(a)
    return record(np.cos(a.value), (a,), lambda g: (g * sin(a) * -1.0,))


def total(a: Array) -> Array:
    return record(a.value.sum(), (a,), lambda g: (g * np.ones_like(a.value),))


def backward_pass(output: Array, wanted: list[Array]) -> list[Array]:
    """The gradients of the sum of `output` by each Array of `wanted`.

    Nodes are visited so that each comes after everything computed from it: in the reverse of the
    order in which a depth-first walk finishes them.
    """
    order: list[Array] = []
    seen: set[int] = set()

    def visit(array: Array) -> None:
        if id(array) in seen or not array.wanted:
            return
        seen.add(id(array))
        for i in array.inputs:
            visit(i)
        order.append(array)

    visit(output)
    gradients: dict[int, Array] = {id(output): Array(np.ones_like(output.value))}
    for array in reversed(order):
        gradient = gradients.get(id(array))
        if array.backward is None or gradient is None:
            continue
        for i, g in zip(array.inputs, array.backward(gradient), strict=True):
            if i.wanted:
                gradients[id(i)] = gradients[id(i)] + g if id(i) in gradients else g
    return [gradients.get(id(w), Array(np.zeros_like(w.value))) for w in wanted]


# ----------------------------------------------------------------------------------------------
# Parts 1 to 3. `grad`: aliases, nesting, and the overlay.
#
# `grad(fn)` must not record anything that was not asked for. So the input itself is never marked:
# `fn` gets an *alias*, a new Array of the same value, and the alias is the leaf. Whatever `fn`
# reads from elsewhere is not marked, and operations on it alone cost nothing.
#
# Is there a gradient call around this one, and is the input connected to it? Then the alias must
# not cut that connection: it is a view, an identity with a node. The backward pass gives its
# gradient like that of any other Array, and the outer call can go on through it.
#
# A Parameter is an object that `fn` reaches by itself, through a closure or a network, so it can't
# be handed in as an alias. Instead it looks itself up: the running gradient call keeps, by
# identity, the aliases of the Parameters it was asked for. When the call is over the overlay is
# gone, and the Parameter was never touched. (In Lamella the overlay belongs to a thread.)
# ----------------------------------------------------------------------------------------------

overlay: dict[int, Array] = {}  # of the innermost gradient call, its outer ones' included
depth = 0


class Parameter:
    """Data that a network owns; never marked itself."""

    def __init__(self, value: Any):
        self.data = np.asarray(value, np.float64)

    def look_up(self) -> Array:
        return overlay.get(id(self), Array(self.data))

    def __mul__(self, other):
        return as_array(self) * other

    __rmul__ = __mul__


def alias(array: Array) -> Array:
    """A stand-in for an input: a leaf, or a view of what an outer gradient call is connected to."""
    if array.wanted:
        return Array(array.value, (array,), lambda g: (g,))
    leaf = Array(array.value)
    leaf.leaf = True
    return leaf


def grad(fn: Callable, position: int | None = 0, weights: tuple[Parameter, ...] = ()) -> Callable:
    """The function that computes the gradient of `fn` by one input, by Parameters, or by both."""

    def gradient(*args: Any) -> Any:
        global overlay, depth
        before = overlay
        given = [as_array(a) for a in args]
        aliases = []
        if position is not None:
            given[position] = alias(given[position])
            aliases.append(given[position])
        inner = dict(before)
        for weight in weights:
            inner[id(weight)] = alias(as_array(weight))
            aliases.append(inner[id(weight)])
        overlay, depth = inner, depth + 1
        try:
            output = as_array(fn(*given))
        finally:  # nothing is left behind, also when fn raises
            overlay, depth = before, depth - 1
        found = backward_pass(output, aliases)
        if depth == 0:  # the outermost call: its result is not differentiated again
            found = [Array(f.value) for f in found]
        return found[0] if len(found) == 1 else tuple(found)

    return gradient


def check_parts_1_to_3() -> None:
    x = Array([0.5, 2.0])
    close(grad(lambda x: x * x * x)(x), 3 * x.value**2)
    close(grad(grad(lambda x: x * x * x))(x), 6 * x.value)
    close(grad(grad(grad(sin)))(x), -np.cos(x.value))
    assert not x.wanted  # the user's Array was never marked

    w = Parameter([2.0, 3.0])
    close(grad(lambda x: w * x * w, None, (w,))(x), 2 * w.data * x.value)
    by_x, by_w = grad(lambda x: sin(x) * w, 0, (w,))(x)
    close(by_x, np.cos(x.value) * w.data)
    close(by_w, np.sin(x.value))
    # d/dw of d/dx (w x)^2 = 4 w x: the inner alias of w is a view of the outer one
    close(grad(lambda x: grad(lambda v: (w * v) ** 2)(x), None, (w,))(x), 4 * w.data * x.value)
    assert overlay == {} and depth == 0


# ----------------------------------------------------------------------------------------------
# Part 4. A rule of the user's.
#
# `Cell.bprop` says what the gradient of `construct` is. So `construct` runs on the bare values,
# where nothing is recorded, and its result becomes *one* node whose backward function is the rule.
# The rule is called with the connected inputs and output. What it computes from them is recorded
# whenever someone differentiates the gradient, because the gradient itself is an Array: second
# order goes through the operations inside the rule, not through those of `construct`.
# ----------------------------------------------------------------------------------------------


def with_rule(construct: Callable, bprop: Callable) -> Callable:
    """A function whose backward pass is ``bprop(*inputs, out, dout)``."""

    def call(*args: Any) -> Array:
        inputs = tuple(as_array(a) for a in args)
        value = construct(*(Array(i.value) for i in inputs)).value

        def backward(dout: Array) -> tuple:
            found = bprop(*inputs, out, dout)
            return found if isinstance(found, tuple) else (found,)

        out = record(value, inputs, backward)
        return out

    return call


def check_part_4() -> None:
    x = Array([0.5, -2.0])
    # a spike: the step function, with the slope of a smooth one to learn by
    spike = with_rule(lambda x: Array(x.value > 0), lambda x, out, dout: dout * (x * x + 1.0) ** -1)
    close(spike(x), [1.0, 0.0])
    close(grad(spike)(x), 1 / (1 + x.value**2))
    close(grad(grad(spike))(x), -2 * x.value / (1 + x.value**2) ** 2)


# ----------------------------------------------------------------------------------------------
# Part 5. A function in the backward pass.
#
# `InsertGradientOf(f)` leaves the value alone and passes the gradient through `f`. It is an
# identity with a node. `f` gets the gradient as it is, a value: it may branch on it, print it,
# replace it.
# ----------------------------------------------------------------------------------------------


def insert_gradient_of(f: Callable[[Array], Any]) -> Callable[[Any], Array]:
    """An identity whose gradient passes through `f`."""

    def identity(x: Any) -> Array:
        x = as_array(x)
        return record(x.value, (x,), lambda g: (as_array(f(g)) * np.ones_like(x.value),))

    return identity


def check_part_5() -> None:
    x = Array([3.0, 0.01])
    clip = insert_gradient_of(lambda g: Array(np.clip(g.value, -1.0, 1.0)))
    close(clip(x) ** 2, x.value**2)
    close(grad(lambda x: clip(x) ** 2)(x), [1.0, 0.02])
    hundred = insert_gradient_of(lambda g: 100.0)
    close(grad(lambda x: hundred(x) ** 2)(x), [100.0, 100.0])


# ----------------------------------------------------------------------------------------------
# The same in Lamella: `grad` is `lamella.autodiff.reverse`, the overlay `lamella.autodiff.level`
# and `lamella.tensors.parameter`, rules `lamella.autodiff.custom`, hooks `lamella.autodiff.hooks`. Where
# the package is installed, its answers are compared with ours.
# ----------------------------------------------------------------------------------------------


def check_against_lamella() -> None:
    import lamella as ms

    x, w = np.array([0.5, 2.0]), np.array([2.0, 3.0])
    ours_w, theirs_w = Parameter(w), ms.Parameter(ms.Tensor(w), name="w")
    ours = grad(lambda x: grad(lambda v: sin(ours_w * v) ** 3)(x), None, (ours_w,))(Array(x))
    theirs = ms.grad(lambda x: ms.grad(lambda v: ms.ops.sin(theirs_w * v) ** 3)(x), None,
                     theirs_w)(ms.Tensor(x))
    close(ours, theirs.asnumpy())


def close(got: Array, want: Any) -> None:
    np.testing.assert_allclose(got.value, want, rtol=1e-12, atol=1e-14)


if __name__ == "__main__":
    check_parts_1_to_3()
    check_part_4()
    check_part_5()
    check_against_lamella()
    print("The differentiation core from scratch: all parts hold.")
