"""Names that are not there: the message says what to use instead."""

from __future__ import annotations

import copy
import importlib
import pickle

import pytest

import lamella as ms
from lamella import Tensor, nn, ops


def absent(expression: str) -> str:
    net = nn.Dense(3, 2)
    names = {"ms": ms, "nn": nn, "ops": ops, "net": net, "x": Tensor(1.0),
             "optimizer": nn.Adam(net.trainable_params())}
    with pytest.raises(AttributeError) as caught:
        eval(expression, names)
    assert not isinstance(caught.value.name, type(None))
    return str(caught.value)


@pytest.mark.parametrize(("expression", "words"), [
    ("x.backward()", "value_and_grad(forward, None, net.trainable_params())"),
    ("net.zero_grad()", "leave it out"), ("optimizer.zero_grad()", "leave it out"),
    ("optimizer.step()", "optimizer(gradients)"),
    ("net.parameters()", "net.trainable_params()"), ("net.eval()", "net.set_train(False)"),
    ("net.forward(x)", "construct"), ("net.named_modules()", "net.cells_and_names()"),
    ("x.cuda()", "ms.set_device('GPU')"), ("x.numpyy()", "did you mean 'numpy'?"),
    ("ms.no_grad()", "ops.stop_gradient"), ("ms.DataLoader", "ms.dataset.GeneratorDataset"),
    ("ms.relu", "use ops.relu"), ("ms.optim", "mint.optim"), ("ms.lax", "Python's"),
    ("ms.random.PRNGKey(0)", "ms.set_seed(seed)"), ("ms.tree_map", "comprehension"),
    ("nn.Module", "derive from nn.Cell"), ("nn.ModuleList", "nn.CellList"),
    ("nn.Densee", "did you mean 'Dense'?"), ("nn.Model", "it is lamella.Model"),
    ("ms.Dense", "it is lamella.nn.Dense"), ("ops.sinn", "did you mean 'sin'?"),
    ("ops.fori_loop", "use ms.fori_loop"), ("ms.numpy.clipp", "did you mean 'clip'?"),
    ("ms.dataset.DataLoader", "ms.dataset.dataloader.DataLoader"),
    ("ms.mint.nn.Lineaar", "did you mean 'Linear'?"), ("ms.amp.GradScaler", "DynamicLossScaler"),
    ("ms.train.Modell", "did you mean 'Model'?"), ("x.at", "assign instead"),
    ("net.weigth", "did you mean 'weight'?")])
def test_what_to_use_instead(expression: str, words: str) -> None:
    assert words in absent(expression)


@pytest.mark.parametrize("expression", ["ms.gnarl", "nn.gnarl", "x.gnarl", "net.gnarl",
                                        "ms._x", "x._x", "net._x"])
def test_other_names_are_just_absent(expression: str) -> None:
    assert absent(expression).endswith(f"has no attribute '{expression.partition('.')[2]}'")


@pytest.mark.parametrize(("statement", "words"), [
    ("from lamella import no_grad", "ops.stop_gradient"),
    ("from lamella.nn import Densee", "did you mean 'Dense'?"),
    ("from lamella.ops import gnarl", "'gnarl' from 'lamella.ops'"),
    ("from lamella.mint import no_grad", "ops.stop_gradient"),
    ("from lamella.dataset import DataLoader", "GeneratorDataset")])
def test_imports(statement: str, words: str) -> None:
    with pytest.raises(ImportError) as caught:
        exec(statement, {})
    assert words in str(caught.value)


def test_under_the_alias() -> None:
    alias = importlib.import_module("lamella.alias")
    alias.install()
    try:
        with pytest.raises(ImportError, match="PyTorch's 'torch.nn.Module'.*derive from nn.Cell"):
            exec("from mindspore.nn import Module", {})
    finally:
        alias.uninstall()


def test_errors_are_pickled_and_objects_copied() -> None:
    try:
        _ = Tensor(1.0).backward  # type: ignore[attr-defined]
    except AttributeError as error:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is AttributeError and str(again) == str(error)
    assert copy.deepcopy(nn.Dense(2, 2)).weight.shape == (2, 2)
    assert not hasattr(Tensor(1.0), "backward") and not hasattr(nn.Dense(2, 2), "parameters")
