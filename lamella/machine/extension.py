"""A C++ extension: built once on each machine, in the background; all work without it."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable
from types import ModuleType

import torch

from ..core.forking import Lock
from . import background, cache, library

PATIENCE = 1800.0  # seconds for building
TORCH = pathlib.Path(torch.__file__).parent


class Extension:
    """A Python module in one C++ file, on PyTorch's headers and those beside it.

    ``LAMELLA_CPP=0`` leaves it out, as the lack of a compiler or of a cache folder does.

    Args:
        name: of the module.
        source: the file.
        for_this_processor: whether it uses all that this processor can do, and threads.

    Attributes:
        module: the module; None as long as it isn't loaded.
        is_finished: whether it won't be built any more in this process, or is there.
    """

    def __init__(self, name: str, source: pathlib.Path, for_this_processor: bool = False):
        self.name = name
        self.source = source
        self.for_this_processor = for_this_processor
        self.module: ModuleType | None = None
        self.is_finished = False
        self._requested = False
        self._ready = True  # whether there may be a library to load
        self._loading = Lock()

    def load(self) -> ModuleType | None:
        """The module, if it has been built in this process or an earlier one."""
        if self._ready and self.module is None and self._loading.acquire(blocking=False):
            try:
                self._look()
            finally:
                self._loading.release()
        return self.module

    def _look(self) -> None:
        if self._ready and self.module is None:
            self._ready = False  # until it is built: looking takes as long as a small step
            if is_wanted():
                self._load()
            else:
                self.is_finished = True

    def request(self) -> None:
        """Have it built, unless that has been tried."""
        if self._requested or self.module is not None:
            return
        self._requested = True
        if not is_wanted() or compiler() is None or self._key() is None:
            self.is_finished = True
        else:
            background.submit(lambda: self.build(background.run))

    def obtain(self) -> ModuleType | None:
        """The module, if it has been built; else it is built from now on."""
        self.request()
        return self.load()

    @property
    def is_awaited(self) -> bool:
        """Whether it is being built."""
        return self._requested and not self.is_finished

    def leave_out(self) -> None:
        """Do without it in this process."""
        self._requested = self.is_finished = True
        self._ready = False

    def build(self, run: Callable[..., bool]) -> None:
        """Build it and keep it.

        Args:
            run: runs a command in a folder, as `background.run` does.
        """
        folder, key = cache.draft(), self._key()
        try:
            if folder is not None and key is not None and cache.entry(key) is None:
                if run(self._command(folder), folder, PATIENCE):
                    library.keep(folder / "module.so", folder, "module.so")
                else:  # this compiler can't: it isn't tried again soon
                    (folder / "failed").touch()
                cache.publish(folder, key)
                folder = None
        finally:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            self._ready = self.is_finished = True

    def _load(self) -> None:
        key = self._key()
        folder = cache.entry(key) if key is not None else None
        if folder is None:
            return
        if (folder / "failed").exists():
            self.leave_out()
            return
        try:
            file = library.checked(folder, "module.so")
            spec = importlib.util.spec_from_file_location(self.name, file)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        except Exception as damage:  # whatever its code does when it is loaded
            cache.discard(folder, str(damage).split("\n")[0])
        else:
            self.module, self.is_finished = module, True

    def _key(self) -> str | None:
        """Its name in the cache: a digest of everything that a built library depends on."""
        if cache.cache_folder() is None:
            return None
        return cache.key_of_code(
            self.name, *self._texts(), torch.__version__,
            torch.version.git_version, sysconfig.get_config_var("SOABI"),
            sysconfig.get_platform(), compiler(),
            *([cache.processor()] if self.for_this_processor else []))

    def _texts(self) -> list[str]:
        """The source, and the files beside it that it includes."""
        text = self.source.read_text(encoding="utf-8")
        return [text, *(self.source.with_name(name).read_text(encoding="utf-8")
                        for name in re.findall(r'^#include "(\w+\.h)"', text, re.MULTILINE))]

    def _command(self, folder: pathlib.Path) -> list[str]:
        headers, libraries = TORCH / "include", TORCH / "lib"
        places = [headers, headers / "torch/csrc/api/include", sysconfig.get_paths()["include"]]
        shared = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
        kernels = ["-O3", "-march=native", "-fopenmp"] if self.for_this_processor else ["-O2"]
        return [str(compiler()), *kernels, "-std=c++20", "-shared", "-fPIC", "-fvisibility=hidden",
                *shared, *(f"-I{place}" for place in places), str(self.source),
                "-o", str(folder / "module.so"), f"-L{libraries}",
                "-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]


def is_wanted() -> bool:
    """Whether extensions are used at all: ``LAMELLA_CPP`` isn't 0."""
    return os.environ.get("LAMELLA_CPP") != "0"


def compiler() -> str | None:
    """The C++ compiler: ``$CXX``, else the first one found; None if there is none."""
    named = os.environ.get("CXX")
    return next((found for name in ([named] if named else ["g++", "clang++", "c++"])
                 if (found := shutil.which(name))), None)
