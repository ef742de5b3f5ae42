"""Programs that have the module `builtins`: `print`, which recordings replace, stays Python's."""

from __future__ import annotations

import builtins

import lamella as ms
from lamella import Tensor


def show(value):
    print("seen", value)


def doubled(x, verbose):
    if verbose:
        show(1)
    return x * builtins.max(1, 2)


def shown_and_doubled(x, verbose):
    if verbose:
        print("seen", 1)
    return x * 2


def test_print_stays_pythons_own(capsys):
    compiled, before = ms.jit(doubled), builtins.print
    for number in range(6):
        for verbose in (False, True):
            assert compiled(Tensor([float(number)]), verbose).asnumpy().tolist() == [2 * number]
            assert builtins.print is before
    assert capsys.readouterr().out == "seen 1\n" * 6


def test_print_by_its_module_is_recorded(capsys):
    compiled = ms.jit(lambda x: builtins.print("now", x) or x + 1)
    for number in range(4):
        compiled(Tensor(number))
    assert capsys.readouterr().out == "".join(f"now {number}\n" for number in range(4))


def test_a_print_that_the_program_replaces_is_seen(capsys, monkeypatch):
    for compiled in (ms.jit(doubled), ms.jit(shown_and_doubled)):
        for _ in range(3):
            compiled(Tensor([1.0]), True)
        said = []
        monkeypatch.setattr(builtins, "print", lambda *args, said=said: said.append(args))
        for _ in range(6):
            compiled(Tensor([1.0]), True)
        monkeypatch.undo()
        compiled(Tensor([1.0]), True)
        assert said == [("seen", 1)] * 6
        assert capsys.readouterr().out == "seen 1\n" * 4
