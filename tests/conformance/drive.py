"""Runs a family in a separate process, and continues after a case that crashes it or hangs."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from .runner import family

ROOT = Path(__file__).parents[2]
PATIENCE = 60  # seconds for one case; the first one imports the framework


def run(python: str, framework: str, name: str) -> list[Any]:
    """What each case of a family gives on a framework, in the environment of `python`."""
    count = len(family(name))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "results"
        results: list[Any] = [None] * count
        first = 0
        while first < count:
            ended = _until_it_ends(python, framework, name, out, first)
            for line in out.read_text().splitlines() if out.exists() else []:
                index, result = json.loads(line)
                results[index] = result
            at = Path(f"{out}.at")
            if not at.exists() or not at.read_text().strip():
                raise RuntimeError(f"{python} can't run {framework}: {ended}")
            stopped = int(at.read_text())
            if results[stopped] is None:
                results[stopped] = {"e": ended}
            first = stopped + 1
    return results


def _until_it_ends(python: str, framework: str, name: str, out: Path, first: int) -> str:
    """Run from case `first` on; "crash" or "hang", if it doesn't end regularly."""
    environment = {**os.environ, "GLOG_v": "4", "PYTHONPATH": str(ROOT), "LAMELLA_CACHE": "0"}
    process = subprocess.Popen(
        [python, "-m", "tests.conformance.runner", framework, name, str(out), str(first)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    seen, since = -1, time.monotonic()
    while process.poll() is None:
        time.sleep(0.2)
        size = out.stat().st_size if out.exists() else 0
        if size != seen:
            seen, since = size, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            process.kill()
            process.wait()
            return "hang"
    return "crash"
