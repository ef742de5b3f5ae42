"""Networks as packages of machine code that run without Lamella."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from .atomic_file import replacing

__all__ = ["write_package"]

# it would take 10 s, and save 3 in each further export
_OPTIONS = {"aot_inductor.precompile_headers": False}


def write_package(path: str, program: Any) -> None:
    """Compile what `torch.export` has recorded by AOTInductor, and write the package.

    Args:
        path: the file.
        program: the ExportedProgram.

    Raises:
        RuntimeError: if it can't be compiled, such as without a C++ compiler.
    """
    with tempfile.TemporaryDirectory() as folder, _quiet(), torch.no_grad():
        made = os.path.join(folder, "network.pt2")
        try:
            torch._inductor.aoti_compile_and_package(
                program, package_path=made, inductor_configs=_OPTIONS)
        except Exception as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise RuntimeError(f"For 'export', the network can't be compiled as 'PACKAGE': {first}"
                               ) from error
        with replacing(path) as new:
            shutil.copyfile(made, new)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without PyTorch's warnings about itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
