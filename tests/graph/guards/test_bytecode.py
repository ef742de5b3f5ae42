"""What functions' bytecode says, and functions that reach too many others."""

import gc
import importlib
import sys
import types

import pytest

import lamella as ms
from lamella.graph.guards import bytecode, search
from lamella.graph.guards.bytecode import facts_of


def test_names_operators_imports_and_globals_are_read_once():
    def f(x):
        import json

        total = 0

        def add(y):
            nonlocal total
            total += y
            return json.dumps(total) if y is not x else elsewhere  # noqa: F821

        try:
            x @= add(x.step) * 2
        except ValueError:
            pass
        return x

    facts = facts_of(f.__code__)
    assert facts is facts_of(f.__code__)
    assert {"json", "dumps", "step", "elsewhere", "ValueError"} <= facts.names
    assert {"__matmul__", "__mul__", "__add__"} <= facts.methods
    assert facts.globals == {"elsewhere", "ValueError"}
    assert facts.imports == {"json"}
    assert facts.identities and facts.handles
    assert facts.assigns


def test_code_without_any_of_these():
    def f(x):
        with open(x):
            return x is None

    facts = facts_of(f.__code__)
    assert not (facts.identities or facts.handles or facts.assigns or facts.imports)
    assert facts.globals == {"open"}


def test_names_of_globals_are_all_names_where_they_may_be_computed():
    def f(x):
        return globals()["step"] + x.size

    assert {"step", "size"} <= facts_of(f.__code__).globals


def test_facts_keep_no_code():
    space = {}
    exec("def f(x): return x", space)
    code = space.pop("f").__code__
    facts_of(code)
    before = len(bytecode._known)
    del code
    gc.collect()
    assert len(bytecode._known) < before


@pytest.fixture
def library(tmp_path, monkeypatch):
    """An installed package whose one class reaches some hundred functions."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "large_library.py").write_text("\n".join((
        *(f"def f{i}(x): return f{i + 1}(x)" for i in range(150)), "f150 = len",
        "step = 2", "def double(x): return helper(x)", "def helper(x): return x * step",
        "class Scaler:", "    factor = 3.0", "    def fit(self): return f0(self)",
        "    def scale(self, x): return double(x) * self.factor")))
    monkeypatch.syspath_prepend(str(folder))
    import large_library
    yield large_library
    del sys.modules["large_library"]


def test_functions_of_a_large_library_count_once_they_ran(library, monkeypatch):
    monkeypatch.setattr(search, "MANY_FUNCTIONS", 50)
    monkeypatch.setattr(search, "MOST_FUNCTIONS", 60)
    scaler = library.Scaler()

    @ms.jit
    def f(x):
        if x.shape == (0,):
            scaler.fit()
        return scaler.scale(x)

    x = ms.Tensor([1.0, 2.0])
    for _ in range(3):
        assert f(x).asnumpy().tolist() == [6, 12]
    library.step = 5  # a global that only functions of the library read
    for _ in range(3):
        assert f(x).asnumpy().tolist() == [15, 30]
    scaler.factor = 1.0
    assert f(x).asnumpy().tolist() == [5, 10]
    library.helper = lambda x: x
    assert f(x).asnumpy().tolist() == [1, 2]


def test_a_function_that_reaches_too_many_others_runs_eagerly_and_says_why(monkeypatch):
    monkeypatch.setattr(search, "MANY_FUNCTIONS", 40)
    monkeypatch.setattr(search, "MOST_FUNCTIONS", 50)
    space = {"table": []}
    exec("\n".join(f"def f{i}(x): return x + {i}\ntable.append(f{i})" for i in range(60)), space)
    table = space["table"]

    @ms.jit
    def f(x, which):
        return table[which](x)

    with pytest.warns(UserWarning, match="eagerly: it can reach more than 50 functions"):
        assert f(ms.Tensor([1.0]), 3).asnumpy() == [4]
    for which in (3, 4):
        assert f(ms.Tensor([1.0]), which).asnumpy() == [1 + which]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package whose functions import from each other when they run."""
    folder = tmp_path / "imports_when_called"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "inner" / "__init__.py").write_text("")
    (folder / "scales.py").write_text("FACTOR = 2.0\ndef scaled(x):\n    return x * FACTOR\n")
    (folder / "inner" / "steps.py").write_text(
        "def near(x):\n    from ..scales import scaled\n    return scaled(x)\n"
        "def whole(x):\n    from .. import scales\n    return scales.scaled(x)\n"
        "def other(x):\n    import json\n    return x * json.loads('2.0')\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.startswith(folder.name)]:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["near", "whole"])
def test_relative_imports_inside_of_a_function(package, name):
    scales = importlib.import_module("imports_when_called.scales")
    step = ms.jit(getattr(importlib.import_module("imports_when_called.inner.steps"), name))
    for _ in range(3):
        assert step(ms.Tensor(3.0)) == 6
        sys.modules["imports_when_called.another"] = types.ModuleType("another")  # by any thread
    assert step.report()["traces"] == 1
    scales.FACTOR = 3.0
    assert step(ms.Tensor(3.0)) == 9


def test_another_module_is_imported_meanwhile(package):
    step = ms.jit(importlib.import_module("imports_when_called.inner.steps").other)
    for number in range(3):
        assert step(ms.Tensor(3.0)) == 6
        sys.modules[f"imports_when_called.another{number}"] = types.ModuleType("another")
    assert step.report()["traces"] == 1
