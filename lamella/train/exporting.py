"""Networks as files that need no Python code: `export` and `load`.

``"MINDIR"`` is MindSpore's format (`mindir/`), ``"LAMELLA"`` one of Lamella's own that has a form
of every operation (`network_file.py`). ``"ONNX"`` is for other runtimes, ``"PACKAGE"`` for PyTorch,
``"STABLEHLO"`` for JAX.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from ..core.require import of_type, one_of
from ..graph.xla.lowering import NotLowered
from ..nn.cell import Cell
from ..nn.graph_cell import Graph
from ..tensors.tensor import Tensor
from .atomic_file import replacing
from .mindir import NoForm, read_mindir, write_mindir
from .mindir import Unwritable as NotInMindIR
from .network_file import Unwritable, read_network, write_network
from .onnx_operators import sorted_in_onnx
from .package import write_package
from .recorded_network import line_of_operation, names_of, recorded
from .stablehlo import stablehlo_of

__all__ = ["export", "load", "write_onnx"]


def export(net: Any, *inputs: Any, file_name: str, file_format: str, **kwargs: Any) -> None:
    """Write a network to a file that can be run without its Python code.

    Args:
        net: a Cell, in the mode in which it is to run: ``net.set_train(False)`` for prediction. For
            ``"STABLEHLO"`` also a function of Tensors, such as a gradient function.
        *inputs: an example of each input. Where a size may vary give
            ``Tensor(shape=[None, 3], dtype=...)``.
        file_name: the file; its ending is added if it isn't there.
        file_format: ``"MINDIR"``, which MindSpore 2.10 loads, and `load` here; ``"LAMELLA"``, which
            only `load` here reads, and which has a form of every operation; ``"ONNX"``;
            ``"PACKAGE"``, machine code for this kind of processor in a file ``.pt2``, which runs
            with PyTorch and without Lamella, and takes half a minute or more to compile; or
            ``"STABLEHLO"``, which `jax.export.deserialize` reads, for one size of each input.
        **kwargs: options of MindSpore's for encryption and obfuscation must be None; others have no
            effect.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: for an unknown `file_format`.
        RuntimeError: if the network can't be recorded, such as when it needs a Tensor's value, or
            has an operation that the format has no form of; it is named, with its line.
        ModuleNotFoundError: if a package is missing that the format needs.

    Examples:
        >>> import os, tempfile
        >>> import lamella as ms
        >>> net = ms.nn.Dense(2, 1, weight_init="ones", has_bias=False)
        >>> path = os.path.join(tempfile.mkdtemp(), "net")
        >>> any_batch = ms.Tensor(shape=[None, 2], dtype=ms.float32)
        >>> ms.export(net, any_batch, file_name=path, file_format="MINDIR")
        >>> run = ms.nn.GraphCell(ms.load(path + ".mindir"))
        >>> print(run(ms.ops.ones((3, 2))).shape)
        (3, 1)
    """
    one_of(file_format, tuple(_WRITERS), "file_format", "export")
    if file_format == "STABLEHLO" and not isinstance(net, Cell):
        if not callable(net):
            raise TypeError(f"For 'export', 'net' must be a Cell or a function, but got {net!r}.")
        path = _path(file_name)
    else:
        path = _checked(net, file_name)
    for name in ("enc_key", "obf_config"):
        if kwargs.get(name) is not None:
            raise ValueError(f"For 'export', '{name}' must be None: encryption and obfuscation are "
                             f"not supported.")
    _WRITERS[file_format](path, net, inputs)


def _write_own(path: str, net: Cell, inputs: Sequence[Any]) -> None:
    program, parameters = recorded(net, inputs)
    path = path if path.endswith(".lamella") else f"{path}.lamella"
    try:
        write_network(path, program, parameters)
    except Unwritable as error:
        raise RuntimeError(f"For 'export', {type(net).__name__} can't be written as 'LAMELLA': the "
                           f"format has no place for {error}.") from error


def _write_mindir(path: str, net: Cell, inputs: Sequence[Any]) -> None:
    program, parameters = recorded(net, inputs)
    path = path if path.endswith(".mindir") else f"{path}.mindir"
    try:
        write_mindir(path, program, parameters, names_of(net, inputs))
    except NoForm as error:
        name, line = line_of_operation(net, program, error.node)
        raise RuntimeError(f"For 'export', MindIR has no form of the operator '{name}'{line}: "
                           f"{error}. Write that line with other operators, or export to "
                           f"'LAMELLA' or 'ONNX'.") from error
    except NotInMindIR as error:
        raise RuntimeError(f"For 'export', {type(net).__name__} can't be written as 'MINDIR': the "
                           f"format has no place for {error}.") from error


def _write_package(path: str, net: Cell, inputs: Sequence[Any]) -> None:
    program, _ = recorded(net, inputs)
    write_package(path if path.endswith(".pt2") else f"{path}.pt2", program)


def load(file_name: str, **kwargs: Any) -> Graph:
    """Read a network that `export` has written as ``"MINDIR"``, here or in MindSpore, or as
    ``"LAMELLA"``.

    `nn.GraphCell` runs it. A file that isn't trusted runs no code, neither when it is read nor when
    the network runs.

    Args:
        file_name: the file, which ends in ``.mindir`` or ``.lamella``.
        **kwargs: options of MindSpore's for decryption must be None.

    Raises:
        ValueError: if the file is missing or damaged, or has operators that Lamella hasn't.

    Examples:
        >>> import lamella as ms
        >>> ms.load("net.ckpt")
        Traceback (most recent call last):
            ...
        ValueError: For 'load', 'file_name' must end in '.mindir' or '.lamella', but got 'net.ckpt'.
    """
    if not isinstance(file_name, (str, os.PathLike)):
        raise TypeError(f"For 'load', 'file_name' must be a str, but got {file_name!r}.")
    path = os.fspath(file_name)
    if not path.endswith((".mindir", ".lamella")):
        raise ValueError(f"For 'load', 'file_name' must end in '.mindir' or '.lamella', but got "
                         f"{path!r}.")
    if kwargs.get("dec_key") is not None:
        raise ValueError("For 'load', 'dec_key' must be None: encryption is not supported.")
    if not os.path.isfile(path):
        raise ValueError(f"For 'load', there is no file '{path}'.")
    with open(path, "rb") as file:
        head = file.read(9)
    if head.startswith(b"PK"):
        raise ValueError(f"For 'load', '{path}' is an archive of PyTorch's, which could run code "
                         f"when it is read. Export the network again with this version.")
    own = head[8:] == b"{"  # also a `.mindir` that Lamella 0.1 wrote
    try:
        return read_network(path) if own else read_mindir(path)
    except ValueError as error:
        problem = "is broken" if own else "can't be read"
        raise ValueError(f"For 'load', '{path}' {problem}: {error}") from error


def write_onnx(net: Any, inputs: Sequence[Any], file_name: str,
               input_names: Sequence[str] | None = None,
               output_names: Sequence[str] | None = None,
               dynamic_axes: dict[str, Any] | None = None) -> None:
    """Write a network as ONNX, by PyTorch's exporter.

    Args:
        net, inputs: as for `export`.
        file_name: the file.
        input_names, output_names: their names there; default: those of the arguments of
            `construct`, and PyTorch's.
        dynamic_axes: which dimensions of an input may vary: a list, or names by dimension, by the
            input's name.

    Raises:
        ModuleNotFoundError: if the packages 'onnx' and 'onnxscript' are missing.
        RuntimeError: if ONNX has no form of an operator; it is named, with its line.
    """
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"Exporting ONNX needs the package '{error.name}'; "
                                  f"pip install 'lamella[onnx]'.", name=error.name) from error
    path = _checked(net, file_name)
    path = path if path.endswith(".onnx") else f"{path}.onnx"
    names = list(input_names or names_of(net, inputs))
    if len(names) != len(inputs):
        raise ValueError(f"For 'export', 'input_names' must name {len(inputs)} inputs, "
                         f"but got {names}.")
    open_axes = _open_axes(dynamic_axes or {}, names, inputs, output_names or ())
    program, _ = recorded(net, inputs, open_axes, stateful=False)
    with _quiet(), replacing(path) as new:
        try:
            made: Any = torch.onnx.export(
                program, (), input_names=names, verbose=False, dynamo=True,
                output_names=list(output_names) if output_names else None,
                custom_translation_table={torch.ops.aten.sort.stable: sorted_in_onnx})
        except Exception as error:
            raise _not_in_onnx(error, net, program) from error
        made.save(new)


def _open_axes(axes: dict[str, Any], names: Sequence[str], inputs: Sequence[Any],
               output_names: Sequence[str]) -> list[set[int]]:
    """The dimensions of each input that may vary; those of outputs follow from them."""
    for name, given in axes.items():
        if name not in (*names, *output_names):
            raise ValueError(f"For 'export', 'dynamic_axes' must have names of inputs or outputs, "
                             f"{', '.join((*names, *output_names))}, but got {name!r}.")
        rank = getattr(inputs[names.index(name)], "ndim", 0) if name in names else None
        if rank is not None and not all(-rank <= axis < rank for axis in given):
            raise ValueError(f"For 'export', 'dynamic_axes' must be dimensions of the input "
                             f"{name!r}, which has {rank}, but got {given}.")
    return [set(axes.get(name, ())) for name in names]


def _not_in_onnx(error: Exception, net: Cell, program: Any) -> RuntimeError:
    """The error for an operator that PyTorch's exporter can't write."""
    found = re.search(r"target=torch\.ops\.(\w+\.\w+\.\w+)", str(error))
    if found is None:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return RuntimeError(f"For 'export', the network can't be written as ONNX: {first}")
    every: Any = torch._decomp  # type: ignore[attr-defined]
    parts = program.run_decompositions(dict(every.decomposition_table))
    node = next(node for node in parts.graph.nodes if str(node.target) == found[1])
    name, line = line_of_operation(net, program, node)
    return RuntimeError(f"For 'export', ONNX has no form of the operator '{name}'"
                        f"{line}. Write that line with other operators, or export to "
                        f"'MINDIR'.")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporter's warnings about itself and about packages that it could have used."""
    log = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


def _write_stablehlo(path: str, net: Callable[..., Any], inputs: Sequence[Any]) -> None:
    for number, value in enumerate(inputs):
        if isinstance(value, Tensor) and None in value.__dict__.get("sizes", ()):
            raise ValueError(f"For 'export', 'STABLEHLO' is for one size of each input, but input "
                             f"{number} has open sizes: {value.__dict__['sizes']}.")
    try:
        for package in ("jax", "jaxlib", "flatbuffers"):
            importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"Exporting StableHLO needs the package '{error.name}'; "
                                  f"pip install 'lamella[xla]'.", name=error.name) from error
    try:
        made = stablehlo_of(net, inputs)
    except NotLowered as reason:
        raise RuntimeError(f"For 'export', the function can't be written as 'STABLEHLO', because "
                           f"of {reason}.") from reason
    with replacing(path if path.endswith(".stablehlo") else f"{path}.stablehlo") as new, \
            open(new, "wb") as file:
        file.write(made)


def _checked(net: Any, file_name: Any) -> str:
    of_type(net, Cell, "net", "export")
    return _path(file_name)


def _path(file_name: Any) -> str:
    if not isinstance(file_name, (str, os.PathLike)):
        raise TypeError(f"For 'export', 'file_name' must be a str, but got {file_name!r}.")
    return os.path.realpath(file_name)


_WRITERS = {"MINDIR": _write_mindir, "LAMELLA": _write_own, "PACKAGE": _write_package,
            "STABLEHLO": _write_stablehlo,
            "ONNX": lambda path, net, inputs: write_onnx(net, inputs, path)}
