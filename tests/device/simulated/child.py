"""Runs a test on the simulated device: ``child.py LIBRARY MODULE FUNCTION ARGUMENTS``."""

from __future__ import annotations

import faulthandler
import importlib
import json
import sys
from pathlib import Path

import lamella as ms
from tests.device.simulated import target, torch_module


def run(library: str, module: str, function: str, arguments: str) -> None:
    """Call a test with the arguments, given as JSON, on the simulated device of number 1.

    A number of the CPU's or of device 0's in its place is a mixed device, which kernels refuse.
    """
    faulthandler.enable()
    torch_module.load(Path(library))
    test = getattr(importlib.import_module(module), function)
    ms.set_device(target.NAME, target.INDEX)
    ms.set_seed(0)
    target.warn_as_errors()
    sys.modules["simulated"].counts()
    test(**json.loads(arguments))


if __name__ == "__main__":
    run(*sys.argv[1:])
