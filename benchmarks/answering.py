"""Processes that answer requests: a line each way, the answer as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any


class Answering:
    """A process that runs a module and answers until its input ends.

    Args:
        module: what it runs (``python -m``).
        *arguments: its arguments.
        env: its environment.
        quiet: whether what it writes as errors is dropped.
        python: the program that runs it.

    Attributes:
        begun: its first answer, which it gives when it is ready.
    """

    def __init__(self, module: str, *arguments: str, env: Mapping[str, str], quiet: bool = False,
                 python: str = sys.executable):
        self.process = subprocess.Popen(
            [python, "-m", module, *arguments], text=True, env=dict(env),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else None)
        self.begun = self._answer()

    def ask(self, request: str) -> Any:
        """The answer to a request."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{request}\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker ended with status {self.process.wait()}")
        return json.loads(line)

    def end(self) -> None:
        """End the process."""
        self.process.communicate()
