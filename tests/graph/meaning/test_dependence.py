"""Globals, defaults, closures and attributes that change between calls."""


import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops

from .agreement import X, close

SCALE = 2.0
TABLE = {"k": 1.0, "list": [1.0, 2.0]}


def uses_globals(x):
    return x * SCALE + TABLE["k"] + TABLE["list"][1]


def test_globals_that_change():
    compiled = jit(uses_globals)
    try:
        for scale, k, item in ((2.0, 1.0, 2.0), (3.0, 1.0, 2.0), (3.0, 5.0, 2.0), (3.0, 5.0, 7.0)):
            globals()["SCALE"], TABLE["k"], TABLE["list"][1] = scale, k, item
            close(compiled(X), uses_globals(X))
    finally:
        globals()["SCALE"], TABLE["k"], TABLE["list"][1] = 2.0, 1.0, 2.0


def helper(x, depth=1):
    return x * SCALE * depth


def test_functions_of_python_that_a_program_replaces(monkeypatch):
    pair, own = [1, 2], len
    compiled = jit(lambda x: x * float(len(pair)))
    for factor in (2, 2, 12, 12, 2):
        if factor == 12:
            monkeypatch.setattr("builtins.len", lambda thing: own(thing) + 10 * (thing is pair))
        close(compiled(X), X * factor)
        monkeypatch.undo()


def test_globals_and_defaults_of_functions_that_are_called():
    def outer(x):
        return helper(x) + 1

    compiled = jit(outer)
    try:
        close(compiled(X), outer(X))
        globals()["SCALE"] = 4.0
        close(compiled(X), outer(X))
        helper.__defaults__ = (3,)
        close(compiled(X), outer(X))
    finally:
        globals()["SCALE"] = 2.0
        helper.__defaults__ = (1,)


def test_defaults_and_keyword_defaults_that_change():
    def f(x, factor=2.0, *, bias=1.0):
        return x * factor + bias

    compiled = jit(f)
    close(compiled(X), f(X))
    f.__defaults__ = (5.0,)
    close(compiled(X), f(X))
    f.__kwdefaults__ = {"bias": 3.0}
    close(compiled(X), f(X))


def test_closures_that_change():
    factor, table, nested = 2.0, [1.0], {"a": {"b": 1.0}}
    weight = Tensor([1.0, 1.0, 1.0])

    def f(x):
        return x * factor + table[0] + nested["a"]["b"] * weight + len(table)

    compiled = jit(f)
    close(compiled(X), f(X))
    factor = 3.0
    close(compiled(X), f(X))
    table[0] = 5.0
    close(compiled(X), f(X))
    table.append(1.0)
    close(compiled(X), f(X))
    nested["a"]["b"] = 4.0
    close(compiled(X), f(X))
    weight = Tensor([2.0, 2.0, 2.0])
    close(compiled(X), f(X))
    weight[0] = 100.0
    close(compiled(X), f(X))


class Settings:
    factor = 2.0

    def __init__(self):
        self.bias = 1.0
        self.items = [1.0, 2.0]
        self.inner = {"scale": Tensor([1.0, 2.0, 3.0])}


class Configured(nn.Cell):
    def __init__(self):
        super().__init__()
        self.factor, self.flag, self._hidden = 2.0, True, 1.0
        self.sizes, self.table, self.names = [1, 2], {"a": 1.0}, {"x"}
        self.settings = Settings()
        self.held = Tensor([1.0, 2.0, 3.0])
        self.layers = nn.CellList([nn.Dense(3, 3, weight_init="ones")])
        self.act = nn.ReLU()
        self.function = ops.relu

    def construct(self, x):
        out = x * self.factor * self._hidden + self.sizes[0] + self.table["a"] + len(self.names)
        out = out * self.settings.factor + self.settings.bias + self.settings.items[-1]
        out = self.function(out) * self.held + self.settings.inner["scale"]
        for layer in self.layers:
            out = layer(out.reshape(1, 3))
        out = self.act(out)
        return out if self.flag else -out


def change(path, value):
    def apply(net):
        *way, last = path
        target = net
        for step in way:
            target = target[step] if isinstance(step, int) or isinstance(target, dict) else (
                getattr(target, step))
        if isinstance(target, (list, dict)):
            target[last] = value() if callable(value) else value
        else:
            setattr(target, last, value() if callable(value) else value)
    return apply


@pytest.mark.parametrize("apply", [
    change(["factor"], 3.0), change(["flag"], False), change(["_hidden"], 4.0),
    change(["sizes", 0], 9), change(["table", "a"], 9.0), change(["settings", "bias"], 9.0),
    change(["settings", "items", 1], 9.0), change(["settings", "factor"], 9.0),
    change(["held"], lambda: Tensor([4.0, 5.0, 6.0])),
    change(["settings", "inner", "scale"], lambda: Tensor([4.0, 5.0, 6.0])),
    change(["act"], nn.Tanh), change(["function"], lambda: ops.tanh),
    change(["settings"], Settings), lambda net: net.names.add("y"),
    lambda net: net.sizes.insert(0, 5), lambda net: net.layers.append(nn.Dense(3, 3)),
    lambda net: net.layers.__setitem__(0, nn.Dense(3, 3, weight_init="zeros")),
    lambda net: net.settings.items.append(8.0), lambda net: net.table.update(a=5.0),
    lambda net: net.held.add_(1.0), lambda net: setattr(Settings, "factor", 7.0),
    lambda net: net.layers[0].weight.set_data(Tensor(np.full((3, 3), 0.5), ms.float32)),
    lambda net: net.act.register_forward_hook(lambda cell, inputs, out: out * 5),
    lambda net: net.to_float(ms.float16),
], ids=[f"change{n}" for n in range(24)])
def test_attributes_that_change(apply):
    net = Configured()
    compiled = jit(net)
    x = X + 3
    try:
        for _ in range(2):
            close(compiled(x), net(x))
        apply(net)
        for _ in range(2):
            close(compiled(x), net(x))
    finally:
        Settings.factor = 2.0


def test_modes_and_requires_grad():
    net = nn.SequentialCell(nn.Dense(3, 3, weight_init="ones"), nn.Dropout(p=0.5))
    weights = net.trainable_params()
    gradient = ms.grad(lambda x: net(x).sum(), None, weights)
    compiled = jit(gradient)
    x = X.reshape(1, 3)
    for train in (False, True, False, True):
        net.set_train(train)
        for _ in range(2):
            ms.set_seed(1)
            want = gradient(x)
            ms.set_seed(1)
            close(compiled(x), want)
    net.set_train(False)
    for flag in (False, True, False):
        weights[0].requires_grad = flag
        close(compiled(x)[1], gradient(x)[1])


def test_data_of_another_type():
    net = nn.Dense(3, 2, weight_init="ones")
    compiled = jit(net)
    x = X.reshape(1, 3)
    for kind in (ms.float32, ms.float64, ms.float32):
        net.to(kind)
        close(compiled(x.astype(kind)), net(x.astype(kind)))
    w = Parameter(Tensor([1.0, 2.0]), name="w")
    f = jit(lambda: w * 2)
    for shape in ((2,), (3,), (2,)):
        w.set_data(ops.ones(shape), slice_shape=True)
        close(f(), w * 2)
