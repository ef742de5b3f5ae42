"""Kinds of values: for each, how it is searched, compared, copied and put back.

To add a kind, write a class and a line of `_KINDS`. Other threads may change containers while they
are read: see `parts_of`.
"""

from __future__ import annotations

import contextvars
import enum
import functools
import hashlib
import random
import types
import weakref
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.classes import built_in, is_a
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from .kinds import (
    ATOMS,
    BUFFERS,
    BUILT_IN,
    CACHED,
    LEVELS,
    PLAIN,
    VIEWS,
    ByIdentities,
    ByIdentity,
    FunctionWrapper,
    attributes_in,
    default_of,
    described,
    in_another_order,
    is_large,
    may_have_attributes,
    parts_of,
)
from .sources import ABSENT, Source, content_of

if TYPE_CHECKING:
    from .search import Search

LONGEST = 1024  # of a container that is compared part by part
WHOLE = object()  # as a key: the whole content
GROWN = object()  # as a key: elements that were added at the end of a list
_SHORT = 4096  # bytes of an array that are kept; of a longer one a digest is kept
_LARGE, _AGAIN = "large", "again"
Opened = Mapping[int, Any] | None
Met = dict[int, int]  # containers by identity, numbered


class Kind:
    """A kind of values; this one is immutable, or its state is its attributes.

    Attributes:
        refused: what a run does that changes such a value; empty if a replay can repeat it.
        may_hold_itself: whether its parts may lead to it again.
        by_content: whether another object with the same content and attributes is equal to it.
    """

    refused = ""
    may_hold_itself = False
    by_content = False

    def visit(self, thing: Any, source: Source | None, search: Search) -> None:
        """Have a search visit what a value leads to."""
        search.visit_object(thing)

    def comparable(self, value: Any, depth: int, opened: Opened, met: Met) -> Any:
        """What is compared of the value (see `comparable`)."""
        return value if type(value).__eq__ is object.__eq__ else ByIdentity(value)

    def is_fixed(self, value: Any) -> bool:
        """Whether the result of `comparable` stays the same as long as the object does."""
        return not (self.by_content and may_have_attributes(type(value)))

    def copy(self, thing: Any) -> Any:
        """A copy of what it holds."""
        raise NotImplementedError

    def changes(self, thing: Any, before: Any, without: Collection[str] = ()
                ) -> Iterator[tuple[Any, Any]]:
        """What differs from a copy: keys with the values now, or `WHOLE` with the whole content.

        A list that only has more at its end gives `GROWN` with these elements: other threads may
        append to it, too.
        """
        now = self.copy(thing)
        if now is not before:
            yield WHOLE, now

    def put_back(self, thing: Any, before: Any) -> None:
        """Give it the content of a copy again."""
        raise NotImplementedError


class _Changing(Kind):
    """Mutable values."""

    def is_fixed(self, value: Any) -> bool:
        return False


class _Plain(Kind):
    """Numbers and texts, of classes derived from Python's."""

    by_content = True

    def visit(self, thing: Any, source: Source | None, search: Search) -> None:
        """Do nothing: its attributes have been visited, if it has any."""

    def comparable(self, value: Any, depth: int, opened: Opened, met: Met) -> Any:
        # of Python's class: the program's may compare them in its own way
        return type(value), comparable(built_in(type(value), "__getnewargs__")(value))


class _Scalar(Kind):
    """NumPy's numbers."""

    by_content = True

    def comparable(self, value: Any, depth: int, opened: Opened, met: Met) -> Any:
        return type(value), value.tobytes()


class _Container(_Changing):
    """Lists and tuples."""

    may_hold_itself = by_content = True

    def visit(self, thing: Any, source: Source | None, search: Search) -> None:
        search.visit_items(search.note(thing, source), enumerate(parts_of(thing)))

    def comparable(self, value: Any, depth: int, opened: Opened, met: Met) -> Any:
        if depth >= LEVELS:
            return super().comparable(value, depth, opened, met)
        parts = parts_of(value)
        if len(parts) > LONGEST and set(map(type, flat := self._flat(parts))) <= ATOMS:
            return type(value), ByIdentities(flat)
        return type(value), self._parts(parts, depth + 1, opened, met)

    def _flat(self, parts: list[Any]) -> list[Any]:
        return parts

    def _parts(self, parts: list[Any], depth: int, opened: Opened, met: Met
               ) -> tuple[Any, ...]:
        return tuple([comparable(part, depth, opened, met) for part in parts])

    def copy(self, thing: Any) -> Any:
        return parts_of(thing)

    def changes(self, thing: Any, before: Any, without: Collection[str] = ()
                ) -> Iterator[tuple[Any, Any]]:
        now = parts_of(thing)
        if len(now) > len(before) and is_a(thing, (list, deque)) and all(map(is_, before, now)):
            yield GROWN, now[len(before):]
        elif [id(v) for v in now] != [id(v) for v in before]:
            yield WHOLE, now

    def put_back(self, thing: Any, before: Any) -> None:
        now = list(thing)
        if len(now) != len(before) or not all(map(is_, now, before)):
            thing.clear()
            thing.extend(before)


class _Deque(_Container):
    def comparable(self, value: Any, depth: int, opened: Opened, met: Met) -> Any:
        return value.maxlen, super().comparable(value, depth, opened, met)


class _Tuple(_Container):
    may_hold_itself = False

    def is_fixed(self, value: Any) -> bool:
        return not may_have_attributes(type(value)) and all(map(is_fixed, parts_of(value)))


class _Set(_Container):
    """Sets; their order is seen, too."""

    def visit(self, thing: Any, source: Source | None, search: Search) -> None:
        search.note(thing, source)
        search.visit_all(parts_of(thing))

    def put_back(self, thing: Any, before: Any) -> None:
        thing.clear()
        thing.update(before)  # one by one, for the order


class _FrozenSet(_Set):
    may_hold_itself = False
    is_fixed = _Tuple.is_fixed


class _Dict(_Container):
    def visit(self, thing: Any, source: Source | None, search: Search) -> None:
        if is_a(thing, defaultdict):
            search.note_slots(thing, "default_factory")
        items = parts_of(thing)
        search.visit_items(search.note(thing, source), items)
        search.visit_all([key for key, _ in items if not is_a(key, PLAIN)])

    def comparable(self, value: Any, depth: int, opened: Opened, met: Met) -> Any:
        if value is BUILT_IN:  # in the globals of code, as a program may hold them
            return ByIdentity(value)
        return comparable(default_of(value)), super().comparable(value, depth, opened, met)

    def _flat(self, parts: list[Any]) -> list[Any]:
        return [part for item in parts for part in item]

    def _parts(self, parts: list[Any], depth: int, opened: Opened, met: Met
               ) -> tuple[Any, ...]:
        # keys likewise, since 1 == True and (1,) == (True,)
        return tuple([(comparable(name), comparable(v, depth, opened, met)) for name, v in parts])

    def copy(self, thing: Any) -> Any:
        return thing.copy() if type(thing) is dict else dict(parts_of(thing))

    def changes(self, thing: Any, before: Any, without: Collection[str] = ()
                ) -> Iterator[tuple[Any, Any]]:
        now = self.copy(thing)
        if len(now) == len(before) and all(map(is_, now, before)) and all(
                map(is_, now.values(), before.values())):
            return
        if without:
            now, before = ({key: value for key, value in content.items() if key not in without}
                           for content in (now, before))
        another_order = in_another_order(now, before)
        if another_order and not without:
            yield WHOLE, now
            return
        for key in {**before, **now}:
            if now.get(key, ABSENT) is not before.get(key, ABSENT):
                yield key, now.get(key, ABSENT)
        if another_order:  # each again, at the end
            for key, value in now.items():
                yield key, ABSENT
                yield key, value

    def put_back(self, thing: Any, before: Any) -> None:
        content = dict(before)
        thing.clear()
        thing.update(content)


class _Variable(Kind):
    """Variables of closures."""

    def copy(self, thing: Any) -> Any:
        return content_of(thing)


class _Array(_Changing):
    refused = "changes a NumPy array"
    by_content = True

    def visit(self, thing: Any, source: Source | None, search: Search) -> None:
        search.found.contents.arrays.append(thing)
        if thing.dtype.hasobject:
            search.visit_all(thing.ravel().tolist())

    def comparable(self, value: Any, depth: int, opened: Opened, met: Met) -> Any:
        # what each class of arrays would do in its own way: a part of a matrix is a matrix
        plain = np.ndarray.view(value, np.ndarray)
        form = type(value), plain.shape, plain.strides, plain.flags.writeable
        if plain.dtype.hasobject:
            return form, tuple(map(comparable, plain.ravel()))
        content = plain.tobytes()
        if len(content) > _SHORT:
            content = hashlib.blake2b(content).digest()
        return form, described(plain.dtype), content

    def copy(self, thing: Any) -> Any:
        return thing.copy()

    def changes(self, thing: Any, before: Any, without: Collection[str] = ()
                ) -> Iterator[tuple[Any, Any]]:
        if not np.array_equal(thing, before, equal_nan=thing.dtype.kind in "fc"):
            yield WHOLE, thing

    def put_back(self, thing: Any, before: Any) -> None:
        thing[...] = before


class _Row(_Array):
    """An element of an array with fields, which may be assigned."""

    def comparable(self, value: Any, depth: int, opened: Opened, met: Met) -> Any:
        return type(value), described(value.dtype), value.tobytes()

    def put_back(self, thing: Any, before: Any) -> None:
        for name in thing.dtype.names or ():
            thing[name] = before[name]


class _Buffer(_Changing):
    refused = "changes an array of bytes or numbers"
    by_content = True

    def visit(self, thing: Any, source: Source | None, search: Search) -> None:
        search.found.contents.buffers.append(thing)

    def comparable(self, value: Any, depth: int, opened: Opened, met: Met) -> Any:
        view = memoryview(value)
        return type(value), view.format, view.shape, bytes(value)

    def copy(self, thing: Any) -> Any:
        return bytes(thing)

    def changes(self, thing: Any, before: Any, without: Collection[str] = ()
                ) -> Iterator[tuple[Any, Any]]:
        if bytes(thing) != before:
            yield WHOLE, thing

    def put_back(self, thing: Any, before: Any) -> None:
        memoryview(thing).cast("B")[:] = before


class _Generator(Kind):
    """Generators of random numbers; their copies are their positions."""

    def visit(self, thing: Any, source: Source | None, search: Search) -> None:
        search.found.contents.streams.append(thing)

    def copy(self, thing: Any) -> Any:
        if is_a(thing, random.Random):
            return thing.getstate()
        if is_a(thing, np.random.Generator):
            return thing.bit_generator.state
        return thing.state if is_a(thing, np.random.BitGenerator) else thing.get_state()

    def changes(self, thing: Any, before: Any, without: Collection[str] = ()
                ) -> Iterator[tuple[Any, Any]]:
        now = self.copy(thing)
        if repr(_listed(now)) != repr(_listed(before)):
            yield WHOLE, now

    def put_back(self, thing: Any, before: Any) -> None:
        if is_a(thing, random.Random):
            thing.setstate(before)
        elif is_a(thing, np.random.Generator):
            thing.bit_generator.state = before
        elif is_a(thing, np.random.BitGenerator):
            thing.state = before
        else:
            thing.set_state(before)


class _ContextVariable(_Changing):
    def visit(self, thing: Any, source: Source | None, search: Search) -> None:
        search.visit(thing.get(None))

    def comparable(self, value: Any, depth: int, opened: Opened, met: Met) -> Any:
        return ByIdentity(value), comparable(value.get(ABSENT))


class _Partial(_Changing):
    by_content = True

    def visit(self, thing: Any, source: Source | None, search: Search) -> None:
        search.note_slots(thing, "func", "args", "keywords", "__dict__")

    def comparable(self, value: Any, depth: int, opened: Opened, met: Met) -> Any:
        return type(value), *[comparable(v, depth + 1, opened, met) for v in (
            value.func, value.args, value.keywords)]


class _Cached(_Changing):
    """Functions that cache their results; compared is whether the cache has changed."""

    def visit(self, thing: Any, source: Source | None, search: Search) -> None:
        search.found.limits.has_caches = True
        search.visit(thing.__wrapped__)

    def comparable(self, value: Any, depth: int, opened: Opened, met: Met) -> Any:
        return ByIdentity(value), *value.cache_info()[1:]


class _Weak(Kind):
    def visit(self, thing: Any, source: Source | None, search: Search) -> None:
        search.note_weak(thing, thing(), source)


class _Method(Kind):
    def visit(self, thing: Any, source: Source | None, search: Search) -> None:
        search.visit_behind(thing.__self__, source)
        search.visit(thing.__func__)


class _BuiltinMethod(Kind):
    def visit(self, thing: Any, source: Source | None, search: Search) -> None:
        if not is_a(thing.__self__, types.ModuleType):
            search.visit_behind(thing.__self__, source)


class _View(_Container):
    """The keys, values or items of a dict."""

    def visit(self, thing: Any, source: Source | None, search: Search) -> None:
        search.visit_behind(thing.mapping, source)


class _Wrapper(Kind):
    """Functions of Lamella that call one of the program's."""

    def visit(self, thing: Any, source: Source | None, search: Search) -> None:
        search.visit(thing.fn)


# the first whose classes fit
_KINDS: tuple[tuple[tuple[type, ...], Kind], ...] = (
    ((types.MethodType,), _Method()),
    ((FunctionWrapper,), _Wrapper()),
    ((functools.partial, functools.partialmethod), _Partial()),
    ((tuple,), _Tuple()),
    ((list,), _Container()),
    ((deque,), _Deque()),
    ((dict, types.MappingProxyType), _Dict()),
    ((weakref.ReferenceType,), _Weak()),
    ((set,), _Set()),
    ((frozenset,), _FrozenSet()),
    ((np.ndarray,), _Array()),
    (BUFFERS, _Buffer()),
    ((types.BuiltinMethodType, types.MethodWrapperType), _BuiltinMethod()),
    (VIEWS, _View()),
    ((types.CellType,), _Variable()),
    ((np.void,), _Row()),
    ((np.generic,), _Scalar()),
    ((np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random),
     _Generator()),
    ((contextvars.ContextVar,), _ContextVariable()),
    ((CACHED,), _Cached()),
    ((enum.Enum,), Kind()),  # also of those that are numbers
    (PLAIN, _Plain()),
    ((object,), Kind()))


@functools.lru_cache(4096)
def _kind_of(cls: type) -> Kind:
    return next(kind for classes, kind in _KINDS if issubclass(cls, classes))


def kind_of(thing: Any) -> Kind:
    """The kind of a value."""
    return _kind_of(type(thing))


def has_changed(thing: Any, before: Any) -> bool:
    """Whether a value differs from a copy of it."""
    return any(True for _ in kind_of(thing).changes(thing, before))


def comparable(value: Any, depth: int = 0, opened: Opened = None, met: Met | None = None) -> Any:
    """What is compared of a value: itself if it is plain, its parts, or its identity.

    If `opened` is given, a large container that isn't in it equals any other of its class. One that
    was `met` before has been compared already.
    """
    kind = type(value)
    if kind in ATOMS:
        if kind is complex or kind is float and (not value or value != value):
            return repr(value)  # 0.0 and -0.0 differ, and NaN equals NaN
        return kind, value
    if kind is Parameter or kind is Tensor:
        return ByIdentity(value)
    if opened is not None and is_large(value) and id(value) not in opened:
        return kind, _LARGE
    found, met = _kind_of(kind), {} if met is None else met
    if found.may_hold_itself:
        count = len(met)
        number = met.setdefault(id(value), count)
        if number != count:
            return kind, _AGAIN, number
    content = found.comparable(value, depth, opened, met)
    if found.by_content and may_have_attributes(kind) and (own := attributes_in(value)):
        return content, comparable(own, depth + 1, opened, met)
    return content


def is_fixed(value: Any) -> bool:
    """Whether the result of `comparable` stays the same as long as the object does."""
    return _kind_of(type(value)).is_fixed(value)


def _listed(position: Any) -> Any:
    if is_a(position, np.ndarray):
        return position.tolist()
    if is_a(position, tuple):
        return [_listed(part) for part in position]
    if is_a(position, dict):
        return {key: _listed(part) for key, part in position.items()}
    return position
