"""What functions' bytecode says, and functions that reach too many others."""

import gc

import pytest

import lamella as ms
from lamella.graph.guards import bytecode, reach
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


def test_a_function_that_reaches_too_many_others_runs_eagerly_and_says_why(monkeypatch):
    monkeypatch.setattr(reach, "MOST_FUNCTIONS", 50)
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
