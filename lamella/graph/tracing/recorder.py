"""Recording: every kernel that runs, below autograd, becomes a node of a graph.

PyTorch's `make_fx` does the same and more, but it takes seconds to import and to describe each
value symbolically, for which a first call would have to wait.
"""

from __future__ import annotations

import operator
import pathlib
import re
import sys
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...communication.functional import IMPLEMENTATIONS
from ...core.dispatch_mode import DispatchMode
from ...core.state import state
from ...tensors.construction import flat_bytes
from ..guards.kinds import tensor_meta
from ..ir.lazy_module import KernelGraph, LazyModule
from ..ir.loop import Loop
from ..ir.metadata import TensorMetadata, meta_of_value
from ..ir.operations import CAUGHT, Effects, effects_of
from .handlers import may_be_caught
from .lines import Lines
from .outside import USERS, origin_of
from .refusals import CannotTrace
from .updates import Update, Updates, may_wait, run, written_by

aten = torch.ops.aten
_DETACH, _LIFT, _AS_STRIDED = (
    aten.detach.default, aten.lift_fresh.default, aten.as_strided.default)
_LIFTED = aten.lift_fresh_copy.default

_MESSAGES = ("c10d", "_c10d_functional", "c10d_functional")
_NUMBERS = (int, float, bool, type(None))
MOST_COMPARED = 2**16  # bytes of a constant that is compared with the others
_FAILED = "_failed_in_a_recording"  # the name of the mark of an error
_CALLER = str(pathlib.Path(__file__).with_name("run.py"))  # of the program's function
# errors that depend on no values; where integers are divided by 0, Lamella computes it another way
_OF_TYPES = re.compile("not implemented|not supported|cannot be converted|ZeroDivisionError")


class Recomputation:
    """A second run of a function that `ms.recompute` called; its values are marked by it."""


class Recorder(DispatchMode):
    """Inside of it, the kernels that run are recorded in `graph`.

    A tensor that is neither an input nor a result recorded before is a constant: the graph takes it
    as one more input.

    Attributes:
        graph: the graph so far. ``node.meta["tensor_meta"]`` describes a node's value, if that is a
            dense tensor; ``node.meta["line"]`` is the line of the user's program;
            ``node.meta["again"]`` is the `Recomputation` that a value is computed in;
            ``node.meta[CAUGHT]`` says that the program may catch its error.
        generators: by attribute of the graph, the streams of random numbers it draws from besides
            the default one.
        constants: the constants, in the order of the inputs that stand for them.
        failures: marks of the errors of kernels that the program may have caught. What it did then
            depends on what made them fail, which no guard knows.
        is_undoable: whether `undo` can restore the memory of the inputs.
        defers: whether updates wait for the end of the run (see `updates`).
    """

    is_undoable = defers = False
    is_part = False  # whether it records a part of a run
    level: Any = None  # as those of `loop_part.BodyRecorder`
    watch: Any = None
    is_strict = False

    def __init__(self, inputs: Iterable[torch.Tensor]):
        super().__init__()
        self.graph = KernelGraph()
        self.root = torch.nn.Module()
        self.generators: dict[str, torch.Generator] = {}
        self.constants: list[torch.Tensor] = []
        self.failures: list[object] = []
        # those that share memory with arrays of the program, and copies from when they were made
        self._of_arrays: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._paused = False
        self._stopped = False
        self._saved: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}
        self._updates = Updates()
        self._draws: list[tuple[list[Any], Iterator[Any] | None]] = []
        self._again: Recomputation | None = None  # which is running
        self._lines = Lines()
        self._known: set[Node] = set()  # constants, the same in every run
        self._lifted: dict[Any, torch.Tensor] = {}  # those that are copied, by their contents
        self._nodes: dict[int, tuple[weakref.ref[torch.Tensor], Node]] = {}  # by identity
        self._metas: dict[Any, TensorMetadata | None] = {}
        self._last: Node | None = None
        inputs = list(inputs)
        self._given = {raw.untyped_storage()._cdata for raw in inputs}
        for number, raw in enumerate(inputs):
            self._last = self.graph.create_node("placeholder", f"input_{number}")
            self._last.meta["tensor_meta"] = meta_of_value(raw)
            self._give(raw, self._last)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (),
                           kwargs: dict | None = None) -> Any:
        trace, known = state.trace, effects_of(func)
        if trace is None or known.namespace != "aten":  # others may be the user's, in Python
            return self._dispatched(func, known, types, args, kwargs or {})
        trace.outside.pause()
        try:
            return self._dispatched(func, known, types, args, kwargs or {})
        finally:
            trace.outside.resume()

    def _dispatched(self, func: Any, known: Effects, types: Any, args: Any, kwargs: dict) -> Any:
        """What a kernel gives; it is recorded, if it can be."""
        if known.only_computes and not (types or self._paused or self._updates):
            return self._run(func, args, kwargs)  # most kernels
        if any(map(_calls_others, types)):
            return NotImplemented
        if self._updates and self._updates.are_needed_by(known, args, kwargs) and (
                self._paused or not may_wait(func)):
            self.update()
        if self._paused or known.namespace == "prim":
            return func(*args, **kwargs)
        if known.draws(args, kwargs):
            return self._drawn(func, args, kwargs)
        if self._stopped:
            return func(*args, **kwargs)
        if known.namespace in _MESSAGES:
            return self._message(func, args, kwargs)
        if known.shaped_by_values and not _by_positions(func, args):
            return self._shaped_by_values(func, args, kwargs)
        if known.gives_python:
            if all(self._node_of(raw) in self._known for raw in args):
                return func(*args, **kwargs)
            if func is aten._local_scalar_dense.default and state.trace is not None:
                with self:  # the mode is off here, but the guard has to be in the graph
                    return state.trace.guard(args[0])
            return self._refused("turns a tensor into a Python value inside a kernel", func, args,
                                 kwargs)
        return self._run(func, args, kwargs)

    def _shaped_by_values(self, func: Any, args: tuple, kwargs: dict) -> Any:
        """Call a kernel with a data-dependent shape; a guard on the shape is added."""
        if state.trace is None or state.trace.recorder is not self or func._schema.is_mutable:
            return self._refused(f"calls {func}, whose result has a data-dependent shape",
                                 func, args, kwargs)
        found = self._run(func, args, kwargs, self._results_of(func))
        parts = found if isinstance(found, (tuple, list)) else (found,)
        for part in parts:
            state.trace.guard_shape(part)
        state.trace.observed.append(tuple([TensorMetadata(*tensor_meta(part)) for part in parts]))
        return found

    def _results_of(self, func: Any) -> Any:
        """The function that computes the results of such a kernel."""
        return func

    def _refused(self, what: str, func: Any, args: tuple, kwargs: dict) -> Any:
        """Call a kernel that no graph can hold: recording ends, and the run continues eagerly."""
        if state.trace is None or state.trace.recorder is not self:
            raise CannotTrace(what)
        state.trace.refuse(what)
        return func(*args, **kwargs)

    def from_numpy(self, array: Any) -> torch.Tensor:
        """A constant that shares memory with an array."""
        with self.pause():
            raw = torch.from_numpy(array)
            self._of_arrays.append((raw, raw.clone()))
        return raw

    def own_constants(self) -> list[torch.Tensor]:
        """The constants, whose memory no array of the program shares.

        Raises:
            CannotTrace: if the run has changed such an array.
        """
        with self.pause():
            if any(raw._version or not torch.equal(*map(flat_bytes, (raw, copy)))
                   for raw, copy in self._of_arrays):
                raise CannotTrace("changes a NumPy array that shares memory with a Tensor")
        copies = {id(raw): copy for raw, copy in self._of_arrays}
        return [copies.get(id(raw), raw) for raw in self.constants]

    def stop(self) -> None:
        """Record nothing from now on; recomputation still repeats its random numbers."""
        self.update()
        self._stopped = True

    def update(self) -> None:
        """Run the updates that wait."""
        if self._updates:
            with self.pause():
                run(self._updates.taken(), self._save)

    def changes_later(self, raws: Iterable[torch.Tensor]) -> bool:
        """Whether updates that wait will change one of these tensors."""
        return bool(self._updates) and self._updates.change(raws)

    def undo(self) -> None:
        """Restore the memory of the inputs."""
        self._updates.taken()
        for own, copy in self._saved.values():
            own.copy_(copy)

    def _changed_by(self, known: Effects, args: tuple, kwargs: dict
                    ) -> Iterator[torch.UntypedStorage]:
        """The memory of inputs that a kernel mutates."""
        for raw in written_by(known, args, kwargs):
            if type(raw) is torch.Tensor:
                own = raw.untyped_storage()
                if own._cdata in self._given:
                    yield own

    def _save(self, update: Update) -> None:
        """Copy the memory of inputs that a kernel is about to mutate, so that it can be undone."""
        for own in self._changed_by(*update[1:]):
            if own._cdata not in self._saved:
                self._saved[own._cdata] = own, own.clone()

    def _run(self, func: Any, args: tuple, kwargs: dict, call: Any = None) -> Any:
        """Call a kernel, as a node of the graph; `call` is called for it if given."""
        known = effects_of(func)
        if self._stopped:
            return func(*args, **kwargs)
        if func is _DETACH:  # there is no tape
            found = func(*args)
            self._give(found, self._node_of(args[0]))
            return found
        if (func is _AS_STRIDED and args[3:]
                and args[0].untyped_storage()._cdata in self._given):
            return self._refused("addresses memory of its inputs by offset", func, args, kwargs)
        if func is _LIFT:  # a constant, which must not be mutated itself
            func = _LIFTED
        if func is _LIFTED:
            args = (self._alike(args[0]),)
        given, named = self._described(args), self._described(kwargs) if kwargs else kwargs
        node = self.graph.create_node("call_function", func, given, named)
        node.meta["line"] = self._lines.here()
        if self._again is not None:
            node.meta["again"] = self._again
        if (known.may_fail or known.is_check) and may_be_caught(sys._getframe(), _CALLER):
            node.meta[CAUGHT] = True
        if func is _LIFTED:
            self._known.add(node)
        elif not known.only_computes and self._waits(func, known, args, kwargs):
            return None
        try:
            found = (call or func)(*args, **kwargs)
        except Exception as error:
            self._fail(node, error)
            raise
        self._note(node, found)
        return found

    def _alike(self, raw: torch.Tensor) -> torch.Tensor:
        """A constant with the same contents that the graph has already, or this one: a loop may
        make a Tensor of the same array in each step."""
        known = self._nodes.get(id(raw))
        if (known is not None and known[0]() is raw or type(raw) is not torch.Tensor
                or raw.device.type != "cpu" or raw.nbytes > MOST_COMPARED
                or raw.dtype is torch.bfloat16):
            return raw
        key = raw.shape, raw.dtype, raw.numpy().tobytes()
        return self._lifted.setdefault(key, raw)

    def _waits(self, func: Any, known: Effects, args: tuple, kwargs: dict) -> bool:
        """Prepare for the side effects of a kernel; returns whether it waits, as an update."""
        if known.draws(args, kwargs) and state.trace is not None:
            state.trace.stop_dry_run("draws random numbers")
        if not known.mutated(args, kwargs):
            return False
        self._known.clear()
        update = Update(func, known, args, kwargs)
        if (state.trace is not None and state.trace.run_dry
                and next(self._changed_by(*update[1:]), None) is not None):
            state.trace.stop_dry_run("changes a Tensor")
        if self.defers and may_wait(func):
            self._updates.add(update)
            return True
        if self.is_undoable:
            self._save(update)
        return False

    def _fail(self, node: Node, error: Exception) -> None:
        """Note that a kernel has raised an error, which the program may catch."""
        self.graph.erase_node(node)
        if not _OF_TYPES.search(str(error)) and may_be_caught(sys._getframe(), _CALLER):
            # no identity: another error may get it when this one is freed
            self.failures.append(vars(error).setdefault(_FAILED, object()))

    def forgive(self, error: BaseException | None) -> None:
        """Note that the program gets no error, since it was computed in another way.

        What the error came from is forgiven, too, but for an error that the program has caught and
        is handling meanwhile.
        """
        while error is not None and not _is_with_program(error):
            mark = vars(error).get(_FAILED)
            if mark in self.failures:
                self.failures.remove(mark)
            error = error.__cause__ or error.__context__

    def _message(self, func: Any, args: tuple, kwargs: dict) -> Any:
        """Call a collective of torch.distributed; functional ones, as DTensor's, are recorded."""
        name = func.__name__.partition(".")[0]
        if name in ("wait_tensor", "_wrap_tensor_autograd"):
            return args[0]  # already there: the implementations wait themselves
        function = IMPLEMENTATIONS.get(name)
        if state.trace is None or function is None or kwargs or func.namespace == "c10d":
            return self._refused("communicates by functions of torch.distributed", func, args,
                                 kwargs)
        with self:  # the mode is off here, but these kernels have to be in the graph
            return function(*args)

    def exchange(self, call: Any, given: Any) -> Any:
        """Exchange tensors with other processes, as a node of the graph."""
        line = self._lines.here()
        call.line = f"{line.file}:{line.number}" if line.file else ""
        return self.call(call, given)

    def call(self, call: Any, given: Any) -> Any:
        """Call something that is no kernel, as a node of the graph."""
        self.update()
        node = self.graph.call_function(call, (self._described(given),))
        node.meta["line"] = self._lines.here()
        if effects_of(call).may_fail and may_be_caught(sys._getframe(), _CALLER):
            node.meta[CAUGHT] = True
        try:
            with self.pause():
                found = call(given)
        except Exception as error:
            self._fail(node, error)
            raise
        self._note(node, found)
        return found

    def loop(self, loop: Loop, values: list[torch.Tensor]) -> list[torch.Tensor]:
        """Run a loop, as a node of the graph."""
        found = self.call(loop, values)
        if loop.has_open_stacks:  # which may be longer in the next run
            for part in next(iter(reversed(self.graph.nodes))).args[0].users:
                if part.args[1] >= loop.carried:
                    part.meta.pop("tensor_meta", None)
        return found

    @contextmanager
    def draws(self, drawn: list[Any], again: bool) -> Iterator[None]:
        """A block whose random numbers are kept in `drawn`, or in which these are used again.

        A graph can't reset a generator, so recomputation reads the same values a second time. What
        it computes again is marked, so that no pass takes the values of the first run instead.
        """
        before = self._again
        self._draws.append((drawn, iter(drawn) if again else None))
        if again:
            self._again = Recomputation()
        try:
            yield
        finally:
            self._draws.pop()
            self._again = before

    @property
    def runs_again(self) -> bool:
        """Whether a function is run a second time, for its values."""
        return self._again is not None

    def stands_for(self, raw: torch.Tensor, known: torch.Tensor) -> None:
        """Note that a tensor is an alias of one that is known."""
        self._give(raw, self._node_of(known))

    def mark(self, raw: torch.Tensor, name: str, value: Any) -> None:
        """Note something of the node of a value, if it has one."""
        known = self._nodes.get(id(raw))
        if known is not None and known[0]() is raw:
            known[1].meta[name] = value

    def nodes_of(self, raws: Iterable[torch.Tensor]) -> list[Node]:
        """The nodes of some tensors."""
        return [self._node_of(raw) for raw in raws]

    def _drawn(self, func: Any, args: tuple, kwargs: dict) -> Any:
        known, inside = None, []  # what a second run repeats, and the blocks in it
        for drawn, left in reversed(self._draws):
            if left is None:
                inside.append(drawn)
            elif (known := next(left, None)) is not None:
                break
        if known is None:
            found = self._run(func, args, kwargs)
        elif func._schema.is_mutable:
            found = self._run(aten.copy_.default, (args[0], known), {})
        else:
            found = self._copied(known)
        for drawn in inside:
            drawn.append(self._copied(found))
        return found

    def _copied(self, found: Any) -> Any:
        if isinstance(found, (tuple, list)):
            return tuple([self._copied(part) for part in found])
        return self._run(aten.clone.default, (found,), {})

    @contextmanager
    def pause(self) -> Iterator[None]:
        """A block in which nothing is recorded."""
        self._paused, before = True, self._paused
        try:
            yield
        finally:
            self._paused = before

    def finished(self, raws: Iterable[torch.Tensor]) -> GraphModule:
        """The graph, with these tensors as its results."""
        self.graph.output([self._node_of(raw) for raw in raws])
        return LazyModule(self.root, self.graph)

    def _described(self, value: Any) -> Any:
        """Arguments with their tensors replaced by nodes."""
        if isinstance(value, torch.Tensor):
            return self._node_of(value)
        if isinstance(value, (tuple, list)):
            parts = [self._node_of(v) if type(v) is torch.Tensor else
                     v if type(v) in _NUMBERS else self._described(v) for v in value]
            return parts if isinstance(value, list) else tuple(parts)
        if isinstance(value, dict):
            return {k: self._described(v) for k, v in value.items()}
        if isinstance(value, torch.Generator):
            return self._generator(value)
        return value

    def _generator(self, generator: torch.Generator) -> Node:
        """A node for a random generator, which the graph keeps as an attribute."""
        for name, known in self.generators.items():
            if known is generator:
                return self.graph.get_attr(name)
        name = f"generator_{len(self.generators)}"
        self.generators[name] = generator
        setattr(self.root, name, generator)
        return self.graph.get_attr(name)

    def _note(self, node: Node, found: Any) -> None:
        if isinstance(found, torch.Tensor):
            self._give(found, node)
            if type(found) is torch.Tensor and found.layout is torch.strided:
                key = found.shape, found.stride(), found.dtype, found.device
                meta = self._metas.get(key)  # equal layers share the metadata of their values
                if meta is None:
                    meta = self._metas[key] = meta_of_value(found)
                node.meta["tensor_meta"] = meta
        elif isinstance(found, (tuple, list)):
            for number, part in enumerate(found):
                if isinstance(part, torch.Tensor):
                    self._note(self.graph.call_function(operator.getitem, (node, number)), part)

    def _give(self, raw: torch.Tensor, node: Node) -> None:
        """Note that a tensor is the value of a node."""
        self._nodes[id(raw)] = weakref.ref(raw), node

    def _node_of(self, raw: torch.Tensor) -> Node:
        known = self._nodes.get(id(raw))
        if known is not None and known[0]() is raw:
            return known[1]
        before = self._last.next if self._last is not None else next(iter(self.graph.nodes), None)
        with self.graph.inserting_before(before):
            node = self._last = self.graph.placeholder(f"constant_{len(self.constants)}")
        node.meta["tensor_meta"] = meta_of_value(raw)
        self._give(raw, node)
        self.constants.append(raw)
        if type(raw) is torch.Tensor and raw.layout is torch.strided:
            self._given.add(raw.untyped_storage()._cdata)
        return node


def _is_with_program(error: BaseException) -> bool:
    """Whether an error has reached code of the program."""
    traceback = error.__traceback__
    return (traceback is not None
            and origin_of(traceback.tb_frame.f_code.co_filename) == USERS)


def _calls_others(kind: type) -> bool:
    """Whether this is DTensor's class, or that of a pending result: these call further kernels."""
    return hasattr(kind, "from_local") or hasattr(kind, "trigger_wait")


def _by_positions(func: Any, args: tuple) -> bool:
    """Whether this indexes by positions; the shape of indexing by a mask is data-dependent."""
    return func is aten.index.Tensor and not any(
        raw is not None and raw.dtype in (torch.bool, torch.uint8) for raw in args[1])
