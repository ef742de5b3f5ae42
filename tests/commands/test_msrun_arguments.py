"""``lamella msrun`` in this process: its arguments, and short programs that are no Python."""

import os
import socket
import sys
import time
from pathlib import Path

import pytest

from lamella.commands import msrun

from ..worlds import ROOT
from ..zygote import Started

SHELL = "sh"


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    """The variables, which msrun sets, are as before afterwards; programs run in a new folder."""
    before = dict(os.environ)
    for name in list(os.environ):
        if name.startswith(("MS_", "LAMELLA_MSRUN")):
            del os.environ[name]
    monkeypatch.chdir(tmp_path)
    yield
    os.environ.clear()
    os.environ.update(before)


def call(*arguments, text="", processes=2, here=8):
    return msrun.main([f"--worker_num={processes}", f"--local_worker_num={here}", *arguments,
                       SHELL, "-c", text])


@pytest.mark.parametrize("arguments, processes, here, message", [
    (["--sim_level=0", "--sim_rank_id=2"], 2, 2, r"must be in [0, 2), but it is 2"),
    (["--sim_level=3", "--sim_rank_id=5"], 4, 2, r"must be in [0, 4), but it is 5"),
    (["--sim_level=0"], 0, 2, r"must be in [0, 0), but it is -1"),
    ([], 4, 3, "a multiple of --local_worker_num, but they are 4 and 3"),
    ([], 4, 0, "but they are 4 and 0"), ([], 0, 8, "but they are 0 and 8"),
    ([], 3, -1, "but they are 3 and -1")])
def test_numbers_that_contradict_each_other(arguments, processes, here, message, capsys):
    assert call(*arguments, processes=processes, here=here) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("program", ["no_such_program", "no_such_program.py", "sh.py", "folder.py"])
def test_programs_that_are_not_there(program, capsys, tmp_path):
    (tmp_path / "folder.py").mkdir()
    assert msrun.main(["--worker_num=1", program]) == 2
    assert f"can't run {program!r}" in capsys.readouterr().err


def test_the_defaults_are_mindsporess():
    found = vars(msrun._parser().parse_args(["train.py", "--worker_num", "3"]))
    assert found == {
        "worker_num": 8, "local_worker_num": 8, "master_addr": "127.0.0.1", "master_port": 8118,
        "node_rank": -1, "log_dir": "", "join": False, "cluster_time_out": 600,
        "bind_core": "False", "bind_numa": "False", "sim_level": -1, "sim_rank_id": -1,
        "rank_table_file": "", "worker_log_name": "", "tail_worker_log": "-1",
        "task_script": "train.py", "task_script_args": ["--worker_num", "3"]}


SIMULATED = "echo $RANK $WORLD_SIZE $LOCAL_RANK $MS_SIMULATION_LEVEL $MS_WORKER_NUM > said; "


@pytest.mark.parametrize("arguments, said, status", [
    (["--sim_level=0"], "0 4 0 0 4", 0), (["--sim_level=3", "--sim_rank_id=3"], "3 4 0 3 4", 5),
    (["--sim_level=1", "--sim_rank_id=-1"], "0 4 0 1 4", 1)])
def test_one_process_of_a_world(arguments, said, status, tmp_path):
    assert call(*arguments, text=f"{SIMULATED} exit {status}", processes=4) == min(status, 1)
    assert (tmp_path / "said").read_text().strip() == said


def test_a_simulated_process_that_is_killed_and_one_of_python(tmp_path):
    killed = [sys.executable, "-I", "-S", "-c", "import os; os.kill(os.getpid(), 9)"]
    assert msrun.main(["--worker_num=2", "--sim_level=0", *killed]) == 1
    (tmp_path / "program.py").write_text(
        "import sys, mindspore\nopen('said', 'w').write(str(sys.argv[1:]))\n")
    os.environ["PYTHONPATH"] = str(ROOT)
    assert msrun.main(["--worker_num=2", "--sim_level=0", "program.py", "-x"]) == 0
    assert (tmp_path / "said").read_text() == "['-x']"


@pytest.mark.parametrize("arguments, logs, shown", [
    ([], "{}/worker_[rankid]", ""),
    (["--tail_worker_log=1"], "{}/worker_[rankid]", ""),
    (["--log_dir=logs/deep", "--join=True"], "{}/logs/deep/worker_[rankid]", "all"),
    (["--worker_log_name=my", "--join", "True", "--tail_worker_log=0,1"], "{}/my", "0,1"),
    (["--join=False", "--tail_worker_log=0"], "{}/worker_[rankid]", "")])
def test_what_processes_are_told(arguments, logs, shown, tmp_path):
    text = "echo $MS_ROLE $MS_SCHED_HOST $MS_SCHED_PORT $MS_WORKER_NUM > $RANK.said"
    ports = ["--master_port=8119", "--master_addr=127.0.0.2"]
    assert call(*ports, *arguments, text=text) == 0
    for rank in (0, 1):
        assert (tmp_path / f"{rank}.said").read_text() == "MS_WORKER 127.0.0.2 8119 2\n"
    assert not (tmp_path / "2.said").exists()
    assert os.environ[msrun._LOGS] == logs.format(tmp_path.resolve())
    assert os.environ[msrun._SHOWN] == shown


@pytest.mark.parametrize("processes, text, said", [
    (1, "exit 1", "process 0 ended with status 1; "),
    (2, "if [ $RANK = 1 ]; then sleep 0.3; exit 3; fi",
     "process 1 ended with status 3 after process 0 had ended with status 0; "),
    (3, "if [ $RANK = 2 ]; then sleep 0.3; exit 7; fi",
     "process 2 ended with status 7 after processes 0, 1 had ended with status 0; "),
    (2, "if [ $RANK = 0 ]; then exit 4; fi; exec sleep 60", "process 0 ended with status 4")])
def test_the_process_that_failed_is_named(processes, text, said, tmp_path, capfd):
    assert call(text=text, processes=processes) == 1
    error = capfd.readouterr().err
    assert f"lamella msrun: {said}" in error
    assert f"worker_{said.split()[1]}.log ends with:\n\n" in error  # it wrote none


def test_the_last_lines_of_a_log_are_shown(tmp_path, capfd):
    (tmp_path / "worker_1.log").write_bytes(
        b"".join(b"line %d \xff.\n" % number for number in range(40)))
    killed = f"exec {sys.executable} -I -S -c 'import os; os.kill(os.getpid(), 9)'"
    text = f"if [ $RANK = 1 ]; then {killed}; fi; exec sleep 60"
    assert call(text=text) == 1
    lines = capfd.readouterr().err.partition("process 1 was ended by signal 9; ")[2].splitlines()
    assert lines[1:31] == [f"    line {number} �." for number in range(10, 40)]


def test_two_machines_meet(tmp_path, capfd):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = ["--worker_num=4", "--local_worker_num=2", f"--master_port={port}",
                 "--cluster_time_out=60"]
    text = ("echo $RANK $WORLD_SIZE $LOCAL_RANK > $RANK.said; "
            "if [ $RANK = 1 ]; then sleep 1; exit 3; fi")
    other = Started("-m", "lamella", "msrun", *arguments, "--node_rank=1", SHELL, "-c", text,
                    cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        assert msrun.main([*arguments, "--node_rank=0", SHELL, "-c", text]) == 1
    finally:
        other.kill()
        other.communicate()
    said = {int(file.stem): file.read_text().split() for file in tmp_path.glob("*.said")}
    assert said == {rank: [str(rank), "4", str(rank % 2)] for rank in range(4)}
    assert ("process 1 ended with status 3 after process 0 had ended with status 0"
            in capfd.readouterr().err)


@pytest.mark.filterwarnings("ignore:subprocess .* is still running")  # `tee` ends by itself
@pytest.mark.parametrize("rank, shown, seen", [
    (1, "", False), (1, "0,1", True), (1, "all", True), (11, "1", False), (0, "1,2", False)])
def test_output_goes_to_the_log(rank, shown, seen, tmp_path, capfd):
    os.environ.update({msrun._LOGS: str(tmp_path / "worker_[rankid]"), msrun._SHOWN: shown,
                       "RANK": str(rank), "WORLD_SIZE": "12", "LOCAL_RANK": "5"})
    log = tmp_path / f"worker_{rank}.log"
    log.write_text("of an earlier run, which was longer\n")
    before = [os.dup(stream) for stream in (1, 2)]
    try:
        msrun.name_this_process()
        os.write(1, b"output ")
        os.write(2, b"error\n")
    finally:
        for stream, copy in zip((1, 2), before, strict=True):
            os.dup2(copy, stream)
            os.close(copy)
    end = time.monotonic() + 60
    while seen and "error" not in log.read_text():  # written by another process, `tee`
        assert time.monotonic() < end
    assert log.read_text() == "output error\n"
    assert capfd.readouterr().out == ("output error\n" if seen else "")
    assert [os.environ[name] for name in ("RANK_ID", "RANK_SIZE", "DEVICE_ID")] == [
        str(rank), "12", "5"]


@pytest.mark.parametrize("variables", [{}, {"RANK": "0"}, {msrun._LOGS: "/nowhere/worker"}])
def test_processes_of_others_are_left_alone(variables):
    os.environ.pop("RANK", None)
    os.environ.update(variables)
    before = dict(os.environ), [os.fstat(stream) for stream in (1, 2)]
    msrun.name_this_process()
    assert (dict(os.environ), [os.fstat(stream) for stream in (1, 2)]) == before


def test_the_folder_of_logs(tmp_path):
    os.environ[msrun._LOGS] = str(tmp_path / "of_[rankid]")
    assert msrun._log_of(12) == Path(tmp_path, "of_12.log")
