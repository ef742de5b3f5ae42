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


@pytest.mark.parametrize("name", sorted(path.stem for path in PROGRAMS.glob("*.py")))
def test_program(name, folder):
    runpy.run_path(os.fspath(PROGRAMS / f"{name}.py"), run_name="__main__")
