"""The graphs of a function, by the keys of calls, with a profile for each key.

A call is looked up by the kinds of all its arguments; then without which of them are the same;
without the numbers that vary; and without its sizes. Each of these keys has a line.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ...core.forking import Lock
from ..guards.kinds import tensor_meta
from .cache_entry import CacheEntry
from .keys import CallKey, key_of, key_without_numbers, tensor_meta_of_any_size
from .scalar_profile import ScalarProfile
from .size_profile import SizeProfile

MOST_LINES = 1024  # beyond that, the lines that were recorded longest ago are dropped


class CacheLine:
    """What is known of calls with one key.

    Attributes:
        entries: the graphs, the last that applied first. The list is replaced, never changed, since
            other threads may be using it.
        eager: why such calls run eagerly; None if they don't.
        waits: whether they run eagerly until symbols can be used.
        sizes: the sizes that the arguments have had, if this is a key without sizes.
        scalars: the numbers that have differed, if this is a key without numbers.
    """

    __slots__ = ("eager", "entries", "scalars", "sizes", "waits")

    def __init__(self) -> None:
        self.entries: list[CacheEntry] = []
        self.eager: str | None = None
        self.waits = False
        self.sizes: SizeProfile | None = None
        self.scalars: ScalarProfile | None = None


class Found(NamedTuple):
    """The graphs that may hold for a call.

    Attributes:
        key: the key that they have.
        entries: the graphs; empty if there are none.
        numbers: the arguments' numbers that are inputs of them.
    """

    key: Any
    entries: Sequence[CacheEntry]
    numbers: Sequence[Any] = ()


class Cache:
    """The lines of a function.

    Args:
        dynamic: as for `SizeProfile`.

    Attributes:
        lines: by key, that of the latest recording last.
        compares_identities: whether the function may compare its arguments by identity.
    """

    def __init__(self, dynamic: list[Any] | None):
        self.lines: OrderedDict[Any, CacheLine] = OrderedDict()
        self.compares_identities = False
        self._dynamic = dynamic
        self._changing = Lock()

    def find(self, key: CallKey, args: tuple, kwargs: dict) -> Found:
        """The graphs for a call whose own key has none."""
        if key.aliases and not self.compares_identities:  # which are the same doesn't matter
            plain = key._replace(aliases=())
            line = self.lines.get(plain)
            if line is not None and line.entries:
                return Found(plain, line.entries)
        kind, given = key_without_numbers(args, kwargs)
        line = self.lines.get(kind)
        if line is not None and line.scalars is not None:
            place = line.scalars.place(kind, given)
            known = None if place is None else self.lines.get(place)
            if known is not None and known.entries:
                return Found(place, known.entries, line.scalars.inputs(given))
        place = key_of(args, kwargs, tensor_meta_of_any_size)
        line = self.lines.get(place)
        if line is None or line.sizes is None or line.sizes.is_frequent(key):
            return Found(key, ())
        return Found(place, line.entries)

    def line(self, key: Any) -> CacheLine:
        """The line of a key, which is the latest now; made if there is none."""
        with self._changing:
            found = self.lines.setdefault(key, CacheLine())
            self.lines.move_to_end(key)
            while len(self.lines) > MOST_LINES:
                self.lines.popitem(last=False)
        return found

    def entries(self, key: Any) -> Sequence[CacheEntry]:
        """The graphs of a key."""
        line = self.lines.get(key)
        return () if line is None else line.entries

    def put_first(self, key: Any, entry: CacheEntry) -> None:
        """Let a graph be the first of its key, which replaces one with the same replay."""
        line = self.lines.get(key) or self.line(key)
        with self._changing:
            line.entries = [entry, *[e for e in line.entries if e.replay is not entry.replay]]

    def keep(self, key: Any, holds: Callable[[CacheEntry], bool]) -> None:
        """Keep only some of the graphs of a key."""
        line = self.lines.get(key)
        if line is not None:
            with self._changing:
                line.entries = [e for e in line.entries if holds(e)]

    def sizes(self, place: Any) -> SizeProfile:
        """The sizes that calls have had whose key without sizes is `place`."""
        line = self.line(place)
        if line.sizes is None:
            line.sizes = SizeProfile(self._dynamic)
        return line.sizes

    def scalars(self, kind: Any) -> ScalarProfile | None:
        """The numbers of calls whose key without numbers is `kind`; None if none was recorded."""
        line = self.lines.get(kind)
        return None if line is None else line.scalars

    def forget_sizes(self, place: Any) -> None:
        """Forget a line that has sizes only, such as after an error in its first recording."""
        with self._changing:
            line = self.lines.get(place)
            if line is not None and not line.entries and line.eager is None and (
                    line.scalars is None):
                self.lines.pop(place, None)

    def refuse(self, key: Any, reason: str) -> None:
        """Note why such calls run eagerly from now on."""
        line = self.line(key)
        line.eager, line.entries = reason, []

    def refuses_all(self, kinds: int) -> bool:
        """Whether no call can be replayed, and calls of at least so many keys run eagerly."""
        return len(self.reasons()) >= kinds and next(self.all_entries(), None) is None

    def all_entries(self) -> Iterator[CacheEntry]:
        """All graphs."""
        for line in self._all():
            yield from line.entries

    def _all(self) -> list[CacheLine]:
        with self._changing:  # comparing keys may run code, and let another thread add a line
            return list(self.lines.values())

    def reasons(self) -> list[str]:
        """Why calls run eagerly, for each key."""
        return [line.eager for line in self._all() if line.eager is not None]

    def latest(self) -> Sequence[CacheEntry]:
        """The graphs of the latest key that has any."""
        return next((line.entries for line in reversed(self._all()) if line.entries), ())

    def of_call(self, args: tuple, kwargs: dict) -> Sequence[CacheEntry]:
        """The graphs for arguments of this kind, or else those for any size."""
        return (self.entries(key_of(args, kwargs, tensor_meta))
                or self.entries(key_of(args, kwargs, tensor_meta_of_any_size)))
