"""Calls that are right, to be made wrong: those that the examples in docstrings make."""

from __future__ import annotations

import contextlib
import copy
import doctest
import io
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from .surface import Target


class Call(NamedTuple):
    """A call: `made` is what the class is made with, where there is one."""

    made: tuple[tuple, dict] | None
    args: tuple
    kwargs: dict


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001  (what can't be copied is used as it is)
        return value


class _Recorder:
    """Stands where the target was, calls it, and keeps what it was called with."""

    def __init__(self, target: Target):
        self.target = target
        self.calls: list[Call] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        made = _copied((args, kwargs))
        if not self.target.is_class:
            self.calls.append(Call(None, *made))
            return self.target.thing(*args, **kwargs)
        return _Made(self, made, self.target.thing(*args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.target.thing, name)


class _Made:
    """An object of the target class."""

    def __init__(self, recorder: _Recorder, made: tuple[tuple, dict], thing: Any):
        self.__dict__.update(recorder=recorder, made=made, thing=thing)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.recorder.calls.append(Call(self.made, *_copied((args, kwargs))))
        return self.thing(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.thing, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.thing, name, value)


@contextlib.contextmanager
def _in_place_of(target: Target, recorder: _Recorder) -> Iterator[None]:
    name = target.name.rpartition(".")[2]
    stand_in = (lambda *args, **kwargs: recorder(*args, **kwargs)) \
        if isinstance(target.owner, type) else recorder
    setattr(target.owner, name, stand_in)
    try:
        yield
    finally:
        setattr(target.owner, name, target.thing)


_found: dict[str, list[Call]] = {}


def examples(target: Target) -> list[Call]:
    """The calls of `target` in its docstring's examples, found once."""
    if target.name not in _found:
        recorder = _Recorder(target)
        text = getattr(target.thing, "__doc__", None) or ""
        lines = [e.source for e in doctest.DocTestParser().get_examples(text)]
        with (_in_place_of(target, recorder), contextlib.redirect_stdout(io.StringIO()),
              contextlib.suppress(Exception), warnings.catch_warnings()):
            warnings.simplefilter("ignore")
            space: dict[str, Any] = {}
            for line in lines:
                exec(compile(line, target.name, "single"), space)
        _found[target.name] = recorder.calls[:4]
    return _found[target.name]
