"""``lamella msrun``: a program in several processes, with the arguments of MindSpore's msrun.

The processes are started and watched by torch's elastic agent: when one fails, the others are
ended, and what it printed last is shown. Each prints into ``worker_N.log``. Unlike MindSpore's, the
command always waits for its processes, and its exit status is theirs. On Linux they are killed when
it is, in whatever way.
"""

from __future__ import annotations

import argparse
import ast
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import IO, Any

from ..machine import bound

__all__ = ["main", "name_this_process"]

_LOGS, _SHOWN = "LAMELLA_MSRUN_LOGS", "LAMELLA_MSRUN_SHOWN"
_LAST = 30  # lines of a log that are shown


def main(arguments: Sequence[str]) -> int:
    """Run a program in several processes.

    Args:
        arguments: those of the command line.

    Returns:
        0, or 1 if a process failed.
    """
    given = _parser().parse_args(list(arguments))
    if given.sim_level != -1 and not 0 <= max(given.sim_rank_id, 0) < given.worker_num:
        print(f"lamella msrun: --sim_rank_id must be in [0, {given.worker_num}), but it is "
              f"{given.sim_rank_id}.", file=sys.stderr)
        return 2
    here = min(given.local_worker_num, given.worker_num)
    if here < 1 or given.worker_num % here:
        print(f"lamella msrun: --worker_num must be a multiple of --local_worker_num, but they are "
              f"{given.worker_num} and {given.local_worker_num}.", file=sys.stderr)
        return 2
    if not _there(given.task_script):
        print(f"lamella msrun: can't run {given.task_script!r}: there is no such file.",
              file=sys.stderr)
        return 2
    logs = pathlib.Path(given.log_dir or ".").resolve()
    logs.mkdir(parents=True, exist_ok=True)
    os.environ.update({
        _LOGS: str(logs / (given.worker_log_name or "worker_[rankid]")),
        _SHOWN: given.tail_worker_log if given.join and given.tail_worker_log != "-1" else
                ("all" if given.join else ""),
        "MS_WORKER_NUM": str(given.worker_num), "MS_ROLE": "MS_WORKER",
        "MS_SCHED_HOST": given.master_addr, "MS_SCHED_PORT": str(given.master_port)})
    program = [*given.task_script_args]
    if given.task_script.endswith(".py"):
        program = ["-m", "lamella", "run", given.task_script, *program]
    else:
        program = [given.task_script, *program]
    if given.sim_level != -1:
        return _simulate(given, program)
    return _launch(given, here, program)


def _there(program: str) -> bool:
    """Whether a program is a file here, or one that the shell would find."""
    return os.path.isfile(program) if program.endswith(".py") else bool(shutil.which(program))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lamella msrun", description=__doc__)
    add = parser.add_argument
    add("--worker_num", type=int, default=8, help="processes in all")
    add("--local_worker_num", type=int, default=8, help="processes on this machine")
    add("--master_addr", default="127.0.0.1", help="where the machines meet")
    add("--master_port", type=int, default=8118)
    add("--node_rank", type=int, default=-1, help="which machine this is, of several")
    add("--log_dir", default="", help="where the processes print to; default: here")
    add("--join", type=ast.literal_eval, default=False, choices=[True, False],
        help="show what the processes print, too")
    add("--cluster_time_out", type=int, default=600, help="seconds that the machines have to meet")
    add("--bind_core", default="False", help="accepted, without effect")
    add("--bind_numa", default="False", help="accepted, without effect")
    add("--sim_level", type=int, default=-1,
        help="0 or more: run one process only, of a world whose others aren't there")
    add("--sim_rank_id", type=int, default=-1, help="which one; default 0")
    add("--rank_table_file", default="", help="accepted, without effect")
    add("--worker_log_name", default="", help="instead of worker_[rankid]")
    add("--tail_worker_log", default="-1", help="with --join: whose output is shown, such as 0,3")
    add("task_script", help="the program")
    add("task_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def _launch(given: argparse.Namespace, here: int, program: list[str]) -> int:
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    machines = given.worker_num // here
    alone: dict[str, Any] = {"rdzv_backend": "c10d", "rdzv_endpoint": "127.0.0.1:0"}
    several: dict[str, Any] = {
        "rdzv_backend": "static", "rdzv_endpoint": f"{given.master_addr}:{given.master_port}",
        "rdzv_configs": {"rank": max(given.node_rank, 0), "timeout": given.cluster_time_out}}
    config = LaunchConfig(
        min_nodes=machines, max_nodes=machines, nproc_per_node=here, run_id="lamella",
        max_restarts=0, monitor_interval=0.1, start_method="spawn",
        **(alone if machines == 1 else several))
    command = [sys.executable, *program] if program[0] == "-m" else program
    try:
        elastic_launch(config, sys.executable)(
            "-I", "-S", bound.__file__, str(os.getpid()), *command)
    except ChildFailedError as error:
        rank, failure = min(error.failures.items(), key=lambda item: item[1].timestamp)
        code = failure.exitcode
        how = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
        first = max(given.node_rank, 0) * here
        well = sorted({*range(first, first + here)} - {*error.failures})  # what failed ends others
        if well:
            said = "process" if len(well) == 1 else "processes"
            how += f" after {said} {', '.join(map(str, well))} had ended with status 0"
        log = _log_of(rank)
        print(f"lamella msrun: process {rank} {how}; {log} ends with:", file=sys.stderr)
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        print("\n".join(f"    {line}" for line in lines[-_LAST:]), file=sys.stderr)
        return 1
    return 0


def _simulate(given: argparse.Namespace, program: list[str]) -> int:
    """Run one process of a world whose others aren't there; see `communication.simulate`."""
    rank = str(max(given.sim_rank_id, 0))
    command = [sys.executable, *program] if program[0] == "-m" else program
    done = subprocess.run(command, env={
        **os.environ, "RANK": rank, "WORLD_SIZE": str(given.worker_num), "LOCAL_RANK": "0",
        "MS_SIMULATION_LEVEL": str(given.sim_level)})
    return min(abs(done.returncode), 1)


def _log_of(rank: int) -> pathlib.Path:
    return pathlib.Path(os.environ[_LOGS].replace("[rankid]", str(rank)) + ".log")


def name_this_process() -> None:
    """In a process that msrun has started: MindSpore's variables, and output to the log."""
    rank = os.environ.get("RANK")
    if rank is None or _LOGS not in os.environ:
        return
    os.environ.update({"RANK_ID": rank, "RANK_SIZE": os.environ["WORLD_SIZE"],
                       "DEVICE_ID": os.environ["LOCAL_RANK"]})
    shown = os.environ[_SHOWN]
    log = _log_of(int(rank))
    if shown == "all" or rank in shown.split(","):
        tee = subprocess.Popen(["tee", str(log)], stdin=subprocess.PIPE, start_new_session=True)
        assert tee.stdin is not None
        target: IO[bytes] = tee.stdin
    else:
        target = open(log, "wb")
    sys.stdout.flush()
    with target:
        for stream in (1, 2):
            os.dup2(target.fileno(), stream)
