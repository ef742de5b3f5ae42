"""Forward-mode differentiation: `jvp`, `linearize`.

The tangents are carried by PyTorch's dual numbers, or inside `vmap` by a level of `torch.func`.
PyTorch carries one at a time: a `jvp` inside another, or an operator whose kernel has no forward
derivative, is computed as the gradient of the gradient's inner product, the transpose of the
transpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch.autograd import forward_ad

from ..core.dispatch_mode import DispatchMode
from ..core.errors import add_fallback
from ..core.forking import Lock
from ..core.require import of_type
from ..core.structures import agree, aligned, kind_of
from ..tensors.tensor import Tensor, wrap
from ..tensors.views import alias_of, as_alias
from .engine import Raws, backpropagate, make_dual, vjp
from .engine import jvp as pushed
from .hooks import with_hooks
from .integers import Integers, plain, twin_of, with_twin
from .level import Level, batching, current, entered, recording
from .node import probe
from .run import as_value, cut, detached, record
from .tree import (
    check_no_hidden,
    differentiable,
    differentiable_tensors,
    map_tensors,
    tensors,
    trained,
)

_dual_numbers = Lock()  # PyTorch has one level of them for the whole process


def jvp(fn: Callable[..., Any], inputs: Any, v: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of `fn` and its derivative in the direction `v`, in one forward run.

    A backward rule of the user's (``Cell.bprop``, `_Function`, `InsertGradientOf`, a hook) holds
    here, too: the derivative is the transpose of what the rule says, unless the Cell has a method
    ``jvp(self, *inputs, out, dinputs)``, where `dinputs` is the tangent of the input, or a tuple of
    them, and the result has the structure of `out`. Such a rule is also run on random
    gradients, to check that it is linear: what it prints of them means nothing.

    Args:
        fn: a function or Cell of Tensors.
        inputs: the input, or a tuple or list of them, which may be nested.
        v: the direction, of the inputs' structure, shapes and types; None stands for zero.
        has_aux: differentiate only the first output; the others come back as they are.

    Returns:
        The outputs and their tangents, in one structure; with `has_aux` also the other outputs: a
        tuple, or the one there is.

    Raises:
        TypeError: if `inputs` or `v` is of the wrong type.
        ValueError: if they don't fit each other.
        RuntimeError: if a backward rule that `fn` uses is not linear in the gradient.

    Examples:
        >>> import lamella as ms
        >>> x, v = ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 0.5])
        >>> value, tangent = ms.jvp(lambda x: x**3, x, v)
        >>> print(value, tangent)
        [1. 8.] [3. 6.]
    """
    if not callable(fn):
        raise TypeError(f"For 'jvp', 'fn' must be a function or a Cell, "
                        f"but got {type(fn).__name__}.")
    of_type(has_aux, bool, "has_aux", "jvp")
    args, directions = arguments(inputs, "jvp", "inputs"), arguments(v, "jvp", "v")
    tangents = checked_tangents(args, directions, "jvp")
    value, tangent = push(fn, args, tangents)
    if has_aux:
        others = split_aux(value, "jvp")
        return value[0], tangent[0], others
    return value, tangent


def linearize(fn: Callable[..., Any], inputs: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The value of `fn`, and its derivative as a linear function that costs no run of `fn`.

    Args:
        fn: a function or Cell of Tensors.
        inputs: the input, or a tuple or list of them.

    Returns:
        The outputs, and a function: it takes a direction as `jvp` does and gives the outputs'
        tangents. It can be called any number of times, and under `vmap`.

    Raises:
        TypeError: if `fn` or `inputs` is of the wrong type.
        RuntimeError: if a backward rule that `fn` uses is not linear in the gradient.

    Examples:
        >>> import lamella as ms
        >>> value, push = ms.ops.linearize(lambda x: x**3, ms.Tensor([1.0, 2.0]))
        >>> print(value, push(ms.Tensor([1.0, 0.5])), push(ms.Tensor([0.0, 1.0])))
        [1. 8.] [3. 6.] [ 0. 12.]
    """
    if not callable(fn):
        raise TypeError(f"For 'linearize', 'fn' must be a function or a Cell, "
                        f"but got {type(fn).__name__}.")
    args = arguments(inputs, "linearize", "inputs")
    linear = Linear(fn, args, current())

    def tangent(v: Any) -> Any:
        given = checked_tangents(args, arguments(v, "linearize", "v"), "linearize")
        tangent = linear.push(given)
        return tangent if current() is not None else map_tensors(detached, tangent)

    value = linear.value
    return value if current() is not None else map_tensors(detached, value), tangent


def arguments(inputs: Any, name: str, what: str) -> tuple:
    """The arguments of a function, given as one Tensor or as a tuple or list of them."""
    if isinstance(inputs, Tensor):
        return (inputs,)
    if isinstance(inputs, (tuple, list)) and not hasattr(inputs, "_fields"):
        found = tuple(inputs)
    elif kind_of(inputs) is not None:
        found = (inputs,)
    else:
        raise TypeError(f"For '{name}', '{what}' must be a Tensor, a structure of Tensors, or a "
                        f"tuple or list of these, but got {type(inputs).__name__}.")
    check_no_hidden(name, f"'{what}'", found)
    return found


def checked_tangents(args: tuple, directions: tuple, name: str) -> list[torch.Tensor | None]:
    """For each Tensor among the arguments its raw tangent, in its type.

    Raises:
        TypeError: if a tangent is neither a Tensor nor None.
        ValueError: if structures or shapes differ.
    """
    if len(args) != len(directions):
        raise ValueError(f"For '{name}', 'v' must hold as many tangents as there are inputs, "
                         f"{len(args)}, but got {len(directions)}.")
    found = [tangent for arg, given in zip(args, directions, strict=True)
             for tangent in _tangents(arg, given, name)]
    if not found:
        raise TypeError(f"For '{name}', 'inputs' must hold a Tensor.")
    return found


def _tangents(arg: Any, given: Any, name: str) -> Iterator[torch.Tensor | None]:
    """For each Tensor of one argument its raw tangent."""
    if isinstance(arg, Tensor):
        if given is not None and not isinstance(given, Tensor):
            raise TypeError(f"For '{name}', a tangent in 'v' must be a Tensor or None, "
                            f"but got {type(given).__name__}.")
        if given is not None and given._raw.is_complex() and not arg._raw.is_complex():
            raise TypeError(f"For '{name}', a tangent in 'v' of the real type {arg.dtype} can't be "
                            f"complex, but got {given.dtype}.")
        if given is not None and given.shape != arg.shape:
            raise ValueError(f"For '{name}', a tangent in 'v' must have the input's shape "
                             f"{arg.shape}, but got {given.shape}.")
        yield None if given is None else given._raw
    elif given is None:
        yield from (None for _ in tensors(arg))
    elif next(tensors(arg), None) is not None:
        if not agree(arg, given):
            raise ValueError(f"For '{name}', 'v' must have the structure of the inputs: got a "
                             f"{type(given).__name__} for a {type(arg).__name__}.")
        kind = kind_of(arg)
        assert kind is not None
        for part, direction in zip(kind.parts(arg), aligned(arg, given), strict=True):
            yield from _tangents(part, direction, name)


def split_aux(value: Any, name: str) -> Any:
    """The outputs after the first, cut from any gradient: a tuple, or the one there is.

    Raises:
        ValueError: if there is only one output.
    """
    if not isinstance(value, (tuple, list)) or len(value) < 2:
        raise ValueError(f"For '{name}', with has_aux=True 'fn' must return two or more outputs, "
                         f"but it returned {type(value).__name__}.")
    others = tuple(map_tensors(detached, value[1:]))
    return others[0] if len(others) == 1 else others


def push(fn: Callable[..., Any], args: tuple,
         tangents: Sequence[torch.Tensor | None]) -> tuple[Any, Any]:
    """The value of ``fn(*args)`` and its tangent, of that structure.

    Args:
        tangents: for each Tensor among the arguments its raw tangent, None for zero.
    """
    outer = current()
    leaves = list(tensors(args))
    # what isn't trained doesn't move, as its gradient is zero
    directions = [None if tangent is None or not trained(leaf) else twin_of(tangent).to(
                      leaf._raw.dtype if differentiable(leaf._raw) else torch.float64)
                  for leaf, tangent in zip(leaves, tangents, strict=True)]
    run = _Push(fn, args, leaves, directions, outer)
    value, tangent = run.result()
    if outer is None:
        value, tangent = map_tensors(detached, value), map_tensors(detached, tangent)
        cut(run.level.changed)
    return value, tangent


class DifferentiableTangents(DispatchMode):
    """A mode in which PyTorch's forward-mode rules can be differentiated themselves.

    As a dispatch mode is active, those that change tensors in place to save memory (of logsumexp
    and softmax) don't. Zero tangents are tensors with memory: rules that use tensors without (of
    mse_loss, huber_loss) couldn't be differentiated.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten._efficientzerotensor.default:
            func = torch.ops.aten.zeros.default
        return func(*args, **(kwargs or {}))


class _Push:
    """One forward-mode derivative.

    It uses dual numbers if no other derivative does, else transposition.
    """

    def __init__(self, fn: Callable[..., Any], args: tuple, leaves: list[Tensor],
                 tangents: list[torch.Tensor | None], outer: Level | None):
        self.fn, self.args, self.leaves, self.tangents = fn, args, leaves, tangents
        self.outer = outer
        self.indices = [i for i, t in enumerate(tangents) if t is not None]
        self.level = Level(outer, reverse=False, forward=True)

    def result(self) -> tuple[Any, Any]:
        """The value, and its tangent."""
        if self.outer is not None and self.outer.forward:
            return self._transposed()
        if not _dual_numbers.acquire(blocking=False):  # another thread's derivative is running
            return self._transposed()
        forward = torch._C._is_fwd_grad_enabled()
        torch._C._set_fwd_grad_enabled(True)
        try:
            return self._lifted() if batching() else self._dual()
        except RuntimeError as error:
            if not _has_no_forward_derivative(error):
                raise
            # `fn` has run in part, and never runs again
            raise RuntimeError(
                "For 'jvp', the program calls a kernel of PyTorch's that has no forward-mode "
                "derivative. Use Lamella's operator, or differentiate in reverse mode (grad, "
                "jacrev, vjp).") from error
        finally:
            torch._C._set_fwd_grad_enabled(forward)
            _dual_numbers.release()

    def _call(self, raws: Sequence[torch.Tensor]) -> Any:
        with entered(self.level), torch.enable_grad():
            given = [wrap(as_alias(with_hooks(raw, leaf.__dict__.get("_hooks", {}).values())))
                     for leaf, raw in zip(self.leaves, raws, strict=True)]
            self.level.given = [(tensor, tensor._raw) for tensor in given]
            flat = iter(given)
            value = self.fn(*map_tensors(lambda _: next(flat), self.args))
            check_no_hidden("jvp", "the result", value)
            return map_tensors(as_value, value)

    def _dual(self) -> tuple[Any, Any]:
        mode = DifferentiableTangents() if recording(self.outer) else nullcontext()
        with forward_ad.dual_level(), mode:
            value = self._call([
                raw if t is None else _like(raw, make_dual(_floating(raw), t))
                for raw, t in zip(self._own(), self.tangents, strict=True)])
            raws = [t._raw for t in tensors(value)]
            parts = [forward_ad.unpack_dual(twin_of(raw)) for raw in raws]
        primals = iter([wrap(plain(raw) if type(raw) is Integers else part.primal)
                        for raw, part in zip(raws, parts, strict=True)])
        tangents = iter([wrap(torch.zeros_like(plain(raw)) if part.tangent is None
                              else part.tangent.to(raw.dtype))
                         for raw, part in zip(raws, parts, strict=True)])
        return (map_tensors(lambda _: next(primals), value),
                map_tensors(lambda _: next(tangents), value))

    def _own(self) -> list[torch.Tensor]:
        """Names of the inputs' own for them, with no base from outside of the call."""
        with torch.enable_grad():
            return [leaf._raw.detach() if self.outer is None else alias_of(leaf._raw)
                    for leaf in self.leaves]

    def _lifted(self) -> tuple[Any, Any]:
        trees: list[Any] = []

        def run(*primals: torch.Tensor) -> tuple[Raws, Raws]:
            raws = self._own()
            for index, raw in zip(self.indices, primals, strict=True):
                raws[index] = _like(raws[index], raw)
            value = self._call(raws)
            trees.append(map_tensors(lambda t: t, value))
            every = [t._raw for t in tensors(value)]
            outs = tuple(twin_of(r) for r in every if differentiable(twin_of(r)))
            return outs, tuple(plain(r) for r in every if not differentiable(r))

        primals = tuple(_floating(self.leaves[i]._raw) for i in self.indices)
        given = tuple(t for t in self.tangents if t is not None)
        outs, tangents, others = pushed(run, primals, given)
        (tree,) = trees
        moving = [differentiable(twin_of(t._raw)) for t in tensors(tree)]
        floating, whole, moves = iter(outs), iter(others), iter(moving)

        def primal(t: Tensor) -> Tensor:
            found = next(floating) if next(moves) else None
            return wrap(next(whole) if found is None or not differentiable(t._raw) else found)

        value = map_tensors(primal, tree)
        flat_tangents, moves = iter(tangents), iter(moving)
        return value, map_tensors(
            lambda t: wrap(next(flat_tangents).to(t._raw.dtype) if next(moves)
                           else torch.zeros_like(t._raw)),
            value)

    def _transposed(self) -> tuple[Any, Any]:
        by, index = [], 0
        for position, arg in enumerate(self.args):
            following = index + sum(1 for _ in tensors(arg))
            if any(t is not None for t in self.tangents[index:following]):
                by.append(position)
            index = following
        linear = Linear(self.fn, self.args, self.outer, tuple(by))
        return linear.value, linear.push(self.tangents)


class Linear:
    """A function at a point as a linear map, recorded once: the transpose of its gradient.

    Args:
        positions: of the arguments that may move; default: all.
    """

    def __init__(self, fn: Callable[..., Any], args: tuple, outer: Level | None,
                 positions: tuple[int, ...] | None = None):
        self.outer = outer
        by = tuple(range(len(args))) if positions is None else positions
        owners = [position for position, arg in enumerate(args) for _ in tensors(arg)]
        self.count = len(owners)
        self.indices = [index for p in by for index, owner in enumerate(owners) if owner == p]
        with entered(Level(outer, transposing=True)):
            self.run = record(fn, args, {}, by, (), current())
            check_no_hidden("linearize", "the result", self.run.value)
            self.value = map_tensors(lambda t: wrap(plain(t._raw)), self.run.value)
            self.run.value = map_tensors(lambda t: wrap(twin_of(t._raw)), self.run.value)
            self.moving = [differentiable(t._raw) for t in tensors(self.run.value)]
            self.outs = [t._raw for t in differentiable_tensors(self.run.value)]
            self.lifted = batching()
            if self.lifted:
                starts = tuple(probe(out, 3) for out in self.outs)
                self.back = vjp(lambda *u: (tuple(self.run.pull(u)), ()), *starts)[1]
            else:
                with torch.enable_grad():
                    self.starts = [probe(out, 3).requires_grad_() for out in self.outs]
                    self.rows = self.run.pull(self.starts)
        if outer is None:
            cut(self.run.level.changed)

    def push(self, tangents: Sequence[torch.Tensor | None]) -> Any:
        """The tangent of the value, of its structure, for raw tangents of the Tensors given."""
        flat, moves = iter(self._pushed(tangents)), iter(self.moving)
        return map_tensors(
            lambda t: wrap(next(flat).to(t._raw.dtype) if next(moves)
                           else torch.zeros_like(t._raw)),
            self.value)

    def _pushed(self, tangents: Sequence[torch.Tensor | None]) -> list[torch.Tensor]:
        tangents = [tangents[index] for index in self.indices]
        nested = recording(self.outer) or recording(current())
        if self.lifted:
            rows = self.run.originals if all(map(differentiable, self.run.originals)) else [
                _floating(row) for row in self.run.originals]
            given = tuple(torch.zeros_like(row) if t is None else t.to(row.dtype)
                          for t, row in zip(tangents, rows, strict=True))
            return self.back(given, True, nested)
        pairs = [(row, t.to(row.dtype)) for row, t in zip(self.rows, tangents, strict=True)
                 if t is not None and row.requires_grad]
        found = backpropagate(pairs, self.starts, True, nested)
        return [torch.zeros_like(out) if t is None else t
                for t, out in zip(found, self.outs, strict=True)]


def _floating(raw: torch.Tensor) -> torch.Tensor:
    """What carries the tangent of a raw tensor: itself, or of integers the same numbers."""
    return raw if differentiable(raw) else twin_of(raw).double()


def _like(raw: torch.Tensor, carrier: torch.Tensor) -> torch.Tensor:
    """`carrier` as the program sees it; if `raw` has integers, these with `carrier` as a twin."""
    return carrier if differentiable(raw) else with_twin(raw.detach(), carrier)


@contextmanager
def recurrent_kernels(plain: bool = False) -> Iterator[None]:
    """A block for PyTorch's recurrent kernels: without oneDNN's, which have no forward derivative
    and no rule for `vmap`, where a forward derivative or many gradients at once are computed.

    Args:
        plain: without them in any case.
    """
    level, enabled = current(), torch._C._get_mkldnn_enabled()
    without = enabled and (plain or level is not None and (level.forward or _in_batch(level)))
    if without:
        torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        if without:
            torch._C._set_mkldnn_enabled(True)


def _in_batch(level: Level | None) -> bool:
    """Whether a transformation that takes many directions or examples at once is running."""
    while level is not None and level.kind != "other":
        level = level.outer
    return level is not None


def _lacks_forward_derivative(error: BaseException) -> bool:
    level = current()
    return (level is not None and level.forward and isinstance(error, RuntimeError)
            and _has_no_forward_derivative(error))


def _by_transposition(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """The value and tangent of one operator whose kernel has no forward derivative.

    They are the transpose of the transpose, so the operator runs again, but never the program.
    """
    given = list(tensors((args, kwargs)))
    parts = [forward_ad.unpack_dual(twin_of(tensor._raw)) for tensor in given]
    moving = [i for i, part in enumerate(parts) if part.tangent is not None]

    def of_moving(*moved: Tensor) -> Any:
        values = dict(zip(moving, moved, strict=True))
        order = iter(range(len(given)))
        own_args, own_kwargs = map_tensors(
            lambda tensor: values.get(next(order), tensor), (args, kwargs))
        return function(*own_args, **own_kwargs)

    if not moving:
        return function(*args, **kwargs)
    value, tangent = push(of_moving, tuple([
        wrap(_like(given[i]._raw, parts[i].primal)) for i in moving]),
        [parts[i].tangent for i in moving])
    tangents = tensors(tangent)

    def dual(tensor: Tensor) -> Tensor:
        its = next(tangents)._raw
        if not differentiable(tensor._raw):
            return tensor
        return wrap(make_dual(tensor._raw, its))

    return map_tensors(dual, value)


add_fallback(_lacks_forward_derivative, _by_transposition)

_UNSUPPORTED = ("Trying to use forward AD with", "You must implement the jvp function",
                "does not support forward", "forward-mode AD")


def _has_no_forward_derivative(error: BaseException) -> bool:
    """Whether an error says that PyTorch has no forward-mode derivative of a kernel."""
    return any(words in str(error) for words in _UNSUPPORTED) and "is not linear" not in str(error)
