"""``lamella run`` does what ``python`` does, with the alias; ``lamella doctor`` reports."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from lamella import __version__
from lamella.commands import cli

from .. import zygote


def lamella(*args, **kwargs):
    return zygote.run("-m", "lamella", *args, **kwargs)


def started(*args, **kwargs):
    """As `lamella`, in a process that is not forked: it starts and ends as a user's."""
    return python("-m", "lamella", *args, **kwargs)


def python(*args, **kwargs):
    return subprocess.run([sys.executable, *map(str, args)], text=True, capture_output=True,
                          timeout=300, **kwargs)


@pytest.fixture
def script(tmp_path):
    def write(text, name="program.py"):
        path = tmp_path / name
        path.write_text(text)
        return path
    return write


def test_run_is_like_python(script):
    path = script("import sys, helper\n"
                  "print(__name__, __file__, sys.argv, sys.path[0], helper.x, sys.stdin.read())\n"
                  "import __main__; print(__main__.__dict__ is globals())\n"
                  "class A: pass\nimport pickle; print(pickle.loads(pickle.dumps(A)) is A)\n")
    script("x = 3\n", "helper.py")
    arguments = [path, "--epochs", "3", "-v", "run"]
    result = started("run", *arguments, input="from stdin")
    assert result.stdout == python(*arguments, input="from stdin").stdout
    assert result.stderr == ""


def test_run_installs_the_alias_and_imports_no_command_line_library(script):
    path = script("import sys, mindspore\n"
                  "print(mindspore.Tensor([1.0]) + 1, mindspore.__version__)\n"
                  "print([m for m in ('typer', 'click', 'rich') if m in sys.modules])\n")
    assert lamella("run", path).stdout == "[2.] 2.10.0\n[]\n"


@pytest.mark.parametrize("method", ["spawn", pytest.param(
    "forkserver", marks=pytest.mark.long("processes that are spawned begin anew, too"))])
def test_processes_that_are_not_forked_have_the_alias_too(script, tmp_path, method):
    path = script("import multiprocessing, sys\n"
                  "import mindspore as ms\n"
                  "def doubled(x):\n"
                  "    return x.asnumpy() * 2, ms.__version__, ms.Tensor.__module__\n"
                  "if __name__ == '__main__':\n"
                  "    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:\n"
                  "        print(pool.apply(doubled, [ms.Tensor([1.0, 2.0])]))\n")
    result = lamella("run", path, method, cwd=tmp_path)
    assert "2.10.0', 'lamella.tensors.tensor')" in result.stdout, result.stderr
    assert "array([2., 4.]" in result.stdout and result.stderr == ""


@pytest.mark.parametrize("text", [
    "def f():\n    return 1 / 0\nf()\n",
    "x = = 1\n",
    "raise SystemExit(7)\n",
    "raise SystemExit('a message')\n",
    "import sys; sys.exit()\n",
    "raise KeyboardInterrupt\n",
    "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('second') from e\n",
])
def test_exit_codes_and_tracebacks_are_pythons(script, text):
    path = script(text)
    run = started if "KeyboardInterrupt" in text else lamella
    ours, pythons = run("run", path), python(path)
    assert ours.returncode == pythons.returncode
    assert ours.stderr == pythons.stderr


def test_run_a_module_and_a_folder(script, tmp_path):
    text = "import sys, mindspore\nprint(__name__, sys.argv[1:], mindspore.__version__)\n"
    script(text, "__main__.py")
    assert lamella("run", tmp_path, "a").stdout == "__main__ ['a'] 2.10.0\n"
    script(text, "mod.py")
    assert lamella("run", "-m", "mod", "-x", cwd=tmp_path).stdout == "__main__ ['-x'] 2.10.0\n"


@pytest.fixture
def main(capsys, monkeypatch):
    """Calls the command in this process; gives its exit status and what it printed."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # which `lamella run` changes
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments):
        with pytest.raises(SystemExit) as end:
            cli.main(arguments)
        printed = capsys.readouterr()
        return end.value.code, printed.out, printed.err

    return call


@pytest.mark.parametrize("arguments, message", [
    (["run", "no_such_file.py"], "can't open file 'no_such_file.py'"),
    (["run", "-x", "a.py"], "no option '-x'"),
    (["run", "-m"], "needs the name of a module"),
    (["run"], "Missing argument"),
])
def test_wrong_calls(main, arguments, message):
    status, _, error = main(*arguments)
    assert status == 2 and message in error


def test_the_status_of_a_wrong_call():
    result = lamella("run", "no_such_file.py")
    assert result.returncode == 2
    assert result.stderr.startswith("lamella: can't open file 'no_such_file.py'")


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_names_the_commands(main, option):
    status, out, _ = main(option)
    assert status == 0
    assert "run" in out and "doctor" in out


def test_the_version(main):
    at = subprocess.run(["git", "-C", os.path.dirname(cli.__file__), "rev-parse", "HEAD"],
                        capture_output=True, text=True).stdout[:10]
    expected = f"lamella {__version__} (commit {at})\n" if at else f"lamella {__version__}\n"
    for option in ("--version", "-V"):
        assert main(option)[:2] == (0, expected)
    assert main()[0] == 2  # no command: help


def test_doctor_json():
    found = json.loads(lamella("doctor", "--json").stdout)
    assert found["packages"]["lamella"] == __version__
    assert found["python"]["executable"] == sys.executable
    assert all(isinstance(sentence, str) for sentence in found["advice"])


def test_doctor_table(capsys):
    cli._doctor(as_json=False)
    shown = capsys.readouterr().out
    for word in ("python", "torch", "threads", "gpu", "compiler"):
        assert word in shown


def test_names_are_counted(main):
    done = lamella("names", env={**os.environ, "COLUMNS": "100"})
    assert done.returncode == 0, done.stderr
    rows = [line.split("│") for line in done.stdout.splitlines() if "mindspore.nn " in line]
    there, of = (int(text) for text in rows[0][2:4])
    assert 0.9 * of < there <= of
    assert "has no room 'nonsense'" in main("names", "--missing", "nonsense")[2]


def test_the_table_of_names_and_what_a_room_lacks(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    given = {"mindspore": SimpleNamespace(there=7, missing=["a", "b", "c"]),
             "mindspore.nn": SimpleNamespace(there=990, missing=["D", "E"]),
             "mindspore.ops": SimpleNamespace(there=5, missing=[])}
    monkeypatch.setattr(cli, "counts", lambda: given)
    cli._names("")
    rows = [[cell.strip() for cell in line.strip("│┃").split("│")]
            for line in capsys.readouterr().out.splitlines() if "│" in line]
    assert rows == [["mindspore", "7", "10", "70"], ["mindspore.nn", "990", "992", "100"],
                    ["mindspore.ops", "5", "5", "100"], ["all", "1002", "1007", "99.5"]]
    for room, missing in (("nn", "D\nE\n"), ("mindspore", "a\nb\nc\n")):
        cli._names(room)
        assert capsys.readouterr().out == missing
    with pytest.raises(SystemExit) as end:
        cli._names("none")
    assert end.value.code == 2
    assert capsys.readouterr().err == ("lamella: MindSpore has no room 'none'; it has mindspore, "
                                       "mindspore.nn, mindspore.ops.\n")


@pytest.mark.parametrize("arguments, rest, version", [
    (["--mindspore", "2.3", "a.py", "-x"], ["a.py", "-x"], "2.3"),
    (["--mindspore=2.4", "a.py"], ["a.py"], "2.4")])
def test_the_version_stands_before_the_program(monkeypatch, arguments, rest, version):
    monkeypatch.setenv("LAMELLA_MINDSPORE", "")
    assert cli._choose_version(arguments) == rest
    assert os.environ["LAMELLA_MINDSPORE"] == version


@pytest.mark.parametrize("arguments", [["--mindspore"], ["--mindspore", "2.3"], ["--mindspore=2.3"],
                                       ["--mindspore", "two", "a.py"]])
def test_a_version_that_is_wrong_or_without_a_program(monkeypatch, capsys, arguments):
    monkeypatch.setenv("LAMELLA_MINDSPORE", "")
    with pytest.raises(SystemExit) as end:
        cli._choose_version(arguments)
    assert end.value.code == 2 and capsys.readouterr().err.startswith("lamella: ")


@pytest.mark.parametrize("value, text", [(True, "yes"), (False, "no"), (None, "none"),
                                         (["a", "b"], "a, b"), ([], ""), (3, "3")])
def test_facts_as_text(value, text):
    assert cli._plain(value) == text


def test_a_kind_of_device_is_named_once_whatever_asks_for_it(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import mindspore as ms\nx = ms.Tensor([1.0])\n"
        "for number in (77, 78):\n    ms.set_context(device_target='GPU', device_id=number)\n"
        "print(x.move_to('GPU') + x, ms.Tensor([1.0]).device)\n")
    done = lamella("run", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[2.] CPU\n" and done.stderr.count("the program asked for") == 1


@pytest.mark.parametrize("asked", ["ms.set_device('GPU', 77)",
                                   "ms.set_context(device_target='GPU', device_id=77)"])
def test_a_device_that_is_not_there_is_the_cpu_under_run_alone(tmp_path, asked):
    program = tmp_path / "program.py"
    program.write_text(f"import mindspore as ms\nfor _ in range(2):\n    {asked}\n"
                       "print(ms.get_context('device_target'), ms.Tensor([1.0]) + 1)\n")
    done = lamella("run", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "CPU [2.]\n"
    assert done.stderr.count("the program asked for GPU 77") == 1
    assert done.stderr.count("it runs on the CPU") == 1
    library = zygote.run(
        "-c", f"import lamella.alias; lamella.alias.install()\nimport mindspore as ms\n{asked}")
    assert library.returncode == 1 and "GPU 77 was asked for" in library.stderr
