"""The search for the objects that a function may read or change when it runs."""

from __future__ import annotations

import functools
import importlib.util
import logging
import sys
import threading
import types
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from typing import Any

from ...core.classes import attributes_of, is_a, slot_of
from ...core.declared import caches_of, is_cache
from ...nn.cell_tree import REGISTRIES, CellTree
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from . import arguments
from .absent import note_absent, sought_by
from .arithmetic import arithmetic_of
from .bytecode import facts_of
from .kinds import (
    ATOMS,
    BUILT_IN,
    BY_NAME,
    CALLED,
    DATA,
    LEVELS,
    MAKING,
    behind,
    compared_by_code,
    functions_of,
    has_hidden_state,
    has_tensors_as_keys,
    has_value,
    is_derived,
    is_large,
    is_no_parameter,
    is_of_numpy,
    is_opaque,
    is_ours,
    is_users,
    is_users_code,
    parts_of,
    slots_of,
)
from .program_print import printer
from .reachable import Reachable
from .sources import (
    Attribute,
    Container,
    Fixed,
    Global,
    Slot,
    Source,
    Variable,
    named,
    names_to,
)
from .values import is_fixed, kind_of

# A program that reaches a large library by one of its objects has thousands. Above MANY, those of
# installed packages are followed only if they ran in a recording; above MOST there is no graph.
MANY_FUNCTIONS, MOST_FUNCTIONS = 1000, 4000
_OWN_KINDS = (list, dict, set, deque)


def reachable_from(*roots: Any, opened: Mapping[int, Any] | None = None,
                   without: Mapping[int, Any] | None = None, by_name: bool = False,
                   names: Iterable[str] = (), ran: Set[str] | None = None) -> Reachable:
    """The objects that code may read or change if it has these objects.

    Args:
        *roots: where the search begins.
        opened: by identity, the large containers and arrays to inspect.
        without: by identity, lists to leave out.
        by_name: whether Tensors of closures and globals are found by names, as attributes are.
        names: names that code may mention without being seen, such as computed ones.
        ran: the names of the only functions of installed packages to follow; None for all.
    """
    found = Reachable({} if opened is None else dict(opened), by_name)
    Search(found, names, ran, without or {}).run(roots)
    return found


def reachable_from_call(fn: Any, args: tuple, kwargs: dict, names: Iterable[str] = (),
                        more: Iterable[types.FunctionType] = (),
                        **options: Any) -> Reachable:
    """The objects that a call can reach, without the Tensors among its arguments.

    `more` are further functions that run in it; the options are those of `reachable_from`.
    """
    roots = fn, *arguments.roots_of((args, kwargs)), *more
    found = reachable_from(*roots, names=names, **options)
    if len(found.objects.functions) <= MANY_FUNCTIONS:
        return found
    return reachable_from(*roots, names=names, ran=frozenset(names), **options)


def _is_apart(space: Mapping[str, Any], name: str) -> bool:
    """Whether a name of a module is watched in another way, since recordings change it.

    `print` is another function while a thread records, see `program_print`.
    """
    return space is BUILT_IN and name == "print" or space is vars(sys) and name == "modules"


def _absolute(name: str, around: Mapping[str, Any]) -> str | None:
    """The whole name of a module that code imports by a relative one; None if there is none."""
    try:
        return importlib.util.resolve_name(name, around.get("__package__"))
    except (ImportError, TypeError):
        return None


class Search:
    """The search for the objects that a function may read or change.

    It follows closures, the globals that a function names, defaults, bound objects, partials,
    containers and the attributes of Cells and objects; also the methods of their classes and the
    contents of modules, if code found so far mentions their names. Objects of Lamella, PyTorch and
    Python's library are left out.

    Args:
        found: what it finds.
        names: names that code may mention without being seen, such as computed ones.
        ran: the names of the only functions of installed packages to follow; None for all.
        without: by identity, lists to leave out.
    """

    def __init__(self, found: Reachable, names: Iterable[str], ran: Set[str] | None,
                 without: Mapping[int, Any]):
        self.found = found
        self._ran, self._without = ran, without
        self._met: dict[int, dict[Any, Source | None]] = {}  # where those left out were found
        self._mentioned = set(names)
        self._weak: list[tuple[Any, Any, frozenset[str] | None]] = []
        self._members: dict[str, list[tuple[type, Any]]] = {}  # by names not mentioned so far
        self._modules: list[types.ModuleType] = []
        self._classes: list[type] = [Tensor, CellTree]
        self._sought: set[str] = set()
        self._waiting: deque[tuple[Any, Source | None]] = deque()

    def run(self, roots: Iterable[Any]) -> None:
        """Search from some objects."""
        found, most = self.found, MANY_FUNCTIONS if self._ran is None else MOST_FUNCTIONS
        self.visit_all(roots)
        while self._waiting:  # not recursive: chains of objects may be long
            self._look_at(*self._waiting.popleft())
            if len(found.objects.functions) > most:
                found.limits.refused = f"can reach more than {most} functions"
                self._waiting.clear()
        for reference, thing, lead in self._weak:
            if thing is None or thing in found.visited:
                continue
            if id(reference) in found.opened:
                found.limits.refused = "uses an object that is held by a weak reference only"
            found.limits.closed.append((reference, lead))
        note_absent(found.names, self._sought, self._modules, self._classes)
        found.limits.hidden = any(len(several) > 1 and any(
            source is None or source.path or type(source) is Fixed for source in several.values())
            for several in self._met.values())

    def visit(self, thing: Any, source: Source | None = None) -> None:
        """Look at an object later, if it hasn't been found yet."""
        if compared_by_code(type(type(thing))):
            self.found.limits.refused = (
                "uses an object of a class that a metaclass of the program's compares")
            return
        if type(thing) in weakref.ProxyTypes:
            self.note_weak(thing, behind(thing), source)
            return
        if id(thing) in self._without:
            self._met.setdefault(id(thing), {})[source and source.identity] = source
        if is_a(thing, Tensor) and not is_a(thing, Parameter):
            self.found.tensors.unnamed[id(thing)] = thing
        if thing not in self.found.visited and thing is not BUILT_IN and type(thing) not in ATOMS:
            self._waiting.append((thing, source))

    def _look_at(self, thing: Any, source: Source | None) -> None:
        if thing in self.found.visited:
            return
        self.found.visited.add(thing)
        if id(thing) in self._without:
            return
        if type(thing) is not Parameter:  # of which there are thousands
            kind = arithmetic_of(thing)
            if kind is not None:
                self.found.thread.arithmetic[kind] = None
            hashes = has_tensors_as_keys(thing)
            if id(thing) not in self.found.opened and (
                    hashes or is_large(thing) or is_opaque(thing)):
                self.found.limits.closed.append((thing, names_to(source)))
                return
            if hashes:
                self.found.limits.refused = "can find a Tensor in a dict or a set by its identity"
            if is_derived(thing):
                self.visit_object(thing)
        if is_a(thing, Tensor):
            self._visit_kind(thing)
        if is_a(thing, Parameter):
            self.found.tensors.parameters.append(thing)
            self.note(thing.__dict__, None)
            self._slots(thing.__dict__, functools.partial(Attribute, thing))
        elif is_a(thing, Tensor):
            self.found.tensors.others.append((thing, None))
        elif is_a(thing, CellTree):
            self._visit_cell(thing)
        elif is_a(thing, types.FunctionType):
            self._visit_function(thing)
        elif issubclass(type(thing), type):
            self._classes.append(thing)
            if is_users(thing.__module__):
                self._visit_class(thing)
                for cls in thing.__mro__:
                    for name in MAKING & vars(cls).keys():
                        self._use(cls, name, vars(cls)[name])
        elif is_a(thing, types.ModuleType):
            self._modules.append(thing)
            self._visit_module(thing, self._mentioned)
        else:
            kind_of(thing).visit(thing, source, self)

    def note(self, thing: Any, source: Source | None) -> Source:
        """Note a container; returns its source."""
        source = Fixed(thing) if source is None else source
        self.found.opened[id(thing)] = thing  # even if another thread makes it large meanwhile
        self.found.contents.containers.append(Container(thing, source))
        return source

    def note_slots(self, thing: Any, *names: str) -> None:
        """Note names of an object whose values are read as attributes, and visit these."""
        self.found.objects.slotted.append((thing, names))
        self.visit_all([getattr(thing, name) for name in names])

    def note_weak(self, reference: Any, thing: Any, source: Source | None) -> None:
        """Note a weak reference to an object."""
        self._weak.append((reference, thing, names_to(source)))

    def visit_behind(self, thing: Any, source: Source | None) -> None:
        """Visit the object that a view or a bound method holds, always the same one.

        Code may reach it without a name, so its content is compared, too.
        """
        if not is_fixed(thing):
            self.found.contents.behind.append(thing)
        self.visit(thing, None if source is None else Fixed(thing, source.key))

    def visit_all(self, things: Iterable[Any]) -> None:
        """Visit objects that no name leads to."""
        for thing in things:
            self.visit(thing)

    def visit_items(self, source: Source, items: Iterable[tuple[Any, Any]]) -> None:
        """Visit the parts of a container, by their keys."""
        is_named = self._is_named(source)
        for key, thing in items:
            if is_named and is_no_parameter(thing):
                self._keep(thing, source.at(key))
            else:
                self.visit(thing, source.at(key) if len(source.path) < LEVELS else None)

    def _is_named(self, source: Source) -> bool:
        """Whether a later call finds a container, and the Tensors in it, by names and keys."""
        kind = type(source)
        return (kind is Attribute or self.found.by_name and kind in (Global, Variable)) and (
            source.is_keyed())

    def _visit_cell(self, cell: CellTree) -> None:
        self.found.objects.cells.append(cell)
        self._visit_class(type(cell))
        for cls in type(cell).__mro__:
            self.found.names.use(cls, vars(cls), "__call__")
            if "__call__" in vars(cls):
                break
        for name in CALLED:
            for cls in type(cell).__mro__:
                if name in vars(cls):  # also of Lamella's classes: a program may replace methods
                    self.found.names.use(cls, vars(cls), name)
                    break
        own = cell.__dict__
        self.found.objects.dicts.append((cell, own))
        for registry in REGISTRIES:
            if registry in own:
                source = self.note(own[registry], Attribute(cell, registry))
                self._slots(own[registry], source.at)
        self._own(cell, REGISTRIES)

    def visit_object(self, thing: Any) -> None:
        """Visit the attributes of an object that may change them."""
        kind = type(thing)
        if is_a(thing, Iterator) and is_opaque(thing):
            self.found.limits.refused = (
                f"can draw from {kind.__name__!r}, an iterator made outside of it")
        elif is_opaque(thing):
            if attributes_of(thing) is not None and not has_hidden_state(kind):
                self._attributes(thing)
            else:
                self.found.limits.refused = f"uses {kind.__name__!r}, whose state can't be compared"
        elif is_ours(thing):
            if not is_a(thing, Reachable):  # it refers to whole modules, and is never changed
                self._attributes(thing)
        elif is_users(kind.__module__) or (kind.__module__, kind.__name__) in DATA:
            self._visit_class(kind)
            self._attributes(thing)
        elif is_of_numpy(thing):
            self._attributes(thing)
        elif is_a(thing, logging.Logger):  # its handlers and the root are left out
            self.found.objects.others.append(thing)
            self.found.objects.dicts.append((thing, thing.__dict__))
            self.note(thing.__dict__, None)

    def _attributes(self, thing: Any) -> None:
        own = attributes_of(thing)
        if is_a(thing, threading.local):
            self.found.thread.locals.append(own)
            self.found.thread.ident = threading.get_ident()
        if own is not None:
            self.found.objects.others.append(thing)
            self.found.objects.dicts.append((thing, own))
            self._own(thing)
        slots = slots_of(type(thing))
        if slots and is_users(type(thing).__module__):
            self.found.objects.slotted.append((thing, slots))
            self._slots({name: slot_of(thing, name, None) for name in slots},
                        functools.partial(Slot, thing))

    def _own(self, thing: Any, without: Collection[str] = ()) -> None:
        """Visit the attributes of an object."""
        own = attributes_of(thing)
        self.note(own, None)
        self._slots(own, functools.partial(Attribute, thing),
                    caches_of(type(thing)).union(without))

    def _slots(self, things: dict, source: Callable[[str], Source],
               without: Collection[str] = ()) -> None:
        """Visit values by name; Tensors there are found by their names, not by identity."""
        for name, thing in list(things.items()):
            if type(thing) in ATOMS or name in without:
                continue
            if is_no_parameter(thing):
                self._keep(thing, source(name))
            else:
                self.visit(thing, source(name))

    def _keep(self, tensor: Tensor, source: Source) -> None:
        """Note a Tensor by its source, unless it has been found elsewhere."""
        if tensor not in self.found.visited:
            self.found.visited.add(tensor)
            self._visit_kind(tensor)
            self.found.tensors.others.append((tensor, source))

    def _visit_kind(self, tensor: Tensor) -> None:
        """Visit the class of a Tensor, if it is derived."""
        if type(tensor) is not Tensor and type(tensor) is not Parameter:
            self.visit(type(tensor))

    def _visit_class(self, kind: type) -> None:
        """Visit a class and what it inherits: its attributes, its methods if they are mentioned.

        Attributes like ``__doc__`` count if they are mentioned, too: most are Python's.
        """
        if is_users(type(kind).__module__):
            self._visit_class(type(kind))
        for cls in kind.__mro__:
            if id(cls) in self.found.names.spaces or not is_users(cls.__module__):
                continue
            self.found.visited.add(cls)
            self.found.names.use(cls, vars(cls))
            for name, value in list(vars(cls).items()):
                if is_a(value, (types.GetSetDescriptorType, types.MemberDescriptorType)):
                    continue
                is_special, is_method = name[:2] == "__" == name[-2:], bool(functions_of(value))
                if name in self._mentioned or name in CALLED or (
                        is_special == is_method and name not in MAKING):
                    self._use(cls, name, value)
                elif name not in MAKING:
                    self._members.setdefault(name, []).append((cls, value))

    def _use(self, cls: type, name: str, member: Any) -> None:
        if not is_users(cls.__module__) or name in self.found.names.spaces[id(cls)][2]:
            return
        if functions := functions_of(member):
            self.found.names.use(cls, vars(cls), name)
            self.visit_all(functions)
        else:
            self._name(cls, vars(cls), name, member)

    def _name(self, owner: Any, names: Mapping[str, Any], name: str, value: Any) -> None:
        """Note that the value of a name in a module or a class is used."""
        self.found.names.use(owner, names, name)
        source = named(owner, name)
        if self.found.by_name and type(source) is Global and is_no_parameter(value):
            self._keep(value, source)
        else:
            self.visit(value, source)

    def _visit_function(self, function: types.FunctionType) -> None:
        # not its `__module__`, which `functools.wraps` takes from the function that it wraps
        users = is_users(function.__globals__.get("__name__")) and is_users_code(function.__code__)
        if not users and not function.__closure__:
            return
        code = function.__code__
        if self._ran is not None and "-packages" in code.co_filename and (
                code.co_name not in self._ran):
            return  # if it runs, `ran.not_found` says so, and the next recording follows it
        self.found.objects.functions.append(function)
        if users:
            self._attributes(function)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (),
                              strict=False):
            if cell not in self.found.visited:
                self.found.visited.add(cell)
                source = Variable(cell, name)
                self.found.names.variables.append(source)
                self.note(cell, None)
                if not has_value(cell):
                    continue
                if self.found.by_name and is_no_parameter(cell.cell_contents):
                    self._keep(cell.cell_contents, source)
                else:
                    self.visit(cell.cell_contents, source)
        self.visit_all((function.__defaults__, function.__kwdefaults__))
        if users:
            around, facts = function.__globals__, facts_of(function.__code__)
            names, read = facts.names, facts.globals
            for name in facts.methods:  # a program may replace them
                self.found.names.use(Tensor, vars(Tensor), name)
            imported = names if "modules" in names else facts.imports
            for name in names:
                if name in read:  # also one that isn't defined yet, and may hide a built-in
                    self._name(around, around, name, around.get(name))
                    if name not in around and name in BUILT_IN and not _is_apart(BUILT_IN, name):
                        self._name(BUILT_IN, BUILT_IN, name, BUILT_IN[name])
                if name in imported:
                    self._name(sys.modules, sys.modules, name, sys.modules.get(name))
                elif name in sys.modules and name not in around:  # the code may import it
                    self.visit(sys.modules[name])
            for name in facts.imports:
                if name.startswith(".") and (whole := _absolute(name, around)):
                    self._name(sys.modules, sys.modules, whole, sys.modules.get(whole))
            if "print" in names:  # the program may have replaced it by a function of its own
                self.visit(printer())
            self._sought |= sought_by(function.__code__)
            self._mention(names)

    def _mention(self, names: frozenset[str]) -> None:
        """Visit the methods and contents of modules that these names refer to."""
        new = names - self._mentioned
        self._mentioned |= new
        for name in new:
            for cls, member in self._members.pop(name, ()):
                self._use(cls, name, member)
        for module in list(self._modules):
            self._visit_module(module, new)

    def _visit_module(self, module: types.ModuleType, names: Set[str]) -> None:
        own = attributes_of(module)
        label = own.get("__name__")
        if not is_users(label):
            for name in [n for n in names if n in own]:
                if not _is_apart(own, name) and not is_cache(label, name):
                    self.found.names.use(own, own, name)
                    if is_a(own[name], (types.ModuleType, type, *_OWN_KINDS)) or is_opaque(
                            own[name]):
                        self.visit(own[name], Global(own, name))
            return
        self.found.names.use(own, own)  # it may get new names
        for name in [*names, "__getattr__"]:
            if name in own:
                self._name(own, own, name, own[name])
        if not BY_NAME.isdisjoint(names):  # the name may be computed
            for name, value in parts_of(own):
                if name[:2] == "__":
                    continue
                if not is_a(value, (types.ModuleType, type, types.FunctionType)):
                    self._name(own, own, name, value)
                else:  # functions that ran: see `ran.not_found`
                    self.found.names.use(own, own, name)
