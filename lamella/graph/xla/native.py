"""Machine code by XLA: the executable of a graph, compiled in seconds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule

from ...machine import background, cache, library
from ..ir import logs
from ..ir.machine_code import MachineCode, Run
from ..passes import plain
from . import client, worker
from .lowering import NotLowered
from .lowering.graph import compiled
from .text import check, described

FORMAT = 1  # of the files on disk; after a change the older ones are not used


class Native(MachineCode):
    """The machine code of a graph by XLA.

    Args:
        graph: a graph that changes none of its inputs.
        text: its serialization with the forms of its inputs (`ir.text`), for its name on disk.
        stays: for each input, whether it is in the same memory in most calls.
        otherwise: runs the graph without XLA, in a forked process.
    """

    worker = worker.__file__
    backends = ("replay", "xla", "inductor")

    def __init__(self, graph: GraphModule, text: str, stays: Sequence[bool], otherwise: Run):
        self._graph: GraphModule | None = None
        self._stays, self._otherwise = list(stays), otherwise
        self._run: Run | None = None
        key = None
        if text and client.available():
            try:
                self._graph = plain(graph)
                check(self._graph)
                if cache.cache_folder() is not None:
                    key = cache.key_of("xla", FORMAT, client.version(), text)
            except NotLowered as reason:
                self._refuse(reason)
        super().__init__(key)

    @property
    def is_possible(self) -> bool:
        """Whether XLA may run the graph, as far as is known."""
        return self._graph is not None and not (self.finished and self._run is None)

    def request(self, values: list[torch.Tensor]) -> None:
        """Have it loaded, and compiled unless it is on disk; `finished` tells when that has ended.

        Args:
            values: inputs of the graph; not changed.
        """
        self.requested = True
        text = None
        if self.key is not None and self.entry() is None and self._graph is not None:
            try:
                text = json.dumps(described(self._graph, values))
            except NotLowered as reason:
                self._refuse(reason)
        if self.key is None:
            self.finished = True
        else:
            background.submit(lambda: self._make(text), quick=True)

    def make_now(self, values: list[torch.Tensor]) -> None:
        """Compile it in this process, which imports JAX: for tests."""
        self.requested = self.finished = True
        if self._graph is None:
            return
        try:
            found = described(self._graph, values)
            self._run = self._executable(compiled(json.loads(json.dumps(found)),
                                                  torch.get_num_threads()), found)
        except NotLowered as reason:
            self._refuse(reason)

    def _refuse(self, reason: NotLowered) -> None:
        self.key = self._graph = None
        logs.show("schedule", f"a stage isn't for XLA, because of {reason}")

    def load(self) -> Run | None:
        """The function that runs it, once that is there."""
        return self._run

    def _make(self, text: str | None) -> None:
        try:
            if text is not None:
                self.compile(text)
            self._run = self._loaded()
        finally:
            self.finished = True
            self._graph = None if self._run is None else self._graph

    def _loaded(self) -> Run | None:
        folder = self.entry()
        if folder is None or (folder / "failed").exists():
            return None
        try:
            text, code = library.contents(folder, "graph.json", "model.xla")
            return self._executable(code, json.loads(text))
        except (OSError, RuntimeError, ValueError, KeyError) as damage:
            cache.discard(folder, str(damage).split("\n")[0])
            return None

    def _executable(self, code: bytes, found: dict[str, Any]) -> client.Executable:
        results = [(torch.Size(shape), tuple(strides)) for shape, strides in zip(
            found["shapes"], found["strides"], strict=True)]
        return client.Executable(code, found["places"], self._stays, results, self._otherwise)
