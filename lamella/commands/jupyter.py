"""Notebooks: a kernel in which ``import mindspore`` is Lamella, and ``%load_ext lamella``."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import re
import sys
import tempfile
from typing import Any

from ..compat import alias

__all__ = ["install", "load_ipython_extension", "uninstall", "unload_ipython_extension"]


def install(name: str = "lamella", prefix: str | None = None) -> str:
    """Install a kernel that runs this Python, with the alias.

    Args:
        name: the kernel's, in Jupyter's list.
        prefix: the folder of an environment, such as `sys.prefix`; default: the user's own folder.

    Returns:
        A sentence that says where it lies.

    Raises:
        ImportError: without the packages ipykernel and jupyter_client (the extra ``notebook``).
        ValueError: if the name isn't one of letters, digits, ``-``, ``_`` and ``.``, which begins
            with a letter or a digit; or if there is another's kernel of this name.
        OSError: if the folder can't be written to.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise ValueError(f"For 'jupyter install', 'name' must be of letters, digits, '-', '_' and "
                         f"'.', and begin with a letter or a digit, but got {name!r}.")
    _needed("ipykernel")
    manager = _manager()
    kernels = pathlib.Path(prefix, "share", "jupyter", "kernels") if prefix \
        else pathlib.Path(manager.user_kernel_dir)
    if (there := kernels / name.lower()).exists():  # Jupyter would replace it, whatever it is
        _check_own(name, there)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # it is copied with its mode
        pathlib.Path(folder, "kernel.json").write_text(json.dumps(specification(name), indent=1),
                                                       encoding="utf-8")
        where = manager.install_kernel_spec(folder, name, user=prefix is None, prefix=prefix)
    return (f"The kernel {name!r} is in {where}. In Jupyter choose "
            f"'{specification(name)['display_name']}'.")


def specification(name: str) -> dict[str, Any]:
    """What Jupyter is told of the kernel."""
    title = "Lamella" if name == "lamella" else f"Lamella ({name})"
    return {"argv": [sys.executable, "-m", "lamella", "run", "-m", "ipykernel_launcher", "-f",
                     "{connection_file}"],
            "display_name": title, "language": "python", "metadata": {"debugger": True}}


def uninstall(name: str = "lamella") -> str:
    """Remove the kernel.

    Raises:
        ImportError: without the package jupyter_client.
        ValueError: if there is none of this name that `install` has made.
    """
    manager = _manager()
    folder = manager.find_kernel_specs().get(name)
    if folder is None:
        raise ValueError(f"There is no kernel {name!r}.")
    _check_own(name, folder)
    manager.remove_kernel_spec(name)
    return f"The kernel {name!r} in {folder} is removed."


def _check_own(name: str, folder: Any) -> None:
    """Raise ValueError unless `install` has made the kernel in a folder."""
    try:
        argv = json.loads(pathlib.Path(folder, "kernel.json").read_text(encoding="utf-8"))["argv"]
    except (OSError, ValueError, LookupError, TypeError):
        argv = []
    if "lamella" not in argv:
        raise ValueError(f"The kernel {name!r} in {folder} isn't Lamella's.")


def _manager() -> Any:
    _needed("jupyter_client")
    from jupyter_client.kernelspec import KernelSpecManager
    return KernelSpecManager()


def _needed(package: str) -> None:
    try:
        importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f"This needs the package '{package}'. Install it with 'pip install "
                          f"lamella[notebook]', or 'pip install {package}'.") from error


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext lamella``: from now on ``import mindspore`` means Lamella in this notebook.

    Args:
        shell: IPython's.
    """
    alias.install()


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext lamella``: ``import mindspore`` means MindSpore's package again.

    Args:
        shell: IPython's.
    """
    alias.uninstall()
