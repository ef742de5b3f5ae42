"""Whose code a file has: Lamella's or PyTorch's, a library's, or the user's."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import lamella
from lamella.graph.tracing.outside import OURS, TRANSPARENT, USERS, origin_of

TORCH, NUMPY, STANDARD, OWN = (os.path.dirname(os.path.abspath(m.__file__)) for m in (
    torch, np, os, lamella))
OTHERS = str(Path(TORCH).parent)


@pytest.mark.parametrize("origin, files", [
    (USERS, ["<stdin>", "<ipython-input-3-2>", "<console>", "/home/me/program.py",
             "/home/me/sympy/core.py", "/home/me/torch/nn.py", f"{TORCH}2/nn.py", f"{NUMPY}s/a.py",
             f"{OWN}2/ops.py", f"{STANDARD}/site-packages/other/a.py",
             f"{STANDARD}/dist-packages/other/a.py", "program.py"]),
    (TRANSPARENT, ["<string>", "<frozen importlib._bootstrap>", "<__array_function__ internals>",
                   "<consoles>", f"{STANDARD}/json/decoder.py", f"{STANDARD}/typing.py",
                   f"{NUMPY}/linalg/linalg.py", f"{OTHERS}/typing_extensions.py",
                   f"{TORCH}/__init__.py", f"{TORCH}/random.py", f"{TORCH}/cuda/random.py",
                   f"{TORCH}/backends/cudnn/__init__.py"]),
    (OURS, [f"{TORCH}/nn/modules/linear.py", f"{TORCH}/cuda/__init__.py",
            f"{TORCH}/functional.py", f"{OWN}/ops/loss.py", f"{OWN}/__init__.py",
            f"{OWN}/graph/tracing/outside.py",
            *(f"/usr/lib/python3/{place}/{name}/a.py" for place in (
                "site-packages", "dist-packages") for name in ("sympy", "torchgen"))])],
    ids=["user", "library", "ours"])
def test_the_origin_of_files(origin, files):
    assert {file: origin_of(file) for file in files} == dict.fromkeys(files, origin)


def test_modules_that_act_outside_count_as_part_of_their_caller():
    marked = [module for name, module in sorted(sys.modules.items())
              if name.startswith("lamella.") and getattr(module, "__outside__", False)]
    assert marked and {origin_of(module.__file__) for module in marked} == {TRANSPARENT}
