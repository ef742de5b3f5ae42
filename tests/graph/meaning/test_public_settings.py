"""Every public object's settings, changed between compiled calls: as eagerly.

The objects, and what they are called with, are those of the examples in their docstrings.
"""

from __future__ import annotations

import contextlib
import copy
import doctest
import io
import warnings
import zlib
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, amp, boost, jit, mint, nn, ops
from lamella.autodiff.tree import tensors
from lamella.core.primitive import Primitive

SHARES = 12  # of all classes, each a test
MOST = 1  # attributes of each object
CALLED = "__call__", "scale", "unscale", "adjust"


def public_classes() -> dict[str, type]:
    """Cells, operators and loss scalers, by their public names."""
    found = {}
    for room in (nn, ops, amp, boost, mint.nn, mint.optim):
        for name in sorted(n for n in dir(room) if n[:1].isalpha()):
            kind = getattr(room, name, None)
            if isinstance(kind, type) and issubclass(kind, (nn.Cell, Primitive, amp.LossScaler)):
                found.setdefault(kind, f"{room.__name__.partition('.')[2]}.{name}")
    return {name: kind for kind, name in found.items()}


CLASSES = public_classes()


def example_of(kind: type) -> tuple[Any, str, tuple, dict] | None:
    """An object of the class, and the method and arguments of a call, from its docstring."""
    calls: list[tuple[Any, str, tuple, dict]] = []
    method = next((m for m in CALLED if callable(getattr(kind, m, None))), None)
    examples = doctest.DocTestParser().get_examples(kind.__doc__ or "")
    if method is None or not examples or any("open(" in e.source for e in examples):
        return None
    inherited = getattr(kind, method)

    def noting(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not calls and type(self) is kind:
            with contextlib.suppress(Exception):
                calls.append(copy.deepcopy((self, method, args, kwargs)))
        return inherited(self, *args, **kwargs)

    own = vars(kind).get(method)
    setattr(kind, method, noting)
    names: dict[str, Any] = {}
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
            for example in examples:
                exec(compile(example.source, "<example>", "single"), names)
    finally:
        if own is None:
            delattr(kind, method)
        else:
            setattr(kind, method, own)
    return calls[0] if calls else None


def another(value: Any) -> Any:
    """Another value for an attribute; the same where none is known."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 0.5 + 0.125
    if isinstance(value, Parameter) and value.dtype in (ms.float32, ms.int32):
        return Parameter(value * 2 + 1, name=value.name, requires_grad=value.requires_grad)
    if type(value) is tuple and value and all(type(v) in (int, float) for v in value):
        return (another(value[0]), *value[1:])
    return value


def settings_of(thing: Any) -> list[str]:
    """The attributes that are changed: a few of those that have another value."""
    own = {**vars(thing), **getattr(thing, "_params", {})}
    names = [name for name, value in own.items()
             if name[:1] != "_" and another(value) is not value]
    return sorted(names, key=lambda name: zlib.crc32(name.encode()))[:MOST]


def plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.dtype.name, value.shape, value.asnumpy().copy()
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    return value if isinstance(value, (bool, int, float, str)) else type(value)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, (tuple, list)):
        return isinstance(b, (tuple, list)) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return np.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True) if (
            a.dtype.kind in "fc") else np.array_equal(a, b)
    return a is b or a == b


def history(found: tuple[Any, str, tuple, dict], name: str, compiled: bool) -> list[Any]:
    """What calls give and leave, before and after changes of an attribute."""
    thing, method, args, kwargs = copy.deepcopy(found)

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(thing, method)(*args, **kwargs)

    function, first, given = jit(call) if compiled else call, getattr(thing, name), []
    changed = another(first)
    operator = isinstance(thing, Primitive)
    for step in range(5):
        if step in (2, 4):
            value = changed if step == 2 else first
            if operator and step == 2:
                thing.add_prim_attr(name, value)
            elif isinstance(value, Parameter) and isinstance(thing, nn.Cell) and step == 4:
                getattr(thing, name).set_data(another(value))
            else:
                setattr(thing, name, value)
        ms.set_seed(step)
        try:
            outcome = plain(function(*args, **kwargs))
        except Exception as error:
            outcome = type(error).__name__
        own = thing.get_parameters() if isinstance(thing, nn.Cell) else tensors(
            list(vars(thing).values()))
        given.append([outcome, [p.asnumpy().copy() for p in own]])
    return given


@pytest.mark.parametrize("share", range(SHARES))
def test_settings_of_public_objects_count_when_they_change(share: int) -> None:
    wrong, checked = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(CLASSES)[share::SHARES]:
            found = example_of(CLASSES[name])
            for attribute in settings_of(found[0]) if found else ():
                try:
                    eager = history(found, attribute, False)  # type: ignore[arg-type]
                except Exception:  # noqa: BLE001  (an attribute that can't be assigned)
                    continue
                checked += 1
                compiled = history(found, attribute, True)  # type: ignore[arg-type]
                if not same(eager, compiled):
                    wrong.append(f"{name}.{attribute}")
    assert not wrong
    assert checked > 10
