"""Saving networks to checkpoint files, and reading the files back."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
import torch

from ..core import context
from ..core.require import of_type
from ..nn.cell import Cell
from ..tensors.parameter import Parameter, parameter_around
from ..tensors.tensor import Tensor
from . import background, held
from .checkpoint_format import FROM_PYTORCH, read_ckpt, write_ckpt
from .checkpoint_net import load_param_into_net
from .renaming import one_for_each
from .safetensors_format import read_safetensors, write_safetensors

__all__ = ["async_ckpt_thread_status", "load_checkpoint", "load_checkpoint_async",
           "save_checkpoint"]

_FORMATS = ("ckpt", "safetensors")


# -- saving --------------------------------------------------------------------------------------


def save_checkpoint(save_obj: Any, ckpt_file_name: str, integrated_save: bool = True,
                    async_save: bool | str = False, append_dict: dict | None = None,
                    enc_key: bytes | None = None, enc_mode: str = "AES-GCM",
                    choice_func: Callable[[str], Any] | None = None, crc_check: bool = False,
                    format: str = "ckpt", **kwargs: Any) -> None:
    """Write the parameters of a network to a file.

    The file is written beside its target and renamed when it is complete, so that a crash leaves an
    old file whole. Where the name is that of a symbolic link, what it points to is replaced.

    Args:
        save_obj: a Cell; a list of Parameters, or of ``{"name": ..., "data": tensor}``; or a dict
            of Parameters, Tensors, arrays or texts by name, as `load_checkpoint` returns.
        ckpt_file_name: the file; ``.ckpt`` or ``.safetensors`` is added when it doesn't end so.
        integrated_save: whether of Parameters that are cut for several processes the wholes are
            saved, which every process has to call for; or what this process holds of them. Then how
            they are cut is written to the strategy file that the settings name.
        async_save: True, ``"thread"`` or ``"process"`` copies the values now and writes them in a
            thread, which the program waits for at its end. An error there is raised by the next
            call of `save_checkpoint` or `load_checkpoint`.
        append_dict: more to save: numbers, booleans, texts, Tensors and Parameters by name; they
            replace those of a dict `save_obj`, and must have other names than Parameters.
        enc_key, enc_mode: encryption is not supported; `enc_key` must be None.
        choice_func: called with each parameter's name; says whether it is saved, or, with a str,
            under what name.
        crc_check: whether a checksum is written.
        format: ``"ckpt"`` or ``"safetensors"``.
        **kwargs: ``remove_redundancy`` is kept in a safetensors file's metadata; others have no
            effect.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: for an unknown format or `async_save`, or two values of one name.
        NotImplementedError: if `enc_key` is given.

    Examples:
        >>> import os, tempfile
        >>> import lamella as ms
        >>> path = os.path.join(tempfile.mkdtemp(), "w.ckpt")
        >>> w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
        >>> ms.save_checkpoint([w], path, append_dict={"epoch": 3})
        >>> ms.load_checkpoint(path)
        {'w': Parameter (name=w, shape=(2,), dtype=Float32, requires_grad=True),
         'epoch': Parameter (name=epoch, shape=(), dtype=Int64, requires_grad=True)}
    """
    path = _target(ckpt_file_name, format)
    _check_flag("save_checkpoint", "integrated_save", integrated_save)
    _check_flag("save_checkpoint", "crc_check", crc_check)
    of_type(async_save, (bool, str), "async_save", "save_checkpoint")
    if isinstance(async_save, str) and async_save not in ("thread", "process"):
        raise ValueError("For 'save_checkpoint', 'async_save' must be a bool, 'thread' or "
                         f"'process', but got {async_save!r}.")
    _check_key("save_checkpoint", "enc_key", enc_key)
    values = _values(save_obj, choice_func, integrated_save)
    more = _appended(append_dict)
    taken = [] if isinstance(save_obj, dict) else sorted(set(values) & set(more))
    if taken:
        raise ValueError(f"For 'save_checkpoint', 'append_dict' has {taken[0]!r}, which is the "
                         f"name of a Parameter that would be left out.")
    values.update(more)
    background.wait()
    if async_save:
        values = {name: value if isinstance(value, str) else value.detach().cpu().clone()
                  for name, value in values.items()}
        background.start(path, lambda: _write(path, values, crc_check, format, kwargs))
    else:
        _write(path, values, crc_check, format, kwargs)


def _write(path: str, values: Mapping[str, torch.Tensor | str], crc: bool, format: str,
           options: Mapping[str, Any]) -> None:
    if format == "ckpt":
        write_ckpt(path, values, crc)
    else:
        write_safetensors(path, values, crc, options.get("remove_redundancy"))


def _target(name: Any, format: str) -> str:
    if format not in _FORMATS:
        raise ValueError("For 'save_checkpoint', 'format' must be 'ckpt' or 'safetensors', "
                         f"but got {format!r}.")
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(f"For 'save_checkpoint', 'ckpt_file_name' must be a str, but got {name!r}.")
    path = os.path.abspath(name)  # the name as given decides, not that of what a link points to
    if os.path.isdir(path):
        raise IsADirectoryError("For 'save_checkpoint', 'ckpt_file_name' must be a file, "
                                f"but '{path}' is a directory.")
    return path if path.endswith(format) else f"{path}.{format}"


def _values(save_obj: Any, choice: Callable[[str], Any] | None, whole: bool) -> dict[str, Any]:
    """The raw tensors and texts to save, by the name to save them under."""
    values: dict[str, Any] = {}
    owners: dict[str, Any] = {}
    for name, value in _named(save_obj):
        name = _chosen(name, choice)
        if name is None:
            continue
        if owners.setdefault(name, value) is not value:
            raise ValueError(f"For 'save_checkpoint', two values have the name {name!r}, of which "
                             "only one could be saved. Give each Parameter a name of its own.")
        if hasattr(value, "export_data"):
            raise TypeError(f"For 'save_checkpoint', {name!r} is a table whose rows have keys, "
                            f"which a checkpoint has no place for. Leave it out by 'choice_func', "
                            f"and keep what its 'export_data' gives.")
        part = value if whole else held.held_part(value)
        if part is not None:
            values[name] = _plain(part)
    if not whole:
        held.write_layouts(save_obj, owners.items())
    return values


def _named(save_obj: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of all forms of `save_obj`."""
    if isinstance(save_obj, Cell):
        for _, parameter in save_obj.parameters_and_names():
            yield parameter.name, parameter
    elif isinstance(save_obj, dict):
        for name, value in save_obj.items():
            if not isinstance(name, str) or not isinstance(value, (Tensor, str, np.ndarray)):
                raise TypeError("For 'save_checkpoint', a dict must hold Parameters or texts by "
                                f"name, but got {name!r}: {type(value).__name__}.")
            yield name, value
    elif isinstance(save_obj, (list, tuple)):
        for value in save_obj:
            yield _list_element(value)
    else:
        raise TypeError("For 'save_checkpoint', 'save_obj' must be a Cell, a list or a dict, "
                        f"but got {type(save_obj).__name__}.")


def _list_element(value: Any) -> tuple[str, Any]:
    if isinstance(value, Parameter):
        return value.name, value
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        if isinstance(value.get("data"), (Tensor, np.ndarray, str)):
            return value["name"], value["data"]
    raise TypeError("For 'save_checkpoint', a list must hold Parameters or dicts such as "
                    '{"name": "w", "data": tensor}, '
                    f"but got {str(value)[:80]!r} of type {type(value).__name__}.")


def _appended(more: Any) -> dict[str, Any]:
    if more is None:
        return {}
    of_type(more, dict, "append_dict", "save_checkpoint")
    values = {}
    for name, value in more.items():
        if hasattr(value, "get_state"):  # a random Generator
            value = value.get_state()
        if not isinstance(name, str) or not isinstance(value, (int, float, str, Tensor)):
            raise TypeError("For 'save_checkpoint', 'append_dict' must hold numbers, booleans, "
                            "texts, Tensors or Parameters by name, "
                            f"but got {name!r}: {type(value).__name__}.")
        values[name] = _plain(value)
    return values


def _plain(value: Any) -> Any:
    """The raw tensor for a value, or the text itself."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Tensor):
        value = Tensor(value)
    return value.init_data()._raw.detach()


# -- loading -------------------------------------------------------------------------------------


def load_checkpoint(ckpt_file_name: Any, net: Cell | None = None, strict_load: bool = False,
                    filter_prefix: str | Sequence[str] | None = None,
                    dec_key: bytes | None = None, dec_mode: str = "AES-GCM",
                    specify_prefix: str | Sequence[str] | None = None,
                    choice_func: Callable[[str], Any] | None = None, crc_check: bool = False,
                    remove_redundancy: bool = False, format: str = "ckpt") -> dict[str, Any]:
    """Read the parameters that a file holds, and put them into a network if one is given.

    Reading never executes anything from a file.

    Args:
        ckpt_file_name: the file, which must end in `format`; or an io.BytesIO that holds a
            safetensors file.
        net: the network that gets the values, as by `load_param_into_net`.
        strict_load: as for `load_param_into_net`.
        filter_prefix: names that begin so, or with one of these, are left out.
        dec_key, dec_mode: encryption is not supported; `dec_key` must be None.
        specify_prefix: only names that begin so, or with one of these, are read.
        choice_func: called with each name unless a prefix is given; says whether the value is
            read, or, with a str, under what name, which must be one for each.
        crc_check: whether the file's checksum, if it has one, is compared.
        remove_redundancy: as for `load_param_into_net`.
        format: ``"ckpt"`` or ``"safetensors"``.

    Returns:
        dict of Parameters, or str for a text, by name.

    Raises:
        ValueError: if the file is missing, broken, of another format, or has none of the names;
            if `choice_func` gives one name to two values.
        TypeError: if an argument has the wrong type.
        NotImplementedError: if `dec_key` is given.

    Examples:
        >>> import os, tempfile
        >>> import lamella as ms
        >>> path = os.path.join(tempfile.mkdtemp(), "net.ckpt")
        >>> net = ms.nn.Dense(3, 2)
        >>> ms.save_checkpoint(net, path)
        >>> ms.load_checkpoint(path, choice_func=lambda name: name == "bias")
        {'bias': Parameter (name=bias, shape=(2,), dtype=Float32, requires_grad=True)}
    """
    keep = _selection(filter_prefix, specify_prefix, choice_func)
    _check_key("load_checkpoint", "dec_key", dec_key)
    for name, flag in (("strict_load", strict_load), ("crc_check", crc_check),
                       ("remove_redundancy", remove_redundancy)):
        _check_flag("load_checkpoint", name, flag)
    source = _source(ckpt_file_name, format)
    background.wait()
    try:
        read: Any = read_ckpt if format == "ckpt" else read_safetensors
        values = read(source, one_for_each("load_checkpoint", keep), crc_check)
    except OSError as error:
        raise ValueError(f"For 'load_checkpoint', the file '{source}' can't be read: "
                         f"{error.strerror}.") from error
    if not values:
        raise ValueError(f"For 'load_checkpoint', the file '{ckpt_file_name}' holds none of the "
                         "names that were asked for; check 'choice_func', 'filter_prefix' and "
                         "'specify_prefix'.")
    device = context.current_device()
    parameters = {name: value if isinstance(value, str) else
                  parameter_around(value.to(device), name) for name, value in values.items()}
    if net is not None:
        load_param_into_net(net, parameters, strict_load, remove_redundancy)
    return parameters


def _what_to_give(path: str) -> str:
    """The advice for a file whose ending isn't that of the format."""
    for format in _FORMATS:
        if path.endswith(f".{format}"):
            return f"Give format='{format}'."
    if path.endswith((".pt", ".pth", ".bin")):
        return f"It looks like a file of PyTorch's: {FROM_PYTORCH}."
    return "Give format='ckpt' or 'safetensors'."


def _source(name: Any, format: str) -> Any:
    if format not in _FORMATS:
        raise ValueError("For 'load_checkpoint', 'format' must be 'ckpt' or 'safetensors', "
                         f"but got {format!r}.")
    if isinstance(name, io.BytesIO):
        if format != "safetensors":
            raise TypeError("For 'load_checkpoint', a BytesIO must hold a safetensors file; "
                            'give format="safetensors".')
        return name
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(f"For 'load_checkpoint', 'ckpt_file_name' must be a str, but got {name!r}.")
    path = os.path.abspath(name)
    if not path.endswith(format):
        raise ValueError(f"For 'load_checkpoint', 'ckpt_file_name' must end in the format, "
                         f"'.{format}', but got '{name}'. {_what_to_give(path)}")
    if not os.path.exists(path):
        background.wait()  # it may still be being written
        if not os.path.exists(path):
            raise ValueError(f"For 'load_checkpoint', there is no file '{path}'.")
    return path


def _selection(without: Any, only: Any, choice: Any) -> Callable[[str], str | None]:
    """What gives the name to load a value under, or None to leave it out."""
    without, only = _prefixes("filter_prefix", without), _prefixes("specify_prefix", only)
    if without is None and only is None:
        return lambda name: _chosen(name, choice)

    def keep(name: str) -> str | None:
        wanted = only is None or name.startswith(only)
        return name if wanted and not (without and name.startswith(without)) else None

    return keep


def _prefixes(argument: str, prefix: Any) -> tuple[str, ...] | None:
    if prefix is None:
        return None
    prefixes = (prefix,) if isinstance(prefix, str) else prefix
    if not isinstance(prefixes, (list, tuple)) or not all(isinstance(p, str) for p in prefixes):
        raise TypeError(f"For 'load_checkpoint', '{argument}' must be a str, or a list or tuple of "
                        f"them, but got {prefix!r}.")
    if not prefixes or "" in prefixes:
        raise ValueError(f"For 'load_checkpoint', '{argument}' must not be empty or have an empty "
                         f"element, but got {prefix!r}.")
    return tuple(prefixes)


def _chosen(name: str, choice: Callable[[str], Any] | None) -> str | None:
    if choice is None:
        return name
    if not callable(choice):
        raise TypeError(f"For checkpoints, 'choice_func' must be a function of a parameter's name, "
                        f"but got {choice!r}.")
    answer = choice(name)
    if isinstance(answer, str):
        return answer
    return name if answer else None


def _check_flag(function: str, name: str, value: Any) -> None:
    of_type(value, bool, name, function)


def _check_key(function: str, name: str, key: Any) -> None:
    if key is not None:
        raise NotImplementedError(f"For '{function}', encryption is not supported: '{name}' must "
                                  "be None. Encrypt the file as a whole instead.")


# -- in the background ---------------------------------------------------------------------------


def load_checkpoint_async(ckpt_file_name: str, net: Cell | None = None, strict_load: bool = False,
                          filter_prefix: Any = None, dec_key: bytes | None = None,
                          dec_mode: str = "AES-GCM", specify_prefix: Any = None,
                          choice_func: Callable[[str], Any] | None = None) -> Future:
    """Read a file in a thread; arguments as for `load_checkpoint`, the format by the file's ending.

    Returns:
        Future, whose ``result()`` waits and gives the dict, or raises the error.

    Examples:
        >>> import os, tempfile
        >>> import lamella as ms
        >>> path = os.path.join(tempfile.mkdtemp(), "w.ckpt")
        >>> ms.save_checkpoint([ms.Parameter(1.0, name="w")], path)
        >>> ms.load_checkpoint_async(path).result()
        {'w': Parameter (name=w, shape=(), dtype=Float32, requires_grad=True)}
    """
    format = "safetensors" if str(ckpt_file_name).endswith(".safetensors") else "ckpt"
    return background.future(lambda: load_checkpoint(
        ckpt_file_name, net, strict_load, filter_prefix, dec_key, dec_mode, specify_prefix,
        choice_func, format=format))


def async_ckpt_thread_status() -> bool:
    """Whether a `save_checkpoint` with `async_save` is still writing.

    Examples:
        >>> import lamella as ms
        >>> ms.async_ckpt_thread_status()
        False
    """
    return background.busy()
