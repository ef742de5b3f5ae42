"""What type checkers know of an installed Lamella: every public name, and no other."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import sysconfig
import types
import venv
from pathlib import Path

import lamella

from .zygote import run

ROOT = Path(lamella.__file__).parents[1]
PACKAGES = """
    lamella lamella.amp lamella.common lamella.common.initializer lamella.dataset
    lamella.dataset.audio lamella.dataset.text lamella.dataset.transforms lamella.dataset.vision
    lamella.mint lamella.mint.distributed lamella.mint.nn lamella.mint.optim lamella.nn
    lamella.numpy lamella.ops lamella.scipy.linalg lamella.sparse lamella.train""".split()
WRONG = ("lamella.Modell", "lamella.nn.Dence()", "lamella.mint.ads", "lamella.train.Modell")


def test_the_stubs_are_those_of_the_names():
    result = run(ROOT / "docs" / "package_types.py", "--check", bare=True)
    assert result.returncode == 0, f"run `make stubs`: {result.stdout}{result.stderr}"


def test_a_type_checker_knows_every_public_name_of_an_installed_package(tmp_path):
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    (packages / "lamella").symlink_to(ROOT / "lamella")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    lines = [f"import {package}" for package in PACKAGES]
    for package in PACKAGES:
        lines += [f"{package}.{name}" for name in public(importlib.import_module(package))]
    lines += ["from lamella import Model, Tensor, nn, ops", "lamella.Model(nn.Dense(3, 1))", *WRONG]
    (tmp_path / "program.py").write_text("\n".join(lines))
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(
        {"venvPath": ".", "venv": "environment", "include": ["program.py"],
         "reportUnusedExpression": False}))
    result = subprocess.run([sys.executable, "-m", "pyright", "--outputjson", "-p", tmp_path],
                            capture_output=True, text=True, cwd=tmp_path)
    found = {lines[each["range"]["start"]["line"]]
             for each in json.loads(result.stdout)["generalDiagnostics"]}
    assert found == set(WRONG)


def public(package: types.ModuleType) -> list[str]:
    """The names of a package that are no modules, nor words of type hints."""
    return [name for name in getattr(package, "__all__", dir(package))
            if not name.startswith("_") and not isinstance(
                value := getattr(package, name), types.ModuleType)
            and "typing" not in (getattr(value, "__module__", ""), type(value).__module__)
            and type(value).__module__ != "__future__"]
