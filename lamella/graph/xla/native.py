"""Machine code by XLA: the executable of a graph, compiled in seconds."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from typing import Any

import torch
from torch.fx import GraphModule

from ...core.forking import Lock
from ...machine import background, cache, library
from ...machine.imports import without_draws
from ..ir import logs
from ..ir.failures import Unknown
from ..ir.lazy_module import dismantle
from ..ir.loop import room_for
from ..ir.machine_code import MachineCode, Run
from ..ir.stages import Part
from ..passes import plain_part
from ..passes.flags import add_flag, may_flag
from . import client, worker
from .lowering import NotLowered
from .lowering.graph import compiled
from .numbers import numbers_of
from .rewriting import needs_rewriting, strided_from_bases, without_checks
from .text import check, text_of

PROMPT = 10.0  # seconds of a compilation that don't yield to a step of small kernels
MOST_ROOM = 2**16  # steps of a loop whose values are kept
FORMAT = 18  # of the files on disk; after a change the older ones are not used


class Native(MachineCode):
    """The machine code of a part of a graph by XLA.

    Args:
        part: it changes none of its inputs.
        name: names it, with the metadata of its inputs (`ir.text.name_of`), for its name on disk.
        otherwise: runs the part without XLA, in a forked process.
        constants: tensors that are the same in each call, by the numbers of their inputs.

    Attributes:
        part: the part, or another one of the same operations.
    """

    worker = worker.__file__
    backends = ("replay", "xla", "inductor")

    def __init__(self, part: Part, name: str, otherwise: Run,
                 constants: Mapping[int, torch.Tensor] = types.MappingProxyType({})):
        self.part = part
        self._own: Part | None = None  # as it is described, until then
        self._copy: GraphModule | None = None  # that it is a part of, if it had to be copied
        self._numbers = numbers_of(constants)
        self._otherwise = otherwise
        self._run: client.Executable | None = None
        self._code: Run | None = None  # what runs it
        self._earlier: list[client.Executable] = []
        self._checks = 0
        self._is_refused = not client.available()
        self._named = name if not self._is_refused and cache.cache_folder() is not None else ""
        self._room = room_for(part.nodes)
        self._growing = Lock()
        super().__init__(self._name())

    def _name(self) -> str | None:
        """Its name on disk."""
        room = (self._room,) if self._room else ()
        return self._named and cache.key_of(
            "xla", FORMAT, client.version(), repr(self._numbers), self._named, *room) or None

    @property
    def is_possible(self) -> bool:
        """Whether XLA may run the graph, as far as is known without running it."""
        if self.finished:
            return self._run is not None
        return self.requested or self._plain() is not None

    def _plain(self) -> Part | None:
        """The part that is described, rewritten for XLA; None if XLA can't run it."""
        if self._own is None and not self._is_refused:
            try:
                self._own = self._rewritten()
                check(self._own, self._numbers)
            except NotLowered as reason:
                self._refuse(reason)
        return self._own

    def _rewritten(self) -> Part:
        """A copy of the part, rewritten for XLA; the part itself if nothing in it has to be."""
        own, self._checks = plain_part(self.part), 0
        self._copy = None if own is self.part else own.root
        try:
            rewrites = needs_rewriting(own.nodes)
            if not (rewrites or may_flag(own.nodes)):
                return own
            graph = self._copy = self._copy or own.copied()
            if rewrites:
                self._checks = without_checks(graph)
                strided_from_bases(graph)
            self._checks += add_flag(graph)
        except Unknown as reason:
            raise NotLowered(str(reason)) from None
        return Part.whole(graph)

    def request(self, values: list[torch.Tensor], prompt: bool = False) -> None:
        """Have it loaded, and compiled unless it is on disk; `finished` tells when that has ended.

        Args:
            values: inputs of the graph; not changed.
            prompt: whether it is compiled like any other process runs, rather than quietly.
        """
        self.requested = True
        texts: list[str] = []
        if self.key is not None and self.entry() is None:
            texts += filter(None, [self._described(values)])
        self._free_copy()
        if self.key is None:
            self.finished = True
        else:
            background.submit(lambda: self._make(texts, PROMPT if prompt else 0.0), quick=True)

    def make_now(self, values: list[torch.Tensor]) -> None:
        """Compile it in this process, which imports JAX: for tests."""
        text = self._described(values)
        without_draws("jax")
        try:
            if text is not None:
                found = json.loads(text)
                code = compiled(found, torch.get_num_threads())
                self._use(self._executable(code, found))
        except NotLowered as reason:
            self._refuse(reason)
        self._free_copy()
        self.requested = self.finished = True

    def _described(self, values: list[torch.Tensor]) -> str | None:
        part = self._plain()
        try:
            return None if part is None else text_of(
                part, values, self._checks, self._room, constants=self._numbers)
        except NotLowered as reason:
            self._refuse(reason)
            return None

    def _refuse(self, reason: NotLowered) -> None:
        self.key, self._is_refused = None, True
        self._free_copy()
        logs.show("schedule", f"a stage isn't for XLA, because of {reason}")

    def _free_copy(self) -> None:
        """Free the copy, whose nodes take far more memory than its code."""
        if self._copy is not None:
            dismantle(self._copy)
        self._own = self._copy = None

    def load(self) -> Run | None:
        """The function that runs it, once that is there."""
        run = self._run
        self._code = code = run and run.in_cpp()
        return self._with_room if code is not None and self._room else code

    @property
    def memory(self) -> int:
        """The bytes that a call takes at the most, once the code is there."""
        return 0 if self._run is None else self._run.memory

    def _with_room(self, values: list[torch.Tensor]) -> list[torch.Tensor]:
        """Run it. If a loop had no room for its values, compile it again with more."""
        code = self._code
        if code is None:
            return self._otherwise(values)
        try:
            return code(values)
        except RuntimeError as error:
            found = self._otherwise(values)  # which raises the error, if it is one
            if client.FLAGGED in str(error):
                self._make_room(values)
            return found

    def _make_room(self, values: list[torch.Tensor]) -> None:
        with self._growing:  # by one of the threads that had no room
            if not self.finished or self._room >= MOST_ROOM:
                return
            self._room *= 2
            self.key, self.finished = self._name(), False
        self.request(values)

    def _make(self, texts: list[str], prompt: float) -> None:
        try:
            if texts and self.entry() is None:  # the same may have been asked for before
                background.start("lamella-xla-client", client.prepare)  # takes a second, too
                self.compile(texts, prompt)
            self._use(self._loaded())
        finally:
            self.finished = True

    def _loaded(self) -> client.Executable | None:
        folder = self.entry()
        if folder is None or (folder / "failed").exists():
            return None
        try:
            text, code = library.contents(folder, "call.json", "model.xla")
            return self._executable(code, json.loads(text))
        except (OSError, RuntimeError, ValueError, KeyError) as damage:
            cache.discard(folder, str(damage).split("\n")[0])
            return None

    def _use(self, executable: client.Executable | None) -> None:
        """Have it run by this from now on."""
        if self._run is not None:
            self._earlier.append(self._run)  # another thread may be in it
        code = executable and executable.in_cpp()
        self._run, self._code = executable, code

    def _executable(self, code: bytes, found: dict[str, Any]) -> client.Executable:
        results = client.results_of(found["packs"], found["shapes"], found["strides"],
                                    found["flag"])
        return client.Executable(code, found["taken"], found["places"], results,
                                 found["flag"], self._otherwise)
