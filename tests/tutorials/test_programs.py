"""Whole applications written for MindSpore, each on small files of the real formats.

Each program checks its own results: a loss that falls, a value known by other means, and that the
compiled step gives what the eager one gives.
"""

import os
import runpy
from pathlib import Path

import pytest

import lamella
from lamella import alias

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with `import mindspore` meaning Lamella."""
    monkeypatch.chdir(tmp_path)
    before = lamella.get_context("mode")
    alias.install()
    yield tmp_path
    alias.uninstall()
    lamella.set_context(mode=before)


# dear programs, and the cheaper ones that use the same
LIKE = {"cyclegan": "gan and pix2pix", "diffusion": "examples/digits_diffusion.py and vit",
        "ssd": "fcn and transfer_learning"}


@pytest.mark.parametrize("name", [
    pytest.param(path.stem, marks=pytest.mark.long(LIKE[path.stem]) if path.stem in LIKE else ())
    for path in sorted(PROGRAMS.glob("*.py"))])
def test_program(name, folder):
    runpy.run_path(os.fspath(PROGRAMS / f"{name}.py"), run_name="__main__")
