"""XLA in this process: its client, and executables that run on PyTorch's memory.

The client is one of `jaxlib`'s: a program that uses JAX itself keeps its own, with its settings
and threads. The names that are used here are not documented ones, so `lamella[xla]` asks for the
versions of JAX that they are known of; with any other, `available` is false.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from ...core.forking import Lock

ALIGNED = 64  # bytes: other memory is copied when it is imported
VERSIONS = ("0.10.",)  # of jaxlib
_making = Lock()
_clients: list[Any] = []
_forked: list[bool] = []


@functools.lru_cache(maxsize=1)
def available() -> bool:
    """Whether XLA may be used: jaxlib is installed in a known version, JAX too."""
    try:
        if not (importlib.util.find_spec("jaxlib") and importlib.util.find_spec("jax")):
            return False
        return version().startswith(VERSIONS)
    except (ImportError, ValueError, AttributeError):
        return False


@functools.lru_cache(maxsize=1)
def version() -> str:
    """The version of jaxlib, without its import."""
    return importlib.metadata.version("jaxlib")


class Executable:
    """Machine code of XLA, called with PyTorch's tensors.

    Args:
        code: the serialized executable.
        orders: for each input, its dimensions in the order in which they lie in memory.
        stays: for each input, whether it is in the same memory in most calls. It is then imported
            once; its values are read in each call.
        results: the shape and the strides of each result.
        otherwise: computes the same in a forked process, where XLA's threads are missing.
    """

    def __init__(self, code: bytes, orders: Sequence[Sequence[int] | None], stays: Sequence[bool],
                 results: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
                 otherwise: Callable[[list[torch.Tensor]], list[torch.Tensor]]):
        self._client = client()
        devices = self._client.local_devices()[:1]
        self._device = devices[0]
        xla = _xla()
        self._run = self._client.deserialize_executable(
            code, xla.DeviceList(tuple(devices)), None).execute
        self._import = xla.dlpack_managed_tensor_to_buffer
        self._export = xla.buffer_to_dlpack_managed_tensor
        self._wait = xla.batched_block_until_ready
        self._orders = list(orders)
        self._stays = list(stays)
        # each with its address in one tuple, since other threads read them meanwhile
        self._kept: list[tuple[int, Any]] = [(0, None)] * len(self._orders)
        self._results = list(results)
        self._otherwise = otherwise

    def __call__(self, values: list[torch.Tensor]) -> list[torch.Tensor]:
        """The results, in new memory.

        Raises:
            RuntimeError: if XLA fails.
        """
        if _forked:
            return self._otherwise(values)
        kept, arrays = self._kept, []
        for i, value in enumerate(values):
            place, array = kept[i]
            arrays.append(array if place and place == value.data_ptr()
                          else self._imported(i, value))
        found = self._run(arrays)
        self._wait(found[:1])  # afterwards the program may change what was read
        results = []
        for array, (shape, strides) in zip(found, self._results, strict=True):
            raw = torch._C._from_dlpack(self._export(array))  # type: ignore[attr-defined]
            results.append(raw if raw.stride() == strides and raw.shape == shape
                           else raw.as_strided(shape, strides))
        return results

    def _imported(self, number: int, value: torch.Tensor) -> Any:
        order, place = self._orders[number], value.data_ptr()
        raw = value.detach()
        dense = (raw if order is None else raw.permute(*order)).contiguous()
        array = self._import(torch._C._to_dlpack(dense), self._device, None)  # type: ignore[attr-defined]
        if self._stays[number] and place % ALIGNED == 0 and dense.data_ptr() == place:
            self._kept[number] = place, array
        return array


def client() -> Any:
    """XLA's client for the CPU, made at the first call, with as many threads as PyTorch has.

    This takes a second, mostly since the first import of a tensor imports JAX.
    """
    with _making:
        if not _clients:
            if "jax" not in sys.modules:  # it would warn of each fork, but no child uses it
                warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
            with _variables(NPROC=str(torch.get_num_threads()), TF_CPP_MIN_LOG_LEVEL="3"):
                made = importlib.import_module("jaxlib.xla_client").make_cpu_client(
                    asynchronous=False)
                _xla().dlpack_managed_tensor_to_buffer(
                    torch._C._to_dlpack(torch.zeros(1)),  # type: ignore[attr-defined]
                    made.local_devices()[0], None)
            _clients.append(made)
        return _clients[0]


@contextlib.contextmanager
def _variables(**values: str) -> Iterator[None]:
    """Sets environment variables for a while."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _xla() -> Any:
    return importlib.import_module("jaxlib._jax")


def _forget() -> None:
    _forked[:] = [True] if _clients else []


os.register_at_fork(after_in_child=_forget)
