"""The command line in this process: programs that it runs, and what it prints."""

import builtins
import json
import os
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import lamella
from lamella.commands import cli, doctor, jupyter
from lamella.compat import alias
from lamella.core import context
from lamella.legacy import numpy_conversions


@pytest.fixture
def here(monkeypatch, tmp_path):
    """Lets programs run in this process, and undoes what `lamella run` does to it."""
    for name, value in (("argv", ["before"]), ("path", ["first", *sys.path[1:]])):
        monkeypatch.setattr(sys, name, value)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(context, "_cpu_instead", False)
    monkeypatch.setattr(np, "__getattr__", vars(np)["__getattr__"], raising=False)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setenv("LAMELLA_MINDSPORE", "")
    undo = numpy_conversions.offer()
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    undo()
    alias.uninstall()


PROGRAM = """
import sys
import mindspore
import __main__
print(__name__, sys.argv, sys.path[0], mindspore.Tensor is not None, __main__.__dict__ is globals())
print(globals().get("__file__"), globals().get("__cached__", 0))
"""


@pytest.mark.filterwarnings("ignore:NumPy 2 converts:DeprecationWarning")
@pytest.mark.parametrize("given, argv, first", [
    (["folder/program.py", "-x", "run"], ["folder/program.py", "-x", "run"], "folder"),
    (["--mindspore=2.4", "folder/program.py"], ["folder/program.py"], "folder"),
    (["-m", "folder.program", "--help"], ["folder.program", "--help"], ""),
    (["folder", "a"], ["folder", "a"], "folder"),
    (["folder/all.zip", "a"], ["folder/all.zip", "a"], "folder/all.zip")])
def test_programs(given, argv, first, here, capsys):
    (here / "folder").mkdir()
    for name in ("program.py", "__main__.py"):
        (here / "folder" / name).write_text(PROGRAM)
    with zipfile.ZipFile(here / "folder" / "all.zip", "w") as archive:
        archive.writestr("__main__.py", PROGRAM)
    cli.main(["run", *given])
    name, found = capsys.readouterr().out.split(" ", 1)
    assert name == "__main__"
    if given[0] == "-m":  # Python gives a module's file as the first argument
        argv = [str(here / "folder" / "program.py"), *argv[1:]]
    # Python puts a folder or an archive there as it was given
    where = first if given[0] == first else os.path.realpath(here / first)
    assert found.splitlines()[0] == f"{argv} {where} True True"
    assert alias.installed() and context.cpu_instead()
    if argv[0].endswith(".py") and given[0] != "-m":
        assert found.splitlines()[1] == "folder/program.py None"


@pytest.mark.parametrize("arguments, word", [
    (["run", "-m"], "needs the name of a module"), (["run", "-q", "x"], "no option '-q'"),
    (["run", "--mindspore", "2.3", "-m"], "needs the name of a module"),
    (["run", "--mindspore", "2.3", "gone.py"], "can't open file 'gone.py'"),
    (["jupyter", "remove"], "can 'install' or 'uninstall', but got 'remove'"),
    (["jupyter", "uninstall", "--name", "nope"], "no kernel 'nope'"),
    (["jupyter", "install", "--name", "a b"], "'name' must be of letters"),
    (["names", "--missing", "nonsense"], "has no room 'nonsense'")])
def test_refused(arguments, word, here, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    assert end.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("lamella: ") and word in error


def test_the_arguments_of_the_process(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["lamella", "--version"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(f"lamella {lamella.__version__}")
    with pytest.raises(SystemExit) as end:
        cli.main(["msrun", "--worker_num=3", "--local_worker_num=2", "x.py"])
    assert end.value.code == 2 and "they are 3 and 2" in capsys.readouterr().err


@pytest.mark.parametrize("name, title", [("lamella", "Lamella"),
                                         ("my-1.0_b", "Lamella (my-1.0_b)")])
def test_a_kernel_is_installed_where_it_is_asked_for(name, title, tmp_path, monkeypatch, capsys):
    options = [] if name == "lamella" else ["--name", name]
    with pytest.raises(SystemExit) as end:
        cli.main(["jupyter", "install", "--prefix", str(tmp_path), *options])
    assert end.value.code == 0
    folder = tmp_path / "share" / "jupyter" / "kernels" / name
    assert capsys.readouterr().out == (
        f"The kernel {name!r} is in {folder}. In Jupyter choose '{title}'.\n")
    assert json.loads((folder / "kernel.json").read_text()) == {
        "argv": [sys.executable, "-m", "lamella", "run", "-m", "ipykernel_launcher", "-f",
                 "{connection_file}"],
        "display_name": title, "language": "python", "metadata": {"debugger": True}}
    assert folder.stat().st_mode & 0o777 == 0o755
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share" / "jupyter"))
    assert jupyter.uninstall(name) == f"The kernel {name!r} in {folder} is removed."
    assert not folder.exists()


def test_a_kernel_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    assert str(tmp_path / "kernels" / "lamella") in jupyter.install()
    assert "is removed" in jupyter.uninstall()
    assert not (tmp_path / "kernels" / "lamella").exists()


def test_the_extension():
    jupyter.load_ipython_extension(None)
    assert alias.installed()
    jupyter.unload_ipython_extension(None)
    assert not alias.installed()


def test_the_doctor_as_json(capsys):
    cli._doctor(as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found.pop("advice") == doctor.advice(found)
    assert found == json.loads(json.dumps(doctor.facts()))  # without a device, nothing is tried


FACTS = {"python": {"version": "3", "debug": False}, "packages": {"mindspore": None, "torch": "2"},
         "cpu": {"blas": "MKL", "mkldnn": True, "capability": "AVX2", "threads": 2, "cores": 2},
         "gpu": {"available": True, "target": "CPU", "devices": ["a card", "another"]},
         "compiler": {"c++": None}, "cache": {"folder": None}}


def test_the_doctor_tries_the_device(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(cli, "facts", lambda: FACTS)
    cli._doctor(as_json=True)
    tried = json.loads(capsys.readouterr().out)["device"]
    assert len(tried) == 8 and tried[0]["what"] == "product in float64" and tried[0]["works"]
    cli._doctor(as_json=False)
    shown = capsys.readouterr().out
    facts, said = shown.partition("- Tensors are made on the CPU")[::2]
    rows = [[cell.strip() for cell in line.strip("│").split("│")]
            for line in facts.splitlines() if line.startswith("│")]
    assert rows[:4] == [["python", "version", "3"], ["", "debug", "no"],
                        ["packages", "mindspore", "none"], ["", "torch", "2"]]
    assert rows[-2:] == [["compiler", "c++", "none"], ["cache", "folder", "none"]]
    tries = [[cell.strip() for cell in line.strip("│").split("│")]
             for line in said.splitlines() if line.startswith("│")]
    assert [row[:2] for row in tries] == [[one["what"], "yes" if one["works"] else "no"]
                                          for one in tried]
    assert "on a card" in said


def test_cores_where_the_system_tells_no_set_of_them(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    for told, cores in ((3, 3), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda told=told: told)
        assert doctor._cores() == cores


@pytest.mark.parametrize("text, name", [
    ("processor : 0\nmodel name\t: Some CPU: 2 GHz \nmodel name : other\n", "Some CPU: 2 GHz"),
    ("Processor : none\n", "by platform"), (None, "by platform")])
def test_the_name_of_the_processor(text, name, monkeypatch, tmp_path):
    file, real = tmp_path / "cpuinfo", builtins.open
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr(builtins, "open", lambda path, *args, **options: real(
        file if path == "/proc/cpuinfo" else path, *args, **options))
    monkeypatch.setattr(doctor.platform, "processor", lambda: "")
    monkeypatch.setattr(doctor.platform, "machine", lambda: "by platform")
    assert doctor._cpu_name() == name


@pytest.mark.parametrize("key, value", [("BLAS_INFO", "open"), ("LAST", "a=b"), ("GONE", None),
                                        ("AS", None)])
def test_what_pytorch_was_built_with(key, value, monkeypatch):
    monkeypatch.setattr(torch, "__config__", SimpleNamespace(
        show=lambda: "PyTorch built with:\n  - Build settings: AS_INFO=x, BLAS_INFO=open, "
                     "USE=1\n LAST=a=b"))
    assert doctor._built_with(key) == value


@pytest.mark.parametrize("threads, cores, more", [(3, 2, True), (2, 2, False), (1, 2, False)])
def test_more_threads_than_cores(threads, cores, more):
    found = {**FACTS, "cpu": {**FACTS["cpu"], "threads": threads, "cores": cores}}
    said = " ".join(doctor.advice(found))
    assert (f"set OMP_NUM_THREADS={cores}" in said) is more
    assert f"on {threads} thread{'' if threads == 1 else 's'}." in said
