"""Names that are not there: what MindSpore has, what is a misspelling, what neither has."""

from __future__ import annotations

import copy
import pickle

import lamella.alias
import pytest

from lamella import Parameter, Tensor, nn
from lamella.compat import absent


@pytest.fixture
def mindspore():
    lamella.alias.install()
    yield
    lamella.alias.uninstall()


# names of MindSpore 2.10 that nothing here can have: they belong to its own hardware and service
@pytest.mark.parametrize("statement", [
    "from mindspore import BackupAndRestore_", "from mindspore.nn import Densee",
    "from mindspore.nn import nothing_like_it"])
def test_unknown_names(mindspore, statement) -> None:
    with pytest.raises(ImportError) as caught:
        exec(statement, {})
    assert "MindSpore 2.10" not in str(caught.value)
    assert ("The nearest name" in str(caught.value)) == ("nothing" not in statement)


@pytest.mark.parametrize("statement", [
    "from mindspore import _c_mindrecord", "import mindspore._c_mindrecord",
    "from mindspore.nn.layer.basic import _no_such_helper"])
def test_of_names_that_are_not_in_the_list_nothing_is_said(mindspore, statement) -> None:
    """The list has public names; of private ones MindSpore has many more."""
    with pytest.raises(ImportError) as caught:
        exec(statement, {})
    assert "MindSpore 2.10" not in str(caught.value)


@pytest.mark.parametrize("statement", [
    "import mindspore.train.train_thor", "from mindspore.train import train_thor",
    "from mindspore.nn import thor", "from mindspore.train import ConvertModelUtils",
    "import mindspore; mindspore.nn.thor"])
def test_what_is_left_out_on_purpose_says_why(mindspore, statement) -> None:
    with pytest.raises((ImportError, AttributeError), match="THOR of MindSpore 2.10 stops.*use nn"):
        exec(statement, {})


def test_names_of_mindspore_are_distinguished_from_unknown_names(mindspore, monkeypatch) -> None:
    table = absent.names()
    monkeypatch.setattr(absent, "names", lambda: table | {
        "mindspore.nn": table["mindspore.nn"] | {"FarAway"},
        "mindspore.Tensor": table["mindspore.Tensor"] | {"far_away"},
        "mindspore.nn.Cell": table["mindspore.nn.Cell"] | {"far_away"}})
    for statement in ("from mindspore.nn import FarAway", "import mindspore.nn as n; n.FarAway"):
        with pytest.raises((ImportError, AttributeError)) as caught:
            exec(statement, {})
        assert str(caught.value) == (f"Lamella {lamella.__version__} does not have "
                                     "'mindspore.nn.FarAway' yet; MindSpore 2.10 has it.")
    for thing in (Tensor([1.0]), Parameter(1.0), nn.Dense(2, 2)):
        with pytest.raises(AttributeError, match="no attribute 'far_away'; MindSpore 2.10's has"):
            getattr(thing, "far_away")  # noqa: B009
        with pytest.raises(AttributeError, match=r"no attribute 'far_awayy'\.?$"):
            getattr(thing, "far_awayy")  # noqa: B009
        assert not hasattr(thing, "_private") and not hasattr(thing, "__cuda_array_interface__")


def test_the_list() -> None:
    assert absent.is_mindspores("mindspore", "Tensor") is True
    assert absent.is_mindspores("mindspore.ops", "Addd") is False
    assert absent.is_mindspores("mindspore.no_such_room", "x") is None
    assert sum(map(len, absent.names().values())) > 8000


@pytest.mark.parametrize(("name", "names", "found"), [
    ("Densee", ["Dense", "Dropout"], "Dense"), ("Tenso", ["Tensor"], "Tensor"),
    ("mint", ["int", "train"], None), ("communication", ["common"], None),
    ("matmull", ["matmul"], "matmul"), ("relu", ["selu", "elu"], None),
    ("Conv2dd", ["Conv2d", "Conv1d"], "Conv2d"), ("x", ["y"], None)])
def test_only_what_is_near_is_suggested(name: str, names: list[str], found: str | None) -> None:
    assert absent.nearest(name, names) == found


def test_tensors_are_still_copied_and_pickled() -> None:
    for again in (copy.deepcopy(Tensor([1.0])), pickle.loads(pickle.dumps(Tensor([1.0])))):
        assert again.asnumpy().tolist() == [1.0]
