"""Notebooks: the kernel, the extension, and pages of the tutorial, run by the real Jupyter."""

from __future__ import annotations

import json
import os
import pathlib
import sys

import nbformat
import pytest
from nbclient import NotebookClient

from docs import notebooks
from lamella.commands import jupyter
from lamella.core.notebook import in_notebook

from ..zygote import run as python

ROOT = pathlib.Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings("default")  # Jupyter's own


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """A folder with the kernel, installed by the command."""
    prefix = tmp_path_factory.mktemp("prefix")
    done = python("-m", "lamella", "jupyter", "install", "--prefix", prefix)
    assert done.returncode == 0, done.stderr
    assert "In Jupyter choose 'Lamella'" in done.stdout
    return prefix / "share" / "jupyter"


@pytest.fixture
def jupyter_path(kernels, monkeypatch, tmp_path):
    monkeypatch.setenv("JUPYTER_PATH", str(kernels))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))


def executed(folder, *programs, kernel="lamella"):
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(p) for p in programs])
    NotebookClient(made, timeout=120, kernel_name=kernel,
                   resources={"metadata": {"path": str(folder)}}).execute()
    return [cell.outputs for cell in made.cells]


TRAIN = """
import numpy as np
from mindspore import dataset, nn, ops, train
x = np.ones((4, 2), np.float32)
data = dataset.NumpySlicesDataset((x, x), shuffle=False).batch(2)
net = nn.SequentialCell(nn.Dense(2, 2), nn.ReLU())
train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1)).train(1, data)
"""


def test_the_kernel_shows_tensors_networks_reports_and_progress(jupyter_path, tmp_path):
    tensor, progress, cell, summary, report, extension = executed(
        tmp_path, "import mindspore as ms\nms.Tensor([[1.0, -2.0]])", TRAIN, "net",
        "import lamella\nlamella.summary(net, ms.Tensor(x))",
        "step = ms.jit(net)\nstep(ms.Tensor(x))\nstep.report()",
        "%load_ext lamella\nimport mindspore\nprint(mindspore.Tensor is lamella.Tensor)")
    shown = tensor[0]["data"]
    assert "(1, 2) Float32" in shown["text/html"] and "data:image/png" in shown["text/html"]
    assert shown["text/plain"].startswith("Tensor(shape=[1, 2]")
    (bar,) = progress  # changed in its place
    assert "epoch 1 of 1: 100%" in bar["data"]["text/html"] and "2/2" in bar["data"]["text/html"]
    assert "<progress value='2' max='2'" in bar["data"]["text/html"]
    assert "<details" in cell[0]["data"]["text/html"] and "0.weight" in cell[0]["data"]["text/html"]
    assert "<table>" in summary[0]["data"]["text/html"]
    assert "1 graph" in report[0]["data"]["text/html"]
    assert extension[0]["text"] == "True\n"


@pytest.mark.parametrize("page", [
    "zh/bprop.md", pytest.param("en/quickstart.md", marks=pytest.mark.long(
        "another page by the same kernel; test_docs.py runs what is on it"))])
def test_pages_as_notebooks_print_what_stands_on_them(page, jupyter_path, tmp_path):
    made = notebooks.notebook(ROOT / "docs" / "tutorial" / page)
    nbformat.validate(made)
    assert notebooks.run(made, tmp_path) == []


def test_a_kernel_that_is_not_ours_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    folder = tmp_path / "kernels" / "other"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps({"argv": ["x"], "display_name": "Other"}))
    with pytest.raises(ValueError, match="isn't Lamella's"):
        jupyter.uninstall("other")
    with pytest.raises(ValueError, match="no kernel 'nope'"):
        jupyter.uninstall("nope")


@pytest.mark.parametrize("name", ["a/b", "", ".", "..", "-x", ".x"])
def test_names_that_are_no_kernels(name, tmp_path):
    """Jupyter would remove the folder 'kernels/..' for one of them."""
    own = tmp_path / "share" / "jupyter" / "kernels" / "own"
    own.mkdir(parents=True)
    with pytest.raises(ValueError, match="'name' must be of letters"):
        jupyter.install(name, str(tmp_path))
    assert own.exists()


@pytest.mark.parametrize("content, ours", [
    ('{"argv": ["python"]}', False), ("no JSON", False), ("[]", False), (None, False),
    ('{"argv": ["python", "-m", "lamella"]}', True)])
@pytest.mark.parametrize("prefix", [True, False])
def test_only_our_kernels_are_replaced(prefix, content, ours, tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "share" / "jupyter"))
    folder = tmp_path / "share" / "jupyter" / "kernels" / "mine"
    folder.mkdir(parents=True)
    if content is not None:
        (folder / "kernel.json").write_text(content)
    given = "Mine", str(tmp_path) if prefix else None  # Jupyter writes it in small letters
    if ours:
        jupyter.install(*given)
        assert "run" in json.loads((folder / "kernel.json").read_text())["argv"]
    else:
        with pytest.raises(ValueError, match="isn't Lamella's"):
            jupyter.install(*given)
        assert [p.read_text() for p in folder.iterdir()] == ([] if content is None else [content])


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", None)
    with pytest.raises(ImportError, match=r"pip install lamella\[notebook\]"):
        jupyter.install()


def test_programs_and_tests_are_no_notebooks():
    assert not in_notebook()
