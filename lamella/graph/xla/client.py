"""XLA in this process: its client, and executables that run on PyTorch's memory.

The client is one of `jaxlib`'s: a program that uses JAX itself keeps its own, with its settings
and threads. The names that are used here are not documented ones, so `lamella[xla]` asks for the
versions of JAX that they are known of; with any other, `available` is false.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import importlib.metadata
import importlib.util
import math
import os
import pathlib
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from ...core.forking import Lock
from ...machine.alignment import ALIGNED
from ...machine.extension import Extension
from ...machine.imports import without_draws

PLACES = 16  # places in memory of one input whose arrays are kept
KEPT = 2**24  # bytes of a copy whose memory is kept: a new one in each call leaves holes
VERSIONS = ("0.10.",)  # of jaxlib
FLAGGED = "XLA's code can't compute this"  # as in `call.cpp`; the replay says why, or can
extension = Extension("lamella_xla_call", pathlib.Path(__file__).with_name("call.cpp"))
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


class Result(NamedTuple):
    """Where a result lies in the arrays that XLA gives.

    Attributes:
        array: the number of the array.
        offset: of its first element, if it is a part of that.
        shape, strides: as PyTorch's kernel gave them.
    """

    array: int
    offset: int | None
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Executable:
    """Machine code of XLA, called with PyTorch's tensors.

    An import takes longer than many a kernel. So XLA's arrays are kept by the places in memory
    that inputs have had. They are names of that memory, and don't own it: one is used only while
    an input lies there.

    Args:
        code: the serialized executable.
        taken: the numbers of the stage's inputs that XLA takes; others are constants.
        orders: for each input, its dimensions in the order in which they lie in memory.
        results: where each result lies in what XLA gives.
        flag: the array, and the number of its element, that isn't 0 if a matrix can't be
            factorized, or a loop takes more steps than there is room for; None if there is none.
        otherwise: computes the same in a forked process, where XLA's threads are missing.

    Attributes:
        memory: the bytes that a call takes at the most, its results among them.
    """

    def __init__(self, code: bytes, taken: Sequence[int], orders: Sequence[Sequence[int] | None],
                 results: Sequence[Result], flag: Sequence[int] | None,
                 otherwise: Callable[[list[torch.Tensor]], list[torch.Tensor]]):
        self._client = client()
        devices = self._client.local_devices()[:1]
        self._device = devices[0]
        if b"lapack_" in code:
            _load_lapack()
        xla = _xla()
        executable = self._client.deserialize_executable(code, xla.DeviceList(tuple(devices)), None)
        self._run, self._run_all = executable.execute, executable.execute_sharded
        needs = executable.get_compiled_memory_stats()
        self.memory = needs.temp_size_in_bytes + needs.output_size_in_bytes
        self._handler = xla.array_result_handler
        self._import = xla.dlpack_managed_tensor_to_buffer
        self._export = xla.buffer_to_dlpack_managed_tensor
        self._wait = xla.batched_block_until_ready
        self._taken, self._orders = list(taken), list(orders)
        self._kept: list[dict[int, Any]] = [{} for _ in self._orders]  # by address
        self._copies = threading.local()  # of inputs, by their numbers
        self._results = list(results)
        self._flag = None if flag is None else tuple(flag)
        self._otherwise = otherwise

    def in_cpp(self) -> Callable[[list[torch.Tensor]], list[torch.Tensor]]:
        """The call in C++, if it has been built: it takes a third of the time."""
        built = extension.load()
        if built is None:
            return self
        me = weakref.ref(self)  # it lives as long as the stage, of which C++ must not be a part
        return built.make(self._taken, self._run_all,
                          lambda arrays: [me()._handler(array.aval, array.sharding, True, True)  # type: ignore[union-attr]
                                          for array in arrays],
                          self._wait, self._export,
                          lambda number, value: me()._imported(number, value),  # type: ignore[union-attr]
                          lambda values: me()._otherwise(values),  # type: ignore[union-attr]
                          [order or [] for order in self._orders], self._results, self._flag)

    def __call__(self, values: list[torch.Tensor]) -> list[torch.Tensor]:
        """The results, in new memory.

        Raises:
            RuntimeError: if XLA fails, or the flag is set, with the text `FLAGGED`.
        """
        if _forked:
            return self._otherwise(values)
        values = [values[i] for i in self._taken]
        arrays = [kept.get(value.data_ptr()) for kept, value in zip(
            self._kept, values, strict=True)]
        if None in arrays:
            arrays = [self._known(i, value) if array is None else array
                      for i, (array, value) in enumerate(zip(arrays, values, strict=True))]
        found = self._run(arrays)
        self._wait(found[:1])  # afterwards the program may change what was read
        wholes = [torch._C._from_dlpack(self._export(array))  # type: ignore[attr-defined]
                  for array in found]
        if self._flag is not None and wholes[self._flag[0]].view(-1)[self._flag[1]]:
            raise RuntimeError(FLAGGED)
        results = []
        for which, offset, shape, strides in self._results:
            raw = wholes[which]
            if offset is not None:  # with storage of its own
                raw = raw.as_strided(shape, strides, offset).clone()
            results.append(raw if raw.stride() == strides and raw.shape == shape
                           else raw.as_strided(shape, strides))
        return results

    def _known(self, number: int, value: torch.Tensor) -> Any:
        """An array of an input's values, which is kept, or memory for the next copy."""
        copies: Any = self._copies.__dict__
        if number in copies:
            copy, array = copies[number]
            order = self._orders[number]
            copy.copy_(value.detach() if order is None else value.detach().permute(*order))
            return array
        array, copy = self._imported(number, value)
        if copy is None:
            kept = self._kept[number]
            if len(kept) >= PLACES:
                kept.clear()
            kept[value.data_ptr()] = array
        elif copy is not False:
            copies[number] = copy, array
        return array

    def _imported(self, number: int, value: torch.Tensor) -> tuple[Any, Any]:
        """An array of an input's values, and a second value: None if the array is a view of the
        input; the tensor that it is a view of if that is a copy, for further copies; False if the
        array is used once.
        """
        order, place, raw = self._orders[number], value.data_ptr(), value.detach()
        raw = raw if order is None else raw.permute(*order)
        # complex numbers may be kept as their conjugates, in the same memory
        if place % ALIGNED == 0 and raw.is_contiguous() and raw.numel() and not raw.is_complex():
            return self._array(_named(raw)), None
        if not 0 < raw.nbytes <= KEPT:
            return self._array(raw.resolve_conj().contiguous()), False
        copy = torch.empty(raw.shape, dtype=raw.dtype)
        copy.copy_(raw)
        return self._array(copy), copy

    def _array(self, dense: torch.Tensor) -> Any:
        return self._import(torch._C._to_dlpack(dense), self._device, None)  # type: ignore[attr-defined]


def results_of(packs: Sequence[Sequence[int]], shapes: Sequence[Sequence[int]],
               strides: Sequence[Sequence[int]], flag: Sequence[int] | None) -> list[Result]:
    """Where results lie, given for each array the results that it holds one after another.

    A flag is the last part of one of the arrays, or one of its own.
    """
    found: list[Any] = [None] * len(shapes)
    for array, pack in enumerate(packs):
        offset = 0
        for i in pack:
            is_part = len(pack) > 1 or (flag is not None and flag[0] == array)
            found[i] = Result(array, offset if is_part else None,
                              torch.Size(shapes[i]), tuple(strides[i]))
            offset += math.prod(shapes[i])
    return found


def _named(dense: torch.Tensor) -> torch.Tensor:
    """The same memory as a tensor that doesn't own it."""
    memory = (ctypes.c_char * dense.nbytes).from_address(dense.data_ptr())
    return torch.frombuffer(memory, dtype=dense.dtype).view(dense.shape)


def prepare() -> None:
    """Have the client made; if that fails, so does the next call of `client`, which says why."""
    with contextlib.suppress(Exception):
        client()


def client() -> Any:
    """XLA's client for the CPU, made at the first call, with as many threads as PyTorch has.

    This takes a second, mostly for the import of JAX, which the import of a tensor needs.
    """
    with _making:
        if not _clients:
            if "jax" not in sys.modules:  # it would warn of each fork, but no child uses it
                warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
            with _variables(NPROC=str(torch.get_num_threads()), TF_CPP_MIN_LOG_LEVEL="3"):
                made = importlib.import_module("jaxlib.xla_client").make_cpu_client(
                    asynchronous=False)
                without_draws("jax")
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


@functools.cache
def _load_lapack() -> None:
    """Let XLA's code call LAPACK, which SciPy brings."""
    importlib.import_module("jax.lax.linalg")  # registers its functions
    importlib.import_module("jaxlib.lapack")._lapack.initialize()


def _xla() -> Any:
    return importlib.import_module("jaxlib._jax")


def _forget() -> None:
    _forked[:] = [True] if _clients else []


os.register_at_fork(after_in_child=_forget)
