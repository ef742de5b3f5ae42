"""`dir` shows every public name, also those whose room is imported only when one is named."""

from __future__ import annotations

import importlib
import pkgutil

import lamella.alias
import pytest

import lamella
from lamella.compat import absent

from .zygote import run

LAZY = sorted(
    name for name in ["lamella", *(m.name for m in pkgutil.walk_packages(
        lamella.__path__, "lamella.", onerror=lambda _: None) if m.ispkg)]
    if hasattr(importlib.import_module(name), "__getattr__"))


def test_the_lazy_rooms_are_found():
    assert {"lamella", "lamella.train", "lamella.ops", "lamella.dataset"} <= set(LAZY)


@pytest.mark.parametrize("room", LAZY)
def test_what_dir_lists_is_there(room):
    module = importlib.import_module(room)
    names = dir(module)
    assert names == sorted(set(names))
    for name in names:
        getattr(module, name)
    assert set(getattr(module, "__all__", ())) <= set(names)


def test_a_fresh_process_lists_and_gives_what_is_imported_later():
    """For completion, and for a star import."""
    program = ("import lamella as ms\n"
               "for room, names in ((ms, 'Model COOTensor mint'), (ms.nn, 'probability'),\n"
               "        (ms.train, 'Model Accuracy callback'), (ms.ops, 'csr_add all_gather')):\n"
               "    assert not set(names.split()) - set(dir(room)), (room, names)\n"
               "import lamella.alias; lamella.alias.install()\n"
               "from mindspore import *\n"
               "from mindspore.ops import *\n"
               "from mindspore.dataset import *\n"
               "Model, COOTensor, csr_add, all_gather, MnistDataset\n"
               "assert 'boost' not in globals() and 'vision' not in globals()\n")
    done = run("-c", program, bare=True)
    assert done.returncode == 0, done.stderr


def test_each_name_of_mindspores_that_is_there_is_listed():
    lamella.alias.install()
    try:
        hidden = []
        for owner, names in absent.names().items():
            try:
                room = importlib.import_module(owner)
            except ImportError:
                continue
            listed = set(dir(room))
            hidden += [f"{owner}.{name}" for name in names if not name.startswith("_")
                       and name not in listed and hasattr(room, name)]
    finally:
        lamella.alias.uninstall()
    # but for what our file of that path only imports from elsewhere
    assert {name.removeprefix("mindspore.") for name in hidden} <= {
        "experimental.optim.lr_scheduler", "nn.get_metrics", "ops.P", "ops.functional.P",
            "ops.auto_generate.Any",
        "ops.auto_generate.solve_triangular",
        "parallel.auto_parallel", "parallel.strategy", "parallel.auto_parallel.Cell",
        "scipy.ops.Primitive", "scipy.optimize.line_search.Tensor",
        "scipy.optimize.line_search.grad"}

