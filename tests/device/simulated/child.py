"""Runs a test on the simulated device: ``child.py LIBRARY MODULE FUNCTION ARGUMENTS``."""

from __future__ import annotations

import faulthandler
import importlib
import json
import sys
import warnings
from pathlib import Path

import lamella as ms
from tests.device.simulated import torch_module


def warn_as_errors() -> None:
    """Warnings are errors, except for one of PyTorch's where a CPU's kernel stands in."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "An output with one or more elements was resized")


def run(library: str, module: str, function: str, arguments: str) -> None:
    """Call a test with the arguments, given as JSON, on the simulated device of number 1.

    A number of the CPU's or of device 0's in its place is a mixed device, which kernels refuse.
    """
    faulthandler.enable()
    torch_module.load(Path(library))
    test = getattr(importlib.import_module(module), function)
    ms.set_device("simulated", 1)
    ms.set_seed(0)
    warn_as_errors()
    sys.modules["simulated"].counts()
    test(**json.loads(arguments))


if __name__ == "__main__":
    run(*sys.argv[1:])
