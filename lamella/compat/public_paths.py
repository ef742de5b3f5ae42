"""MindSpore's modules that lie in a room here: ``lamella.hal`` is ``lamella.device.hal``.

A path of the table and its room's file are one and the same module, imported when it is first
named.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

# what programs call it, under lamella -> where it is
PLACES = {
    "_c_dataengine": "compat._c_dataengine",
    "_c_expression": "compat._c_expression",
    "_checkparam": "core.checks",
    "_extends": "compat._extends",
    "alias": "compat.alias",
    "context": "core.context",
    "debug": "insight.debug",
    "device_context": "device.device_context",
    "dtype": "core.dtype",
    "hal": "device.hal",
    "log": "core.log",
    "mindrecord": "dataset.mindrecord",
    "multiprocessing": "compat.multiprocessing",
    "onnx": "train.onnx",
    "profiler": "train.profiler",
    "random": "tensors.random",
    "runtime": "device.runtime",
    "tree": "core.tree",
}
_PACKAGE = __name__.partition(".")[0]


class _SameModule(Loader):
    """Gives the module of another path."""

    def __init__(self, path: str):
        self.path = path

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module, imported now if it wasn't yet."""
        module = importlib.import_module(self.path)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: it has run. Importing it again under another path changed its ``__spec__``."""
        spec = module.__spec__
        if spec is not None and spec.loader is self:
            module.__spec__ = spec.loader_state


class _Places:
    """Finds the paths of the table, and what is below them."""

    @staticmethod
    def find_spec(fullname: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> ModuleSpec | None:
        package, _, inside = fullname.partition(".")
        first, dot, rest = inside.partition(".")
        if package != _PACKAGE or first not in PLACES:
            return None
        place = f"{_PACKAGE}.{PLACES[first]}{dot}{rest}"
        if dot and importlib.util.find_spec(place) is None:
            return None
        return ModuleSpec(fullname, _SameModule(place))


def install() -> None:
    """Let Python's import find the paths of the table."""
    if not any(isinstance(finder, _Places) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Places())  # type: ignore[arg-type]
