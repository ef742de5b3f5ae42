"""Replaces a function of Python's while a thread records a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...core.forking import Lock


class Replacement:
    """A name of a module or a class that has another function while any thread records.

    Args:
        owner: the module or the class.
        name: the name.

    Attributes:
        original: the function that was there before.
    """

    def __init__(self, owner: Any, name: str):
        self._owner, self._name = owner, name
        self.original: Any = getattr(owner, name)
        self._lock = Lock()
        self._recording = 0  # runs, in all threads

    @property
    def own(self) -> Any:
        """The program's function, whether or not a thread is recording."""
        return self.original if self._recording else getattr(self._owner, self._name)

    @contextmanager
    def by(self, function: Callable[..., Any], end: Callable[[], None] | None = None
           ) -> Iterator[None]:
        """A block in which the program finds `function` under the name.

        Args:
            function: what it finds.
            end: is called when no thread records any more.
        """
        with self._lock:
            if not self._recording:
                self.original = getattr(self._owner, self._name)
                setattr(self._owner, self._name, function)
            self._recording += 1
        try:
            yield
        finally:
            with self._lock:
                self._recording -= 1
                if not self._recording:
                    setattr(self._owner, self._name, self.original)
                    if end is not None:
                        end()
