"""`make programs`: its rows name files that are there, and it says how each ended."""

import sys
from pathlib import Path

import pytest

from . import programs


def test_each_job_belongs_to_a_row():
    named = {Path(word).name for row in programs.ROWS.values() for command in row.commands
             for word in command if word.endswith(".py")}
    there = {path.name for path in programs.JOBS.glob("*.py")}
    assert there <= named
    assert {"language_models.py", "adapters.py", "train.py", "data.py"} <= named
    assert named <= there | {"language_models.py", "adapters.py", "train.py", "data.py"}


def test_rows_install_what_there_is():
    wanted = {name for row in programs.ROWS.values() for name in row.packages.split()}
    assert wanted | {"shared"} == set(programs.PACKAGES)


@pytest.fixture
def rows(monkeypatch, tmp_path):
    script = tmp_path / "step.py"
    script.write_text("import sys, mindspore\nprint(mindspore.__name__, sys.argv[1])\n"
                      "sys.exit(int(sys.argv[1]))\n")
    made = {"one, good": programs.Row("", [[str(script), "0"]]),
            "two, bad": programs.Row("", [[str(script), "0"], [str(script), "3"], ["not.py"]]),
            "other": programs.Row("", [["$M", str(script)]])}
    monkeypatch.setattr(programs, "ROWS", made)
    monkeypatch.setattr(programs, "PLACE", tmp_path)
    monkeypatch.delenv("MINDSPORE", raising=False)


@pytest.mark.long("of `make programs`, which shows it: three processes that begin anew")
def test_a_row_ends_with_the_first_command_that_fails(rows, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["programs", "one", "two", "other"])
    assert programs.main() == 1
    good, bad, other = capsys.readouterr().out.splitlines()
    assert good.startswith("one, good: exit 0 in ") and good.endswith("mindspore 0")
    assert bad.startswith("two, bad: exit 3 in ") and bad.endswith("mindspore 3")
    assert other == "other: needs MINDSPORE=PYTHON, a Python with MindSpore 2.10"
