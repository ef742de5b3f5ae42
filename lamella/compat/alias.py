"""Make ``import mindspore`` mean Lamella, in this process and those that it starts.

``install()`` puts a finder in front of `sys.meta_path`. From then on ``mindspore`` and every module
path under it that programs import (``mindspore.ops.operations``, ``mindspore.common.api``,
``mindspore.nn.optim.optimizer``, ...) are facades: small modules that hold the very objects of
Lamella's modules, so ``mindspore.nn.Cell is lamella.nn.Cell``. They are modules of their own, not
Lamella's, so that nothing in Lamella changes and `uninstall` leaves no trace; a program that
replaces ``mindspore.nn.Dense`` replaces it for users of the alias. The real package, if there is
one, is left alone, and is what ``import mindspore`` finds again after `uninstall`.

``mindspore.__version__`` is the version of MindSpore whose surface Lamella follows, or that
``LAMELLA_MINDSPORE`` names, because programs compare it; ``lamella.__version__`` stays Lamella's
own.

From the command line: ``python -m lamella run script.py`` and ``pytest -p lamella.alias``. Both
also let NumPy 2 give what NumPy 1 had, as programs of MindSpore's were written for that.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from multiprocessing import spawn
from pathlib import Path
from types import ModuleType
from typing import Any

from ..core import context
from ..core.versions import __version__, asked_version
from ..legacy import names, numpy_conversions, numpy_names
from .absent import is_mindspores, nearest, why_left_out
from .alias_paths import (
    CLASSES_ONLY,
    FUNCTIONS,
    INNER,
    LATER,
    LISTED_MODULES,
    ROOMS,
    SHARED,
    SOURCES,
)
from .foreign_names import in_module
from .missing import is_from_import

__all__ = ["install", "installed", "uninstall"]

class MissingName(AttributeError):
    """A name of MindSpore that Lamella does not have; the hint is made only when it is shown."""

    def __init__(self, module: str, name: str):
        super().__init__(name=name)
        self.module = module

    def __str__(self) -> str:
        return _missing(f"{self.module}.{self.name}")


class Facade(ModuleType):
    """A module of ``mindspore`` that shows what Lamella has under that path."""

    __lamella_sources__: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":  # made when it is asked for: some rooms are imported for it
            return _shown(self)
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name)
        for source in self.__lamella_sources__:
            value = getattr(_lamella(source), name, _NOTHING)
            if value is not _NOTHING and not _is_room(value):
                return value
        path = f"{self.__name__}.{name}"
        shown = path.removeprefix("mindspore.")
        if shown in INNER:
            return importlib.import_module(f"mindspore.{INNER[shown]}")
        if name not in FUNCTIONS and _sources(path) is not None:
            return importlib.import_module(path)
        older = _older(path)
        if older is not None:
            return older
        if is_from_import(sys._getframe(1)):
            raise ImportError(_missing(path), name=path)
        raise MissingName(self.__name__, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # the import system binds a submodule in its parent
        if not (isinstance(value, Facade) and name in FUNCTIONS):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        prefix = self.__name__.removeprefix("mindspore").lstrip(".")
        depth = prefix.count(".") + 1 if prefix else 0
        inside = f"{prefix}." if prefix else ""
        paths = (p for p in (*SOURCES, *SHARED) if p.startswith(inside) and p)
        children = {p.split(".")[depth] for p in paths}
        children = {c for c in children if _sources(f"{self.__name__}.{c}") is not None}
        offered = {n for source in self.__lamella_sources__ for n in _offered(source)
                   if not _is_module(source, n) or _sources(f"{self.__name__}.{n}") is not None}
        inner = {path.rpartition(".")[2] for path in INNER if path.rpartition(".")[0] == prefix}
        return sorted({*super().__dir__(), *children, *offered, *inner})

    def __repr__(self) -> str:
        return f"<module {self.__name__!r} from Lamella>"


_NOTHING = object()


def _lamella(path: str) -> ModuleType:
    return importlib.import_module(f"lamella.{path}" if path else "lamella")


@functools.cache
def _exists(path: str) -> bool:
    try:
        return importlib.util.find_spec(f"lamella.{path}" if path else "lamella") is not None
    except ModuleNotFoundError:  # a parent is no package, or is missing
        return False


def _sources(fullname: str) -> tuple[str, ...] | None:
    """Where Lamella keeps the names of a module of mindspore; None if it has no such module."""
    path = fullname.removeprefix("mindspore").lstrip(".")
    if path == "version":
        return ()
    if path not in SOURCES and path not in SHARED and path.rpartition(".")[0] in ROOMS and path:
        return None
    places = dict.fromkeys((path, *SOURCES.get(path, ())))
    return tuple(place for place in places if _exists(place)) or None


def _older(path: str) -> Any:
    """What an older version of MindSpore had under a path, a module or a name; None for nothing."""
    owner, _, name = path.removeprefix("mindspore").lstrip(".").rpartition(".")
    found = names.name(owner, name)
    if found is not None:
        return found
    return importlib.import_module(path) if names.module(f"{owner}.{name}".lstrip(".")) else None


class _Metadata(Distribution):
    """What `importlib.metadata.version` and its like read about ``mindspore``."""

    def read_text(self, filename: str) -> str | None:
        """The text of a file of the package's metadata, which has one."""
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: mindspore\nVersion: {asked_version()}\n"

    def locate_file(self, path: Any) -> Path:
        """Where a file of the package is."""
        return Path(__file__).parents[1] / path


class _Finder:
    """Finds ``mindspore`` and what is under it; nothing else."""

    @staticmethod
    def find_distributions(context: DistributionFinder.Context) -> Iterator[Distribution]:
        """The package's metadata, if these are asked for."""
        if context.name in (None, "mindspore"):
            yield _Metadata()

    @staticmethod
    def find_spec(fullname: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != "mindspore" and not fullname.startswith("mindspore."):
            return None
        sources = _sources(fullname)
        if sources is not None:
            return ModuleSpec(fullname, _Loader(sources), is_package=True)
        if sys._getframe(2).f_globals.get("__name__") == "importlib.util":
            return None  # the caller checks whether the module exists
        sources = names.module(fullname.removeprefix("mindspore."))
        if sources is not None:
            return ModuleSpec(fullname, _Loader(sources), is_package=True)
        raise ModuleNotFoundError(_missing(fullname), name=fullname)


class _Loader(Loader):
    """Makes one facade."""

    def __init__(self, sources: tuple[str, ...]):
        self.sources = sources

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Facade(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        names = module.__dict__
        path = module.__name__.removeprefix("mindspore").lstrip(".")
        names["__lamella_sources__"] = (*self.sources, *LATER.get(path, ()))
        for source in reversed(self.sources):
            origin = _lamella(source)
            names.update(_public(origin))
            names["__doc__"], names["__file__"] = origin.__doc__, origin.__file__
        if module.__name__ in ("mindspore", "mindspore.version"):
            names["__version__"] = asked_version()
        if module.__name__ == "mindspore":
            _load_companions()


# modules of other packages that `import mindspore` loads: programs say ``import PIL`` and then use
# ``PIL.Image``
_COMPANIONS = ("PIL.Image", "PIL.ImageOps", "packaging.version")


def _load_companions() -> None:
    for path in _COMPANIONS:
        with contextlib.suppress(ImportError):
            importlib.import_module(path)


def _public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What a module shows, without what it would import for that."""
    listed = getattr(module, "__all__", None)
    for name in list(vars(module)) if listed is None else listed:
        if not name.startswith("_"):
            value = getattr(module, name)
            if not isinstance(value, ModuleType):
                yield name, value


def _shown(module: ModuleType) -> list[str]:
    """What ``from module import *`` gives: no rooms but those that MindSpore lists."""
    names = vars(module)
    path = module.__name__.removeprefix("mindspore").lstrip(".")
    shown = list(dict.fromkeys([*(n for n in names if not n.startswith("_")),
                                *LISTED_MODULES.get(path, ())]))
    for place in (path,) if _exists(path) else SOURCES.get(path, ()):  # such as `dataset.engine`
        if "__dir__" in vars(_lamella(place)):  # it has names that aren't there yet
            shown += [n for n in _offered(place) if n not in names and not _is_module(place, n)]
    if module.__name__.removeprefix("mindspore.").startswith(CLASSES_ONLY):
        shown = [n for n in shown if isinstance(getattr(module, n), type)]
    return shown


def _offered(source: str) -> list[str]:
    """The public names of a module of Lamella, with those that it imports when they are named."""
    module = _lamella(source)
    names = getattr(module, "__all__", None) or dir(module)
    return [n for n in names if not n.startswith("_")]


def _is_module(source: str, name: str) -> bool:
    """Whether a name of a module of Lamella is another module, which need not be imported yet."""
    module = _lamella(source)
    if name in vars(module):
        return isinstance(vars(module)[name], ModuleType)
    return _exists(f"{source}.{name}".lstrip("."))


def _is_room(value: Any) -> bool:
    """Whether a value is a module other than Python's own, which programs import from anywhere
    (``from mindspore.log import logging``)."""
    return (isinstance(value, ModuleType)
            and value.__name__.partition(".")[0] not in sys.stdlib_module_names)


def _missing(path: str) -> str:
    """The message for a path under mindspore that Lamella lacks, with the nearest one it has."""
    reason = why_left_out(path)
    if reason is not None:
        return f"Lamella {__version__} does not have {path!r}: {reason}"
    parent, _, name = path.rpartition(".")
    here = [n for n in dir(sys.modules.get(parent)) if not n.startswith("__")]
    rooms = ["mindspore"] + [f"mindspore.{r}" for r in "nn ops mint numpy train amp".split()]
    elsewhere = [f"{room}.{name}" for room in rooms if room != parent and _has(room, name)]
    theirs = is_mindspores(parent, name)
    near = None if theirs else nearest(name, here)
    hint = ""
    foreign = None if theirs else in_module(f"lamella{parent.removeprefix('mindspore')}", name)
    if foreign is not None:
        hint = f" For {foreign.framework}'s '{foreign.name}': {foreign.remedy}."
    elif elsewhere:
        hint = f" It has {elsewhere[0]!r}."
    elif near:
        hint = f" The nearest name it has is '{parent}.{near}'."
    yet = " yet; MindSpore 2.10 has it" if theirs else ""
    return f"Lamella {__version__} does not have {path!r}{yet}.{hint}"


def _has(room: str, name: str) -> bool:
    sources = _sources(room) or ()
    return any(hasattr(_lamella(s), name) for s in sources)


class _Inherited:
    """Pickled as a call that installs the alias where it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        folder = str(Path(__file__).parents[2])  # which may not be on the path there
        then = "; lamella.context.use_cpu_instead()" if context.cpu_instead() else ""
        return exec, (f"import sys; sys.path.append({folder!r}); "
                      f"import lamella.alias; lamella.alias.install(){then}",)


_described = spawn.get_preparation_data


def _described_with_alias(name: str) -> dict[str, Any]:
    """Run in a new process that isn't forked, before it imports the main program."""
    return {"lamella": _Inherited(), **_described(name)}


_finder: _Finder | None = None
_aside: dict[str, ModuleType] = {}
_undone_at_end: list[Callable[[], None]] = []  # what the plugin of pytest has changed


def _ours(name: str) -> bool:
    return name == "mindspore" or name.startswith("mindspore.")


def installed() -> bool:
    """Whether ``import mindspore`` means Lamella now."""
    return _finder is not None


def install() -> None:
    """Make ``import mindspore``, and every module path under it, resolve to Lamella.

    Works on this process and those that it starts with `multiprocessing`, and can be called again
    without harm. Modules of a real MindSpore that were imported before are put aside until
    `uninstall`.

    Examples:
        >>> import lamella.alias
        >>> lamella.alias.install()
        >>> import mindspore
        >>> from mindspore.common import dtype as mstype
        >>> mindspore.Tensor is lamella.Tensor, mstype.float32 is lamella.float32
        (True, True)
        >>> mindspore.__version__
        '2.10.0'
        >>> lamella.alias.uninstall()
    """
    global _finder
    if _finder is not None:
        return
    _exists.cache_clear()
    for name in filter(_ours, tuple(sys.modules)):  # at once, since threads may import
        _aside[name] = sys.modules.pop(name)
    _finder = _Finder()
    sys.meta_path.insert(0, _finder)  # type: ignore[arg-type]
    spawn.get_preparation_data = _described_with_alias


def uninstall() -> None:
    """Undo `install`: ``import mindspore`` finds the real package again, or nothing.

    Objects that were imported through the alias stay what they are.
    """
    global _finder
    if _finder is None:
        return
    sys.meta_path.remove(_finder)  # type: ignore[arg-type]
    spawn.get_preparation_data = _described
    _finder = None
    for name in filter(_ours, tuple(sys.modules)):  # at once, since threads may import
        del sys.modules[name]
    sys.modules.update(_aside)
    _aside.clear()


def pytest_addoption(parser: Any) -> None:
    """The first hook a plugin gets, before any conftest.py (``pytest -p lamella.alias``)."""
    install()
    _undone_at_end[:] = numpy_names.offer(), numpy_conversions.offer()


def pytest_make_parametrize_id(config: Any, val: Any, argname: str) -> str | None:
    """The name of a value in a test's name, as under NumPy 1: lists of tests were made with it."""
    return "bool_" if val is numpy_names.BOOLEAN else None


def pytest_unconfigure(config: Any) -> None:
    """The last hook: pytest may be running inside a program of its own."""
    while _undone_at_end:
        _undone_at_end.pop()()
    uninstall()
