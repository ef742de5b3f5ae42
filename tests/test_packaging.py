"""The source archive, and the wheel built from it, installed in an environment of its own."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import torch

import lamella

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # which pytest brings

ROOT = Path(lamella.__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300,
                          **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with both, made of a copy of this tree with the commit written into it."""
    pytest.importorskip("setuptools", "77", reason="it builds the wheel")
    folder = tmp_path_factory.mktemp("packaging")
    tree, dist = folder / "tree", folder / "dist"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(
        ".git", ".venv*", "__pycache__", "*.egg-info", "build", "dist", ".*_cache", ".hypothesis"))
    (tree / "lamella" / "data" / "commit.txt").write_text(COMMIT + "\n")
    run(sys.executable, "-c", "import sys; from setuptools.build_meta import build_sdist as build; "
        "build(sys.argv[1])", dist, cwd=tree)
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index",
        "--wheel-dir", dist, next(dist.glob("*.tar.gz")), cwd=folder)
    return dist


@pytest.fixture(scope="module")
def wheel(built):
    with zipfile.ZipFile(next(built.glob("*.whl"))) as archive:
        yield archive


def test_the_archive_holds_what_a_reader_needs(built):
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("CHANGELOG.md", "LICENSE", "README.md", "CONTRIBUTING.md", "Makefile",
                 "mkdocs.yml", "docs/index.md", "docs/training-cpu.svg", "examples/mnist_lenet.py",
                 "docs/tutorial/zh/index.md", "tests/conftest.py", "lamella/data/commit.txt"):
        assert name in names
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_the_wheel_holds_each_file_of_the_package(wheel):
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "lamella").rglob("*")
             if path.is_file() and "__pycache__" not in path.parts}
    there.add("lamella/data/commit.txt")
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == there
    assert "lamella/py.typed" in packed
    assert any(name.endswith(".cpp") for name in packed)


def test_the_wheel_says_what_it_needs(wheel):
    name = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    said = email.message_from_bytes(wheel.read(name))
    assert said["Version"] == lamella.__version__
    assert said["License-Expression"] == "Apache-2.0"
    extras = set(said.get_all("Provides-Extra", []))
    assert extras == set(PROJECT["optional-dependencies"])
    needed = said.get_all("Requires-Dist", [])
    for extra in extras:
        assert any(re.search(rf"extra == ['\"]{extra}['\"]", line) for line in needed)
    plain = {re.split(r"[>=<~!; ]", line)[0] for line in needed if "extra ==" not in line}
    assert plain == {re.split(r"[>=<~!; ]", line)[0] for line in PROJECT["dependencies"]}


@pytest.mark.long("the wheel has each file, as above; all other tests run them from the folder")
def test_the_wheel_works_where_nothing_else_is(built, tmp_path):
    """Installed into an empty environment; its dependencies are those of this one."""
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index",
        "--no-compile", next(built.glob("*.whl")))
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "dependencies.pth").write_text(str(Path(torch.__file__).parents[1]) + "\n")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    kept = {"cwd": tmp_path, "env": environment}
    command = tmp_path / "env" / "bin" / "lamella"
    assert run(command, "--version", **kept) == (
        f"lamella {lamella.__version__} (commit {COMMIT[:10]})\n")
    (tmp_path / "program.py").write_text(
        "import mindspore as ms\n"
        "from mindspore import nn\n"
        "from importlib.metadata import version\n"
        "print(ms.Tensor.__module__, version('lamella'))\n"
        "step = ms.jit(ms.grad(lambda x: (x ** 3).sum()))\n"
        "print([step(ms.Tensor([1.0, 2.0])).asnumpy().tolist() for _ in range(3)][-1])\n"
        "net = nn.Dense(2, 1)\n"
        "ms.save_checkpoint(net, 'net.ckpt')\n"
        "print(sorted(ms.load_checkpoint('net.ckpt')))\n"
        "print(ms.__file__)\n")
    *printed, where = run(command, "run", "program.py", **kept).splitlines()
    assert printed == [
        f"lamella.tensors.tensor {lamella.__version__}", "[3.0, 12.0]", "['bias', 'weight']"]
    assert Path(where).is_relative_to(site)
