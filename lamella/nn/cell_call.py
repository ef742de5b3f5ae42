"""What a call of a Cell does beyond `construct`: hooks, precision, recorded runs."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator
from typing import Any

from ..autodiff.hooks import HookHandle, add_hook, raw_structure_rule
from ..autodiff.level import watched
from ..autodiff.run import Run
from ..autodiff.saved import saved_tensors_hooks
from ..autodiff.tree import map_tensors, tensors
from ..core.declared import caches_of
from ..core.state import state
from ..tensors.tensor import Tensor, wrap
from .cell_tree import REGISTRIES, CellTree


class CellHooks(CellTree):
    """Functions called around `construct`, forward and backward."""

    def register_forward_pre_hook(self, hook_fn: Callable[..., Any], *, prepend: bool = False,
                                  with_kwargs: bool = False) -> HookHandle:
        """Call ``hook_fn(cell, inputs)`` before each call.

        Args:
            hook_fn: may return None, or the inputs to use instead (a tuple, or a single one).
            prepend: run it before the hooks registered earlier.
            with_kwargs: call ``hook_fn(cell, args, kwargs)``, which may return a pair of both.

        Returns:
            A handle whose `remove` takes the hook away.
        """
        return self._add_hook("forward_pre", hook_fn, prepend, with_kwargs)

    def register_forward_hook(self, hook_fn: Callable[..., Any], *, prepend: bool = False,
                              with_kwargs: bool = False, always_call: bool = False) -> HookHandle:
        """Call ``hook_fn(cell, inputs, output)`` after each call.

        Args:
            hook_fn: may return None, or the output to use instead.
            prepend: run it before the hooks registered earlier.
            with_kwargs: call ``hook_fn(cell, args, kwargs, output)``.
            always_call: call it, with output None, also when `construct` raised.

        Returns:
            A handle whose `remove` takes the hook away.
        """
        return self._add_hook("forward", hook_fn, prepend, (with_kwargs, always_call))

    def register_backward_pre_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Call ``hook_fn(cell, grad_output)`` before the gradient enters the Cell.

        Args:
            hook_fn: takes the tuple of gradients of the outputs; may return the ones to use
                instead.

        Returns:
            A handle whose `remove` takes the hook away.
        """
        return self._add_hook("backward_pre", hook_fn, False, None)

    def register_backward_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Call ``hook_fn(cell, grad_input, grad_output)`` when the gradient has left the Cell.

        Args:
            hook_fn: takes tuples of the gradients of inputs and outputs; may return the gradients
                of the inputs to use instead.

        Returns:
            A handle whose `remove` takes the hook away.
        """
        return self._add_hook("backward", hook_fn, False, None)

    def _add_hook(self, kind: str, hook: Callable[..., Any], prepend: bool,
                  option: Any) -> HookHandle:
        if not callable(hook):
            raise TypeError(f"For 'register_{kind}_hook', 'hook_fn' must be a function, "
                            f"but got {type(hook).__name__}.")
        handle = add_hook(self.__dict__, ("_call_hooks", kind), (hook, option), prepend)
        self._refresh_plain()
        return handle

    def register_saved_tensors_hooks(self, pack_hook: Callable[..., Any],
                                     unpack_hook: Callable[..., Any]) -> HookHandle:
        """Let Tensors that `construct` keeps for the backward pass pass through these functions.

        See `saved_tensors_hooks`.

        Args:
            pack_hook: takes a Tensor when it is kept, and returns what is kept instead.
            unpack_hook: takes that when the Tensor is needed, and returns the Tensor.

        Returns:
            A handle whose `remove` takes the hooks away.
        """
        return self._add_hook("saved", pack_hook, False, unpack_hook)

    def _call_hooked(self, body: Callable[[tuple, dict], Any], args: tuple, kwargs: dict) -> Any:
        kinds = self.__dict__.get("_call_hooks", {})  # another thread may have removed the last
        for hook, with_kwargs in list(kinds.get("forward_pre", {}).values()):
            if with_kwargs:
                given = hook(self, args, kwargs)
                if given is not None:
                    args, kwargs = given
            else:
                given = hook(self, args)
                if given is not None:
                    args = given if isinstance(given, tuple) else (given,)
        after = list(kinds.get("forward", {}).values())
        backward = list(kinds.get("backward", {}).values())
        gradients = _BackwardPass(self, backward) if backward else None
        if gradients is not None:
            args = gradients.around_inputs(args)
        try:
            if kinds.get("saved"):
                with _kept_by(list(kinds["saved"].values())):
                    output = body(args, kwargs)
            else:
                output = body(args, kwargs)
        except BaseException:
            for hook, (with_kwargs, always) in after:
                if always:
                    hook(self, args, kwargs, None) if with_kwargs else hook(self, args, None)
            raise
        for hook, (with_kwargs, _) in after:
            given = hook(self, args, kwargs, output) if with_kwargs else hook(self, args, output)
            if given is not None:
                output = given
        if gradients is not None:
            output = gradients.around_output(output)
        for hook, _ in reversed([*kinds.get("backward_pre", {}).values()]):  # the first one last
            output = _pre_backward(self, hook, output)
        return output


class _BackwardPass:
    """The gradients of a Cell's outputs, kept until those of its inputs are there for the hooks."""

    def __init__(self, cell: Any, hooks: list):
        self.cell = cell
        self.hooks = [hook for hook, _ in hooks]
        self.grad_output: tuple | None = None

    def around_inputs(self, args: tuple) -> tuple:
        def arrived(gradients: tuple) -> tuple:
            for hook in self.hooks:
                given = hook(self.cell, gradients, self.grad_output)
                if given is not None:
                    gradients = given if isinstance(given, tuple) else (given,)
            return gradients

        return _around(args, arrived, self.hooks[0], "backward hook")

    def around_output(self, output: Any) -> Any:
        def entering(gradients: tuple) -> None:
            self.grad_output = gradients

        return _around_output(output, entering, self.hooks[0], "backward hook")


@contextlib.contextmanager
def _kept_by(hooks: list[tuple[Any, Any]]) -> Iterator[None]:
    """A block in which the Tensors that the tape keeps pass through `saved_tensors_hooks`."""
    with contextlib.ExitStack() as stack:
        for pack, unpack in hooks:
            stack.enter_context(saved_tensors_hooks(pack, unpack))
        yield


def _pre_backward(cell: Any, hook: Callable[..., Any], output: Any) -> Any:
    def entering(gradients: tuple) -> Any:
        given = hook(cell, gradients)
        return given if given is None or isinstance(given, tuple) else (given,)

    return _around_output(output, entering, hook, "backward pre-hook")


def _around_output(output: Any, rule: Callable[[tuple], Any], hook: Any, name: str) -> Any:
    if isinstance(output, tuple):
        return _around(output, rule, hook, name)
    return _around((output,), rule, hook, name)[0]


def _around(values: tuple, rule: Callable[[tuple], Any], hook: Any, name: str) -> tuple:
    """The values; `rule` takes their gradients together, a tuple with one for each Tensor."""
    flat = list(tensors(values))
    if not watched([t._raw for t in flat]):
        return values
    outs = iter(raw_structure_rule(tuple(flat), rule, name, hook))
    return map_tensors(lambda _: next(outs), values)


def call_in_float(cell: Any, body: Callable[[tuple, dict], Any], args: tuple, kwargs: dict) -> Any:
    """Run `body` with floating inputs and the Cell's own Parameters in its `to_float` type.

    The Parameters are converted in this thread's overlay: they themselves keep their type.
    """
    raw_type = cell._float_type

    def cast(tensor: Tensor) -> Tensor:
        raw = tensor._raw
        if raw.dtype is raw_type or not raw.is_floating_point():
            return tensor
        return wrap(raw.to(raw_type))

    before = state.overlay
    overlay = {} if before is None else before.copy()
    for name, parameter in cell._params.items():
        if parameter is not None and name not in cell.kept_in_own_type:
            raw = parameter._raw
            if raw.is_floating_point() and raw.dtype is not raw_type:
                overlay[parameter] = raw.to(raw_type)
    args, kwargs = map_tensors(cast, (args, kwargs))
    state.overlay = overlay
    try:
        return body(args, kwargs)
    finally:
        state.overlay = before


def record_run(cell: Any, args: tuple, kwargs: dict) -> Any:
    """Call a Cell and keep the recorded run for the next `grad` of it on the same inputs."""
    positions = tuple(i for i, a in enumerate(args) if next(tensors(a), None) is not None)
    weights = tuple(cell.trainable_params())
    runs, key = run_slot(cell)
    runs.pop(key, None)
    run = Run(weights, None, by_integers=False)
    before = _attributes(cell)
    run.run(lambda *a, **k: cell._call_with_extras(a, k), args, kwargs, positions)
    runs[key] = _Recorded(cell, run, args, kwargs, positions, weights, before)
    return map_tensors(lambda t: wrap(t._raw.detach()), run.value)


def run_slot(cell: Any) -> tuple[dict[Any, Any], Any]:
    """The dict in which the recorded run of a call is kept, and its key there.

    The dict is the Cell's own; for a call inside a trace it is the trace's, since a run that was
    recorded there can't be used outside, nor one from outside there.
    """
    if state.trace is not None:
        return state.trace.runs, id(cell)
    return cell.__dict__, "_run_of_set_grad"


class _Recorded:
    """A run recorded outside of a gradient call, with the inputs and the state of the Cell that it
    was recorded on."""

    def __init__(self, cell: Any, run: Run, args: tuple, kwargs: dict, positions: tuple,
                 weights: tuple, before: dict[tuple[int, str], Any]):
        self.run, self.positions, self.weights = run, positions, weights
        self.inputs = list(_stamps((args, kwargs)))
        # a counter, or what it keeps of its results: the run doesn't depend on what it has assigned
        self.assigned = {place for place, value in _attributes(cell).items()
                         if place not in before or before[place] is not value}
        self.state = list(_state(cell, self.assigned))
        self.counts = {p: sum(1 for _ in tensors(args[p])) for p in positions}

    def fits(self, cell: Any, args: tuple, kwargs: dict) -> bool:
        """Whether these are the very inputs, and neither they nor the Cell changed since."""
        return _are_same(self.inputs, _stamps((args, kwargs))) and _are_same(
            self.state, _state(cell, self.assigned))

    def run_for(self, positions: tuple, weights: tuple) -> Run | None:
        """The run with the aliases of just these positions and weights; None if it lacks one."""
        start, places = 0, {}
        run = self.run
        for p in self.positions:
            count = self.counts[p]
            places[p] = range(start, start + count)
            start += count
        slots = {id(w): start + i for i, w in enumerate(self.weights)}
        if any(p not in places for p in positions) or any(id(w) not in slots for w in weights):
            return None
        keep = [i for p in positions for i in places[p]] + [slots[id(w)] for w in weights]
        run.originals = [run.originals[i] for i in keep]
        run.aliases = [run.aliases[i] for i in keep]
        return run


def _attributes(cell: Any) -> dict[tuple[int, str], Any]:
    """The attributes of all Cells, by the Cell's identity and the name."""
    return {(id(each), name): value for _, each in cell.cells_and_names()
            for name, value in each.__dict__.items()}


def _state(cell: Any, without: set[tuple[int, str]]) -> Iterator[tuple[tuple, Any]]:
    """What a call depends on beside its inputs: the attributes, Parameters, buffers and hooks of
    all Cells, `without` some attributes."""
    for _, each in cell.cells_and_names():
        caches = caches_of(type(each))
        for name, value in each.__dict__.items():
            if (id(each), name) in without:
                continue
            if name in REGISTRIES or name == "_call_hooks" or isinstance(value, Tensor):
                yield from _stamps(value)
            elif name not in caches:
                yield (value,), name


def _stamps(tree: Any) -> Iterator[tuple[tuple, Any]]:
    """Each leaf of a structure: objects that must be the same, and what must be equal."""
    if isinstance(tree, Tensor):
        raw = tree._raw
        yield (tree, raw), raw._version
    elif isinstance(tree, (tuple, list)):
        for branch in tree:
            yield from _stamps(branch)
    elif isinstance(tree, dict):
        for key in tree:
            yield (), key
            yield from _stamps(tree[key])
    else:
        yield (tree,), None


def _are_same(before: list[tuple[tuple, Any]], now: Iterator[tuple[tuple, Any]]) -> bool:
    found = list(now)
    return len(found) == len(before) and all(
        len(a[0]) == len(b[0]) and all(map(operator.is_, a[0], b[0])) and a[1] == b[1]
        for a, b in zip(before, found, strict=True))
