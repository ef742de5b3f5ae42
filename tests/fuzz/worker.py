"""The process that calls: ``python -m tests.fuzz.worker FOLDER SEED BEGIN END [TARGETS [ONLY]]``.

It tells what it is doing in two files of FOLDER: a byte for each call (its kind; 0 before it is
over), and a line of JSON for each call whose outcome is bad.
"""

from __future__ import annotations

import gc
import importlib
import json
import mmap
import os
import resource
import sys
import warnings
from pathlib import Path
from typing import Any

import lamella as ms
from lamella import Tensor
from lamella.core.errors import describe

from . import judge
from .arguments import Arguments
from .seeds import Call, examples
from .surface import Target

SPARE = 3 << 29  # bytes that calls may take, beside what the imports take


def targets_of(source: str, only: str = "") -> list[Target]:
    """The targets that a module lists, those that `only` is part of the names of."""
    return [t for t in importlib.import_module(source).targets() if only in t.name]


def numbered(targets: list[Target], seed: int, number: int) -> tuple[Target, Call, str]:
    """The call of that number: what, with what, and how."""
    draw = Arguments(f"{seed}:{number}")
    target = draw.pick(targets)
    call = draw.call(target, examples(target))
    return target, call, draw.pick(["call"] * 14 + ["grad"] * 4 + ["jit", "vmap"])


def perform(target: Target, call: Call, how: str) -> Any:
    """Make the call; "grad", "jit" and "vmap" go through these, where it has a Tensor."""
    function = target.thing
    if target.is_class:
        assert call.made is not None
        function = target.thing(*call.made[0], **call.made[1])
    places = [i for i, a in enumerate(call.args) if type(a) is Tensor]
    if how == "call" or not places or target.name.endswith("_"):
        return function(*call.args, **call.kwargs)

    def of_tensors(*tensors: Tensor) -> Any:
        args = list(call.args)
        for place, tensor in zip(places, tensors, strict=True):
            args[place] = tensor
        return function(*args, **call.kwargs)

    given = [call.args[i] for i in places]
    if how == "jit":
        return ms.jit(of_tensors, jit_level="O0")(*given)
    if how == "vmap":
        return ms.vmap(of_tensors)(*given)
    floating = tuple(i for i, t in enumerate(given) if t._raw.is_floating_point())
    if not floating:
        return of_tensors(*given)
    return ms.grad(lambda *t: _first_tensor(of_tensors(*t)), floating)(*given)


def _first_tensor(result: Any) -> Any:
    while isinstance(result, (tuple, list)) and result:
        result = result[0]
    return result


def told(target: Target, call: Call, how: str) -> str:
    """The call as text."""
    def inside(given: tuple[tuple, dict]) -> str:
        named = (f"{name}={_short(value)}" for name, value in given[1].items())
        return ", ".join([*map(_short, given[0]), *named])

    made = f"({inside(call.made)})" if call.made is not None else ""
    return f"{how}: {target.name}{made}({inside((call.args, call.kwargs))})"


def _short(value: Any) -> str:
    try:
        text = describe(value)
        raw = getattr(value, "_raw", None)
        if raw is not None and not isinstance(value, type) and raw.numel() <= 12:
            text += str(raw.tolist()).replace(" ", "")
        return text
    except Exception as error:  # noqa: BLE001  (what stands for an argument in a report)
        return f"<{type(value).__name__}: {type(error).__name__}>"


def outcome(target: Target, call: Call, how: str) -> tuple[str, BaseException | None]:
    """The kind of the call's outcome, and its error."""
    try:
        perform(target, call, how)
    except Exception as error:  # noqa: BLE001  (judged)
        return judge.judge(error), error
    return judge.FINE, None


def limit_memory(spare: int = SPARE) -> None:
    """Let this process take so much more than it has."""
    has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (has + spare, has + spare))


def main(folder: str, seed: str, begin: str, end: str, source: str = "tests.fuzz.surface",
         only: str = "") -> None:
    """Make the calls from `begin` to `end`."""
    warnings.simplefilter("ignore")
    targets = targets_of(source, only)
    lines = open(Path(folder) / "findings", "a", buffering=1)  # noqa: SIM115  (kept open)
    with open(Path(folder) / "progress", "r+b") as file:
        progress = mmap.mmap(file.fileno(), 0)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    limit_memory()
    Path(folder, "ready").touch()
    for number in range(int(begin), int(end)):
        ms.set_seed(0)
        target, call, how = numbered(targets, int(seed), number)
        kind, error = outcome(target, call, how)
        if error is not None and kind in judge.BAD:
            lines.write(json.dumps([number, kind, target.name, type(error).__name__,
                                    judge.place(error), str(error)[:400],
                                    told(target, call, how)]) + "\n")
        progress[number] = 1 + judge.KINDS.index(kind)
        if number - int(begin) in (50, 2000):
            gc.collect()
            gc.freeze()  # what was imported by now stays, and isn't searched again
        elif number % 4000 == 0:
            gc.collect()


if __name__ == "__main__":
    main(*sys.argv[1:])
