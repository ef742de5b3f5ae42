"""Random numbers: the seeds of the process and the generators that operators draw from.

There are two levels of seed. `set_seed` sets the global one: it seeds the default generator of
every device and NumPy's. A seed given to an operator (``ops.uniform(..., seed=1)``) selects a
stream of its own, made from both seeds: calls with one op seed continue it, so they differ from
each other, and `set_seed` starts all streams again, so the program repeats them.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import secrets
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from ..compat.missing import getattr_of
from ..core import context
from ..core.forking import Lock
from ..core.outside import outside
from ..core.require import of_type
from ..core.settings import Settings
from ..core.state import state
from ..device import kinds
from .tensor import Tensor, wrap

__getattr__ = getattr_of(__name__)
# a dry run has others in their place
_get_state, _set_state = np.random.get_state, np.random.set_state
_lock = Lock()


class _Stream(torch.Generator):
    """A generator with weak references, which PyTorch's own lacks in 2.7."""


_settings = Settings("the random numbers", {"seed": None})
_listeners: list[Callable[[], None]] = []  # called when the global seed is set
_streams: dict[tuple[torch.device, int, int], torch.Generator] = {}
# those that objects keep, by when they were made
_own: weakref.WeakValueDictionary[int, torch.Generator] = weakref.WeakValueDictionary()
_numbers = itertools.count()
# what initializers have drawn from NumPy's generator: which draw of the process, by which thread,
# and the positions around it
_initial: deque[tuple[int, int, int, int]] = deque(maxlen=4096)


def set_seed(seed: int) -> None:
    """Set the global seed: of operators, initializers, ``random`` and ``numpy.random``.

    Args:
        seed: 0 or more.

    Raises:
        TypeError: if `seed` is not an int.
        ValueError: if `seed` is negative, or too large for NumPy (2**32 or more).

    Examples:
        >>> import lamella as ms
        >>> ms.set_seed(7)
        >>> a = ms.ops.randn(3)
        >>> ms.set_seed(7)
        >>> print((a == ms.ops.randn(3)).all())
        True
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"For 'set_seed', 'seed' must be an int of 0 or more, but got {seed!r} "
                        f"of type {type(seed).__name__}.")
    if not 0 <= seed < 2**32:
        raise ValueError(f"For 'set_seed', 'seed' must be in [0, 2**32), but got {seed}.")
    if state.trace is not None:
        state.trace.refuse("sets the seed of random numbers")
    with _lock:
        _settings["seed"] = seed
        for (_, *own), stream in _streams.items():  # graphs hold these very generators
            stream.manual_seed(_mixed(seed, *own))
        kinds.seed_all(seed)
        random.seed(seed)
        np.random.seed(seed)
        for listener in _listeners:
            listener()


@contextlib.contextmanager
def drawing_from_numpy() -> Iterator[None]:
    """What initializers draw from NumPy's generator, as MindSpore's do, is drawn in this context.

    So a thread whose run is being recorded can tell it from what that run draws.
    """
    with _lock:
        before = _position_of_numpy()
        try:
            yield
        finally:
            _initial.append((_draws() + 1, threading.get_ident(), before, _position_of_numpy()))


def place_of_numpy() -> tuple[Any, int]:
    """Where NumPy's generator is, and after how many draws of initializers, for `is_as_before`.

    It waits for an initializer that is half-way, since no later draw begins where that stands.
    """
    with _lock:
        return _get_state(), _draws()


def is_as_before(place: tuple[Any, int]) -> bool:
    """Whether NumPy's generator is where it was, but for what other threads' initializers drew.

    Args:
        place: what `place_of_numpy` gave before.
    """
    state, draws = place
    position = _position_of_numpy(state)
    with _lock:
        for draw, thread, before, after in _initial:
            if draw > draws and before == position and thread != threading.get_ident():
                position = after
        return position == _position_of_numpy()


def _draws() -> int:
    return _initial[-1][0] if _initial else 0


def _position_of_numpy(state: Any = None) -> int:
    position: Any = state or _get_state()
    _, numbers, *rest = position
    return hash((numbers.tobytes(), *rest))


def when_seeded(listener: Callable[[], None]) -> None:
    """Call a function whenever the global seed is set, for a room with a seed of its own."""
    _listeners.append(listener)


def get_seed() -> int | None:
    """The global seed, or None where none was set.

    Examples:
        >>> import lamella as ms
        >>> ms.set_seed(1234)
        >>> ms.get_seed()
        1234
    """
    return _settings["seed"]


def default_raw() -> torch.Generator:
    """PyTorch's default generator of the current device."""
    return kinds.default_generator(context.current_device())


def _mixed(*seeds: int) -> int:
    """One seed out of several, by Python's own mixing of tuples of ints, which is stable."""
    return hash(seeds) & 0x7FFFFFFFFFFFFFFF


def fresh_generator(owner: Any, seed: int, seed2: int = 0) -> torch.Generator:
    """A new generator for an operator object that keeps a stream of its own.

    The global seed has no part in it, as in MindSpore.
    """
    with _lock:
        made = restart(_generator(), seed, seed2)
    if state.trace is not None:
        state.trace.note_generator(owner, made, seed, seed2)
    return made


def _generator() -> torch.Generator:
    made = _Stream(device=context.current_device())
    _own[next(_numbers)] = made
    return made


def restart(made: torch.Generator, seed: int, seed2: int) -> torch.Generator:
    """Put a generator where one made with these seeds begins; returns it."""
    return made.manual_seed(_mixed(0, seed, seed2))


def kept() -> Callable[[], None]:
    """A function that puts all generators, NumPy's too, into the state they are in now.

    Examples:
        >>> import lamella as ms
        >>> back = kept()
        >>> a = ms.ops.randn(3)
        >>> back()
        >>> print((a == ms.ops.randn(3)).all())
        True
    """
    with _lock:
        states = [(g, g.get_state())
                  for g in (default_raw(), *_streams.values(), *_own.values())]
    of_numpy = place_of_numpy()

    def back() -> None:
        known = {id(raw) for raw, _ in states}
        for raw, position in states:
            raw.set_state(position)
        with _lock:
            for raw in (*_streams.values(), *_own.values()):
                if id(raw) not in known:  # made since: to its start
                    raw.manual_seed(raw.initial_seed())
        if not is_as_before(of_numpy):  # what other threads have drawn stays drawn
            with drawing_from_numpy():  # a step that other threads can follow
                _set_state(of_numpy[0])

    return back


def snapshot() -> dict[str, Any]:
    """Where all generators of this process are, as numbers and arrays that a file can hold.

    Generators that objects keep are known by the order in which they were made, which is the same
    in each run of a program.
    """
    with _lock:
        return {"seed": _settings.unwatched("seed"), "default": default_raw().get_state().numpy(),
                "streams": [[*key[1:], made.get_state().numpy()] for key, made in _streams.items()],
                "own": [[n, made.get_state().numpy()] for n, made in _own.items()],
                "numpy": np.random.get_state()}


def put_back(state: dict[str, Any]) -> None:
    """Restore the state that `snapshot` has returned, also in another run of the program."""
    _settings["seed"] = state["seed"]
    default_raw().set_state(torch.from_numpy(state["default"]))
    for seed, seed2, position in state["streams"]:
        generator(seed, seed2).set_state(torch.from_numpy(position))
    for number, position in state["own"]:
        made = _own.get(number)
        if made is not None:
            made.set_state(torch.from_numpy(position))
    np.random.set_state(state["numpy"])


def generator(seed: int | None = None, seed2: int = 0) -> torch.Generator:
    """The generator that an operator with this op-level seed draws from.

    Args:
        seed, seed2: the operator's seeds; None or 0 for both means the device's default generator.

    Raises:
        ValueError: if a seed is not an int of 0 or more.

    Examples:
        >>> from lamella.random import generator
        >>> generator(3) is generator(3), generator(3) is generator(4)
        (True, False)
    """
    seed = _checked(seed)
    seed2 = _checked(seed2)
    if not seed and not seed2:
        return default_raw()
    key = (context.current_device(), seed, seed2)
    with _lock:
        found = _streams.get(key)
        if found is None:
            found = _streams[key] = _generator().manual_seed(
                _mixed(_settings.unwatched("seed") or 0, seed, seed2))
    return found


def seeded(seed: Any = None, seed2: int = 0) -> torch.Generator | None:
    """As `generator`, with None for the default: the form that traces into a graph."""
    if isinstance(seed, Generator):
        return None if seed is default_generator else seed.raw
    return generator(seed, seed2) if seed or seed2 else None


def _checked(seed: int | None) -> int:
    if seed is None:
        return 0
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    if not whole or seed < 0:
        kind = ValueError if whole else TypeError
        raise kind(f"The 'seed' of a random operator must be an int of 0 or more, "
                         f"but got {seed!r} of type {type(seed).__name__}.")
    return int(seed)


class Generator:
    """A source of random numbers with a state of its own.

    Examples:
        >>> import lamella as ms
        >>> g = ms.Generator().manual_seed(5)
        >>> g.initial_seed()
        5
    """

    @outside
    def __init__(self):
        self._own: torch.Generator | None = _Stream(device=context.current_device()).manual_seed(0)
        with _lock:
            _own[next(_numbers)] = self._own

    @property
    def raw(self) -> torch.Generator:
        """The PyTorch generator inside."""
        return self._own if self._own is not None else default_raw()

    @outside
    def set_state(self, state: Tensor) -> None:
        """Continue from a state that `get_state` gave.

        Raises:
            TypeError: if `state` is not a Tensor of uint8.
            ValueError: if it is not the state of a generator of this device.
        """
        if not isinstance(state, Tensor) or state._raw.dtype is not torch.uint8:
            raise TypeError(f"For 'Generator.set_state', 'state' must be a Tensor of uint8 that "
                            f"'get_state' gave, but got {state!r}.")
        try:
            self.raw.set_state(state._raw.cpu())
        except (RuntimeError, TypeError) as error:
            raise ValueError(f"For 'Generator.set_state', 'state' is not the state of a generator "
                             f"of this device: {str(error).splitlines()[0]}") from error

    @outside
    def get_state(self) -> Tensor:
        """The state, a Tensor of uint8."""
        return wrap(self.raw.get_state())

    def seed(self) -> int:
        """Seed the generator with a random number, which is returned."""
        return self.manual_seed(secrets.randbits(63)).initial_seed()

    @outside
    def manual_seed(self, seed: int) -> Generator:
        """Seed the generator; returns it.

        Raises:
            TypeError: if `seed` is not an int.
            ValueError: if it has more than 64 bits.
        """
        of_type(seed, int, "seed", "manual_seed")
        if not -2**63 <= seed < 2**64:
            raise ValueError(f"For 'manual_seed', 'seed' must be an int of 64 bits, "
                             f"but got {seed}.")
        if self._own is None:
            kinds.seed_all(seed)
        else:
            self._own.manual_seed(seed)
        return self

    def initial_seed(self) -> int:
        """The number that the generator was last seeded with, as an int64 (-1 for 2**64 - 1)."""
        if state.trace is not None:
            state.trace.outside.depend_once(("seed", id(self)), self._seeded_with)
        return self._seeded_with()

    def _seeded_with(self) -> int:
        seed = self.raw.initial_seed()
        return seed - 2**64 if seed >= 2**63 else seed

    def _step(self, step: int) -> tuple[Tensor, Tensor]:
        """A seed and an offset for a Primitive that takes both, such as `DropoutExt`.

        The offset is drawn, so it is another in each call and goes on from `set_state`; MindSpore
        counts `step` numbers up.
        """
        device = context.current_device()
        seed = torch.tensor(self.initial_seed(), device=device)
        return wrap(seed), wrap(torch.randint(2**31, (), generator=seeded(self), device=device))


def _default() -> Generator:
    shared = Generator()
    shared._own = None
    return shared


default_generator = _default()


def seed() -> int:
    """Seed the default generator with a random number, which is returned."""
    return default_generator.seed()


def manual_seed(seed: int) -> Generator:
    """Seed the default generator; returns it.

    Examples:
        >>> import lamella as ms
        >>> _ = ms.manual_seed(13)
        >>> ms.initial_seed()
        13
    """
    return default_generator.manual_seed(seed)


def initial_seed() -> int:
    """The number that the default generator was last seeded with."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator, a Tensor of uint8.

    Examples:
        >>> import lamella as ms
        >>> state = ms.get_rng_state()
        >>> a = ms.ops.rand(2)
        >>> ms.set_rng_state(state)
        >>> print((a == ms.ops.rand(2)).all())
        True
    """
    return default_generator.get_state()


def set_rng_state(state: Tensor) -> None:
    """Continue the default generator from a state that `get_rng_state` gave."""
    default_generator.set_state(state)
