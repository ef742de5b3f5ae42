"""Errors that nobody catches end at the user's line, and say in which layer they arose."""

from __future__ import annotations

import os
import re
import sys
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.core import tracebacks

from ..zygote import run as python

PROGRAM = "program.py"  # where the calls seem to stand
ROOT = Path(ms.__file__).parents[1]


class Net(nn.Cell):
    """Its second decoder takes 7 features and gets 8."""

    def __init__(self) -> None:
        super().__init__()
        self.enc = nn.Dense(4, 3)
        self.dec = nn.SequentialCell(nn.Dense(3, 8), nn.Dense(7, 2))

    def construct(self, x: Tensor) -> Tensor:
        return self.dec(self.enc(x))


CALLS = """
ops.matmul(x, x)
x @ x
x + ops.ones(5)
x + 'a'
ops.add(x, None)
ops.add(x)
ops.add(x, x, x, x)
ops.relu('a')
ops.softmax(x, axis=7)
ops.reshape(x, (-1, -1))
x.reshape(5, 5)
x.reshape('a')
x.view(9)
x.sum(axis=4)
x.max(axis='a')
x.nothing
x.astype('nothing')
x[7]
x['a']
x[1, 2, 3, 4]
x[0] = 'a'
x[0] = ops.ones(9)
x.item()
bool(x)
int(x)
len(Tensor(1))
list(Tensor(1))
Tensor('nothing', ms.float32)
Tensor([[1], [1, 2]])
Tensor([2**70], ms.int32)
Tensor({})
ops.concat([x, ops.ones((2, 2, 2))])
ops.concat(3)
ops.concat([])
ops.stack([x, ops.ones(3)])
ops.split(x, 0)
ops.gather(x, Tensor([9]), 0)
ops.gather(x, x, 0)
ops.one_hot(x, 3, 1, 0)
ops.topk(x, 9)
ops.conv2d(x, x)
ops.interpolate(x, 3)
ops.cross_entropy(x, Tensor([9, 9]))
ops.nll_loss(x, Tensor([9, 9]))
ops.expand_dims(x, 9)
ops.tile(x, 'a')
ops.pad(x, (1, 2, 3))
ops.where(1, 2, 3)
ops.arange('a')
ops.zeros('a')
ops.zeros(-1)
ops.eye(-1)
ops.full(3, 'a')
ops.clip_by_value(x)
ops.einsum('ij,jk', x, x)
ops.norm(x, 'a')
ops.inverse(ops.zeros((2, 2)))
ops.svd(ops.ones(3))
ops.ReduceSum()(x, 9)
ops.Concat(9)([x, x])
ops.Cast()(x, 'nothing')
ops.Softmax('a')
nn.Dense(3, 2)(x)
nn.Dense('a', 2)
nn.Dense(0, 2)
nn.Dense(3)
nn.Conv2d(3, 8, 3)(ops.ones((1, 8, 8, 3)))
nn.Conv2d(3, 8)
nn.BatchNorm2d(3)(ops.ones((1, 4, 8, 8)))
nn.LSTM(3, 4)(x)
nn.Embedding(3, 4)(Tensor([9]))
nn.Dropout(p=2.0)
nn.MaxPool2d(9)(ops.ones((1, 1, 2, 2)))
nn.LayerNorm((3,))(x)
nn.SequentialCell(nn.Dense(4, 3), nn.Dense(4, 3))(x)
nn.SequentialCell(3)
nn.CellList([3])
nn.Adam(3)
nn.Adam([])
nn.Adam(Net().trainable_params(), lr=0.1)
nn.SGD(Net().trainable_params(), 'a')
nn.MSELoss()(x, ops.ones(9))
nn.MSELoss('nothing')
nn.CrossEntropyLoss()(x, x[0])
nn.Cell()(x)
Net()(x)
ms.grad(Net())(x)
ms.value_and_grad(Net(), None, Net().trainable_params())(x)
ms.grad(3)
ms.grad(ops.sum, 9)(x)
ms.vmap(ops.sum)('a')
ms.jvp(Net(), x, x)
ms.jacrev(Net())(x)
ms.jit(3)
ms.jit(Net())(x)
ms.jit(lambda x: x.nothing)(x)
ms.nothing
nn.nothing
ops.nothing
ms.Parameter('a')
ms.Model(Net(), nn.MSELoss(), nn.Adam(Net().trainable_params())).train(1, 3)
ms.load_checkpoint('nothing.ckpt')
ms.load_param_into_net(3, {})
ms.save_checkpoint(3, 'nothing.ckpt')
ms.dataset.GeneratorDataset(3, ['a'])
ms.dataset.NumpySlicesDataset([1, 2], ['a', 'b', 'c'])
ms.dataset.NumpySlicesDataset([1, 2]).batch(0)
ms.set_context(mode=7)
ms.set_context(nothing=7)
ms.set_device('nothing')
ms.set_seed(-1)
ms.numpy.zeros('a')
ms.mint.matmul(x, x)
ms.mint.nn.Linear(3)(x)
np.mean(x, nothing=3)
""".strip().splitlines()


def shown(error: BaseException, capsys: Any) -> str:
    capsys.readouterr()
    show = tracebacks._hook(sys.__excepthook__)  # tests of other libraries may have set theirs
    show(type(error), error, error.__traceback__)
    return capsys.readouterr().err


def raised_by(code: str) -> BaseException:
    names = {"ms": ms, "nn": nn, "ops": ops, "np": np, "Tensor": Tensor, "Net": Net,
             "x": ops.ones((2, 4))}
    try:
        exec(compile(code, PROGRAM, "exec"), names)
    except Exception as error:  # noqa: BLE001
        return error
    raise AssertionError(f"{code} raises nothing")


def files(text: str) -> list[str]:
    return re.findall(r'^  File "(.*?)", line', text, re.MULTILINE)


def test_whose_code_a_file_holds() -> None:
    files = [ms.__file__, torch.__file__, np.__file__, os.__file__, "<string>", pytest.__file__,
             __file__, "<stdin>"]
    assert [*map(tracebacks.origin, files)] == ["lamella", "torch", *["other"] * 3, *["user"] * 3]


@pytest.mark.parametrize("form", ["{}", "ms.jit(lambda: {})()", "ms.jit(ms.grad(lambda y: {}))(x)"],
                         ids=["eager", "compiled", "compiled gradient"])
def test_wrong_calls_end_at_the_users_line(form: str, capsys: Any) -> None:
    users = {PROGRAM, __file__}
    for call in CALLS:
        if " = " in call and form != "{}":
            continue
        error = raised_by(form.format(call))
        found = files(shown(error, capsys))
        assert found[-1] in users and set(found) <= users, (call, found)


def test_only_the_explanation_is_shown_and_the_cause_is_kept(capsys: Any) -> None:
    error = raised_by("ops.matmul(x, x)")
    text = shown(error, capsys)
    assert text.count("Traceback") == 1 and "mat1" not in text
    assert "For 'matmul'" in text.splitlines()[-1]
    assert "mat1" in str(error.__cause__)
    trace, count = error.__traceback__, 0
    while trace is not None:
        trace, count = trace.tb_next, count + 1
    assert count > 2  # a debugger sees everything


def test_errors_of_the_users_own_stay_in_the_chain(capsys: Any) -> None:
    for code, words in (("ops.matmul(x, x)", "During handling"),
                        ("raise ValueError('second') from first", "direct cause")):
        error = raised_by(f"try:\n    1 / 0\nexcept ZeroDivisionError as first:\n    {code}\n")
        text = shown(error, capsys)
        assert "ZeroDivisionError" in text and words in text and "mat1" not in text
    text = shown(raised_by("try:\n    ops.matmul(x, x)\nexcept ValueError:\n    1 / 0\n"), capsys)
    assert "For 'matmul'" in text and "ZeroDivisionError" in text and "mat1" not in text


def test_errors_that_lamella_has_no_part_in_are_pythons(capsys: Any) -> None:
    import json
    import traceback

    try:
        json.loads("{")
    except ValueError as error:
        assert shown(error, capsys) == "".join(traceback.format_exception(error))


def test_a_variable_shows_everything(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMELLA_TRACEBACK", "full")
    text = shown(raised_by("ops.matmul(x, x)"), capsys)
    assert "mat1" in text and "errors.py" in text


def test_a_failure_inside_of_lamella_says_how_to_see_more(
        capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracebacks, "origin", lambda file: "lamella" if file == "inner" else "user")
    names: dict[str, Any] = {}
    exec(compile("def fail():\n    return {}[1]\n", "inner", "exec"), names)
    try:
        names["fail"]()
    except KeyError as error:
        assert "LAMELLA_TRACEBACK=full" in shown(error, capsys)
        assert "LAMELLA_TRACEBACK=full" not in getattr(error, "__notes__", [])


def test_a_thread_shows_the_users_line(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def work() -> None:
        Net()(ops.ones((2, 4)))

    monkeypatch.setattr(threading, "excepthook", tracebacks._thread_hook(threading.__excepthook__))
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    text = capsys.readouterr().err
    assert files(text)[-1] == __file__ and "dec.1" in text


@pytest.mark.parametrize("call", [
    "Net()(x)", "ms.grad(Net())(x)", "ms.jit(Net())(x)", "ms.jit(lambda: Net()(x))()",
    "nn.WithLossCell(Net(), nn.MSELoss())(x, x)", "ms.jacrev(Net())(x)"])
def test_the_layer_is_noted(call: str, capsys: Any) -> None:
    text = shown(raised_by(call), capsys)
    assert text.splitlines()[-1] == "in layer 'dec.1' (Dense)" and text.count("in layer") == 1


def test_a_layer_called_by_itself_needs_no_note(capsys: Any) -> None:
    assert "in layer" not in shown(raised_by("nn.Dense(3, 2)(x)"), capsys)
    text = shown(raised_by("nn.SequentialCell(nn.Dense(4, 3), nn.Dense(4, 3))(x)"), capsys)
    assert text.splitlines()[-1] == "in layer '1' (Dense)"


def test_without_notes_the_layer_is_in_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    from lamella.nn import cell_errors

    class Old(ValueError):  # as an error of Python 3.10
        def __getattribute__(self, name: str) -> Any:
            if name in ("add_note", "__notes__"):
                raise AttributeError(name)
            return super().__getattribute__(name)

    net, error = Net(), Old("For 'dense', it doesn't fit.")
    for cell in (net.dec[1], net.dec, net):
        cell_errors._note_layer(error, cell)
    assert str(error) == "For 'dense', it doesn't fit.\nin layer 'dec.1' (Dense)"


@pytest.mark.parametrize("start", [["FILE"], ["-m", "lamella", "run", "FILE"],
                                   ["SCRIPT", "run", "FILE"], ["-c", "TEXT"]],
                         ids=["python", "run", "installed", "command"])
def test_a_process_ends_at_the_users_line(start: list[str], tmp_path: Path) -> None:
    text = "import lamella as ms\nms.ops.matmul(ms.ops.ones((2, 3)), ms.ops.ones((2, 3)))\n"
    path = tmp_path / "train.py"
    path.write_text(text, encoding="utf-8")
    script = tmp_path / "lamella"  # as `pip` installs it
    script.write_text("import sys\nfrom lamella.commands.cli import main\nsys.exit(main())\n",
                      encoding="utf-8")
    given = {"FILE": str(path), "SCRIPT": str(script), "TEXT": text}
    arguments = [given.get(a, a) for a in start]
    done = python(*arguments)
    assert done.returncode == 1
    assert files(done.stderr) == ["<string>" if "-c" in start else str(path)]
    assert done.stderr.splitlines()[-1].startswith("ValueError: For 'matmul', ")


def test_a_notebook_ends_at_the_users_line(tmp_path: Path) -> None:
    pytest.importorskip("IPython", reason="only a notebook's own display can be tested with it")
    path = tmp_path / "cell.ipy"
    path.write_text("import lamella as ms\nms.ops.matmul(ms.ops.ones((2, 3)), "
                    "ms.ops.ones((2, 3)))\n", encoding="utf-8")
    done = python("-m", "IPython", "--colors=NoColor", path, bare=True)
    text = done.stdout + done.stderr
    assert "For 'matmul'" in text and "errors.py" not in text and "mat1" not in text


class Shell:
    """As IPython's, as far as `install` asks it."""

    def __init__(self, own: tuple[Any, ...] = ()):
        self.custom_exceptions, self.set = own, []

    def set_custom_exc(self, *given: Any) -> None:
        self.set.append(given)


def test_hooks_are_installed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shells = [Shell(), Shell((KeyError,)), None]
    monkeypatch.setattr(sys, "excepthook", lambda *given: None)
    monkeypatch.setattr(threading, "excepthook", lambda given: None)
    for shell in shells:
        monkeypatch.setitem(sys.modules, "IPython",
                            types.SimpleNamespace(get_ipython=lambda shell=shell: shell))
        tracebacks.install()
        hooks = sys.excepthook, threading.excepthook
        assert all(hook.folds for hook in hooks)  # type: ignore[attr-defined]
        tracebacks.install()
        assert (sys.excepthook, threading.excepthook) == hooks
    assert shells[0].set[0] == ((Exception,), tracebacks._show_in_notebook)  # type: ignore
    assert shells[1].set == []  # type: ignore[union-attr]  # the program's own stay
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace())
    tracebacks.install()


def test_errors_of_threads_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    hook = tracebacks._thread_hook(seen.append)
    nothing = threading.ExceptHookArgs((SystemExit, None, None, None))
    hook(nothing)
    assert seen == [nothing]
    error = ValueError("mine")
    hook(threading.ExceptHookArgs((ValueError, error, None, None)))
    assert seen[1].exc_type is ValueError and seen[1].exc_value is error
    whole: list[Any] = []
    try:
        raise error
    except ValueError:
        trace = sys.exc_info()[2]
    error.__traceback__ = None
    tracebacks._hook(lambda *given: whole.append(given))(ValueError, error, trace)
    ((kind, shown, traceback),) = whole
    assert kind is ValueError and shown is error and traceback is not None
    assert traceback.tb_frame.f_code.co_name == "test_errors_of_threads_are_passed_on"
