"""Whether a number that is read off a Tensor becomes part of what a function returns."""

import ast
import itertools
import math
import sys
import textwrap
import types

import pytest

from lamella.core import flow


class Value:
    """Stands for a Tensor: `item` asks what becomes of the number that it gives."""

    shape = (2, 3)
    answers: list = []  # noqa: RUF012

    def item(self):
        self.answers.append(flow.comes_back(sys._getframe(1), lambda v: isinstance(v, Value)))
        return 2.0

    def mul(self, other):
        return self

    __mul__ = __rmul__ = __add__ = __radd__ = __getitem__ = mul

    def asnumpy(self):
        return 1.0


class Holder:
    """An object with attributes, and perhaps Parameters."""

    def __init__(self, **values):
        self.__dict__.update(values)


class Layer(Holder):
    """As a Cell: attributes that are Parameters are kept apart."""

    def __getattr__(self, name):
        return self.__dict__["_params"][name]


class Ops:
    """Functions in a room."""

    @staticmethod
    def mul(a, b):
        return a


class Arrays:
    """As NumPy."""

    multiply = staticmethod(lambda a, b: a)
    sin = staticmethod(math.sin)


NUMBER = itertools.count()
COMES_BACK = [
    "return x.item() * y", "s = x.item()\nreturn s * y",
    "parts = []\nparts.append(x.item())\nparts.append(y)\nreturn parts",
    "z = y\nfor s in [x.item()]:\n    z = z * s\nreturn z", "a, b = x.item(), y\nreturn a * b",
    "a, b = (x.item(), 3.0)\nreturn a * y", "[a, (b, c)] = [1, (x.item(), 2)]\nreturn b * y",
    "return make(x.item())", "return x.item() * y, 3", "return np.sin(x.item()) * y",
    "return ops.mul(x.item(), 2)", "return y.mul(x.item())", "return [y * s for s in [x.item()]]",
    "h = Holder()\nh.a = x.item()\nreturn h.a * y", "d = {}\nd['k'] = x.item()\nreturn d['k'] * y",
    "(s := x.item())\nreturn s * y", "s: float = x.item()\nreturn s * y",
    "s = 1.0\ns += x.item()\nreturn s * y", "return (lambda v: v * y)(x.item())",
    "f = lambda: x.item() * y\nreturn f()", "def f():\n    return x.item() * y\nreturn f()",
    "return held.w * x.item()", "return layer.w * x.item()", "return -x.item() * y",
    "return [s.item() for s in [x]][0] * y", "return [s.item() for s in [x]][0] * far",
    "return abs(x.item()) * y",
    "return (y if x.shape else 1) * x.item()", "*a, b = [x.item(), 2.0]\nreturn a[0] * y",
    "r = 0\nq = r\nr = x.item()\nreturn q * y", "return y * x.item() if y.shape else 0",
    "return 0 if not y.shape else y * x.item()", "a, *b = pair(x.item())\nreturn a * y"]
STAYS = [
    "return x.item()", "a, b = x.item(), y\nreturn b", "a = x.item()\nreturn y if a > 0 else y",
    "return (x.item() > 0) * y", "return float(x.item())", "return y, x.item()",
    "return 3, x.item() * y", "return len([x.item() * y])", "return y.shape[0] * x.item()",
    "return np.multiply(x.item(), y)", "return y.asnumpy() * x.item()", "return not x.item() * y",
    "return y[x.item()]", "return (lambda v: v)(x.item())", "return sum([x.item() * 2])",
    "return list(y * s for s in (x.item(),))", "return f'{x.item()}', y",
    "print(x.item())\nreturn y",
    "x.item() * y", "s = x.item()\nreturn", "return held.n * x.item()",
    "return len(str(x.item())) * y",
    "return [s.item() for s in [x]][0] * 3.0", "s = x.item()\ndef f():\n    return s\nreturn y",
    "return max(x.item(), 1.0)", "s = x.item()\nreturn y * y.shape[0]",
    "s = x.item()\nreturn (not s) * y", "s = x.item()\nreturn held.n * y"]


@pytest.mark.parametrize("body, want", [(b, True) for b in COMES_BACK] + [
    (b, False) for b in STAYS])
def test_what_becomes_of_a_number(body, want, tmp_path, capsys):
    file = tmp_path / f"program_{next(NUMBER)}.py"
    file.write_text("def function(x, y):\n" + textwrap.indent(body, "    ") + "\n")
    names = {"Value": Value, "Holder": Holder, "ops": Ops, "np": Arrays, "far": Value(),
             "held": Holder(w=Value(), n=3), "layer": Layer(_params={"w": Value()}),
             "make": lambda number: number, "pair": lambda number: (number, number)}
    exec(compile(file.read_text(), str(file), "exec"), names)
    Value.answers.clear()
    names["function"](Value(), Value())
    assert Value.answers == [want]


def test_without_source_nothing_is_known():
    Value.answers.clear()
    for source in ("def f(x, y):\n    return x.item() * y\n", "f = lambda x, y: x.item() * y\n"):
        names = {}
        exec(compile(source, "<nowhere>", "exec"), names)
        names["f"](Value(), Value())
    assert Value.answers == [False, False]
    assert flow._module("") is flow._module("def f(:") is None


def test_which_of_two_reads_in_a_line(tmp_path):
    file = tmp_path / "program.py"
    file.write_text("def f(x, y):\n    a, b = x.item(), x.item()\n    return b * y\n")
    names = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    Value.answers.clear()
    names["f"](Value(), Value())
    assert Value.answers == [False, True]


@pytest.mark.parametrize("line, found", [(2, "x.item()"), (3, "float(s)"), (4, None), (5, None),
                                         (6, "complex(s)")])
def test_where_python_knows_only_the_line(line, found, tmp_path):
    """As Python 3.10 does."""
    file = tmp_path / "program.py"
    file.write_text("def f(x):\n    s = abs(x.item())\n    s = abs(float(s))\n    s = abs(s)\n"
                    "    s = x.mean()\n    return complex(s)\n")
    frame = types.SimpleNamespace(f_code=types.SimpleNamespace(co_filename=str(file)),
                                  f_globals={}, f_lineno=line)
    reading = flow._reading(frame)
    if found is None:
        assert reading is None
    else:
        function, node = reading
        assert function.name == "f" and ast.unparse(node) == found
