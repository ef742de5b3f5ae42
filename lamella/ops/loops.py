"""Loops whose body is recorded once in a compiled function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..autodiff.level import by_example, for_any_example
from ..autodiff.tree import map_tensors, tensors, tensors_as
from ..core.state import state
from ..core.structures import kind_of
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap

FEWEST = 8  # steps that are worth a loop of their own in a graph


def check_function(name: str, argument: str, function: Any) -> None:
    """Check that an argument is a function.

    Raises:
        TypeError: if it isn't.
    """
    if not callable(function) or isinstance(function, Tensor):
        raise TypeError(f"For '{name}', '{argument}' must be a function, "
                        f"but got {type(function).__name__}.")


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
               ) -> Any:
    """Applies a function to a value as long as a condition of the value holds.

    In a compiled function (`jit`, GRAPH_MODE) the body becomes one operation of the graph, which
    runs as often as the condition holds: the number of steps may be another in each call. The body
    must then only compute, and give Tensors of the same shapes and types as it takes; otherwise
    the loop is recorded step by step, as a ``while`` of Python's, and the number of steps is part
    of what the graph depends on. The same numbers result.

    All derivatives pass through it, and `vmap`: there an example for which the condition no longer
    holds keeps its value, while others go on. The backward pass keeps what it needs of each step.

    Args:
        cond_fun: takes the value; a Tensor of one element, or a bool: whether to go on.
        body_fun: takes the value; the next one.
        init_val: the first value: a Tensor, or a structure of Tensors and others.

    Returns:
        The last value.

    Raises:
        TypeError: if one that should be a function isn't.

    Examples:
        >>> import lamella as ms
        >>> @ms.jit
        ... def root(a):
        ...     def near(x):
        ...         return ms.ops.abs(x * x - a) > 1e-4 * a
        ...     return ms.while_loop(near, lambda x: (x + a / x) / 2, a)
        >>> print(f"{float(root(ms.Tensor(9.0))):.2f} {float(root(ms.Tensor(1e6))):.2f}")
        3.00 1000.00
    """
    check_function("while_loop", "cond_fun", cond_fun)
    check_function("while_loop", "body_fun", body_fun)
    return looped(cond_fun, body_fun, init_val)


def looped(condition: Callable[[Any], Any], body: Callable[[Any], Any], value: Any) -> Any:
    """The result of a `while_loop` of these functions."""
    if state.trace is not None:
        found = _Recorded((condition, body), value).whiles(condition, body)
        if found is not None:
            return found[0]
    first = value
    while _goes_on(holds := condition(value)):
        found = body(value)
        if varies(holds):
            if not alike(found, value):
                raise TypeError("For 'while_loop', inside of 'vmap' a condition that differs "
                                "between examples needs a body whose value has the structure "
                                "that it takes.")
            found = chosen(holds, found, value)
        value = found
    return _another(value) if value is first else value


def _another(value: Any) -> Any:
    """A loop's first value as its result: copies, since after a step they wouldn't be these.

    So hooks, and writes into the result, mean the same whether there are steps or not.
    """
    return with_raws(value, [t._raw.clone() for t in tensors(value)])


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """Applies a function of a counter and a value, for each count from `lower` to `upper` - 1.

    In a compiled function the body becomes one operation of the graph, as that of `while_loop`,
    if it only computes and keeps the value's shapes and types; the counter is then a Tensor of
    rank 0 and type int64, else an int. Bounds that are Tensors may be others in each call.

    Args:
        lower, upper: the first count, and the one behind the last: ints or Tensors.
        body_fun: takes the count and the value; the next value.
        init_val: the first value: a Tensor, or a structure of Tensors and others.

    Returns:
        The last value; the first one if there are no counts.

    Raises:
        TypeError: if a bound is neither int nor Tensor, or `body_fun` is no function.

    Examples:
        >>> import lamella as ms
        >>> print(ms.fori_loop(0, 4, lambda i, v: v + i, ms.Tensor(1)))
        7
    """
    check_function("fori_loop", "body_fun", body_fun)
    return counting("fori_loop", lower, upper, body_fun, init_val, False)


def counting(name: str, lower: Any, upper: Any, body: Callable[[Any, Any], Any], value: Any,
             unroll: bool) -> Any:
    """The result of a `fori_loop`; `unroll` has a graph record each step."""
    for argument, bound in (("lower", lower), ("upper", upper)):
        if not isinstance(bound, (int, Tensor)) or isinstance(bound, bool):
            raise TypeError(f"For '{name}', '{argument}' must be an int or a Tensor, "
                            f"but got {type(bound).__name__}.")
    found = None if unroll else counted(body, lower, upper, value)
    if found is not None:
        return found[0]
    first = value
    for count in range(int(lower), int(upper)):
        value = body(count, value)
    return _another(value) if value is first else value


def varies(holds: Any) -> bool:
    """Whether a condition differs between the examples of a `vmap`."""
    return isinstance(holds, Tensor) and by_example(holds._raw)


def _goes_on(holds: Any) -> Any:
    """Whether a condition holds, for any of the examples of a `vmap`."""
    return wrap(for_any_example(holds._raw)) if varies(holds) else holds


def chosen(holds: Tensor, then: Any, otherwise: Any) -> Any:
    """Of each example of a `vmap` one of two values of the same structure."""
    test = holds._raw.reshape(()) != 0
    pairs = zip(tensors(then), tensors(otherwise), strict=True)
    return with_raws(then, [torch.where(test, a._raw, b._raw) for a, b in pairs])


def scan(f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None,
         length: int | None = None, reverse: bool = False) -> tuple[Any, Any]:
    """Applies a function of a running value and an element along the first axis of Tensors.

    In a compiled function the body becomes one operation of the graph, if it only computes and the
    running value keeps its shapes and types. So it is recorded once, and compiled once.

    Args:
        f: takes the running value and an element; gives the next running value and a result. Both
            are Tensors or structures of them.
        init: the first running value.
        xs: a Tensor or a structure of Tensors, whose elements along the first axis are taken in
            turn; or None.
        length: how many steps there are; needed where `xs` is None.
        reverse: whether the last element comes first.

    Returns:
        The last running value, and the results, each along a new first axis, in the order of `xs`.

    Raises:
        TypeError: if `f` is no function, `length` no int, or results have no Tensors.
        ValueError: if there are neither elements nor a length, or they contradict each other.

    Examples:
        >>> import lamella as ms
        >>> total, sums = ms.scan(lambda c, x: (c + x, c + x), ms.Tensor(0), ms.Tensor([1, 2, 3]))
        >>> print(total, sums)
        6 [1 3 6]
    """
    check_function("scan", "f", f)
    if not _are_tensors(xs):
        raise TypeError(f"For 'scan', 'xs' must be of Tensors or None, but got {xs!r}.")
    count = _length(xs, length)
    stacks = [t._raw for t in tensors(xs)]
    if state.trace is not None and count >= FEWEST:
        given = [raw.flip(0) if reverse else raw for raw in stacks]
        found = _Recorded((f,), init).scans(f, xs, given, count)
        if found is not None:
            last, result, made = found
            made = [raw.flip(0) if reverse else raw for raw in made]
            return last, with_raws(result, made)
    value, results = init, []
    for i in reversed(range(count)) if reverse else range(count):
        value, result = f(value, with_raws(xs, [raw[i] for raw in stacks]))
        if not _are_tensors(result):
            raise TypeError(f"For 'scan', the results of 'f' must be Tensors or None, "
                            f"but got {result!r}.")
        results.append(result)
    if reverse:
        results.reverse()
    return value, _stacked(f, init, xs, results)


def scanned(f: Callable[[Any, Any], Any], init: Any, elements: Sequence[Any]
            ) -> tuple[Any, list[Any]]:
    """As `scan`, of a list of elements, which gives a list of results."""
    raws = [x._raw for x in elements if isinstance(x, Tensor)]
    if state.trace is not None and len(elements) >= FEWEST and _are_alike(elements, raws):
        stacks = [torch.stack(raws)] if raws else []
        found = _Recorded((f,), init).scans(f, elements[0], stacks, len(elements))
        if found is not None:
            last, result, made = found
            rows = zip(*[raw.unbind() for raw in made], strict=True) if made else (
                [()] * len(elements))
            return last, [with_raws(result, list(row)) for row in rows]
    results = []
    for element in elements:
        init, result = f(init, element)
        results.append(result)
    return init, results


def counted(f: Callable[[Any, Any], Any], lower: Any, upper: Any, init: Any) -> tuple[Any] | None:
    """The result of a loop over counts as one operation of the graph that is being recorded.

    None if there is no such graph, or the loop has to be recorded step by step.

    Args:
        f: takes the count, a Tensor, and the value; gives the next value.
        lower, upper: the first count, and the one behind the last: ints or Tensors.
        init: the first value.
    """
    if state.trace is None:
        return None
    if isinstance(lower, int) and isinstance(upper, int):
        if upper - lower < FEWEST:
            return None
        counts = torch.arange(lower, upper)
        found = _Recorded((f,), init).scans(
            lambda value, count: (f(count, value), None), wrap(counts), [counts], upper - lower)
        return None if found is None else (found[0],)
    first, last = [bound._raw.to(torch.int64).reshape(()) if isinstance(bound, Tensor)
                   else torch.tensor(bound) for bound in (lower, upper)]
    found = _Recorded((f,), (wrap(first), init)).whiles(
        lambda value: wrap(value[0]._raw < last),
        lambda value: (wrap(value[0]._raw + 1), f(*value)))
    return None if found is None else (found[0][1],)


def _are_alike(elements: Sequence[Any], raws: list[torch.Tensor]) -> bool:
    """Whether elements are all None, or all Tensors that make a stack."""
    if not raws:
        return all(x is None for x in elements)
    return len(raws) == len(elements) and not any(isinstance(x, Parameter) for x in elements) and (
        all(raw.shape == raws[0].shape and raw.dtype is raws[0].dtype
            and raw.device == raws[0].device for raw in raws))


def _length(xs: Any, length: Any) -> int:
    """The number of steps."""
    if length is not None and (not isinstance(length, int) or isinstance(length, bool)):
        raise TypeError(f"For 'scan', 'length' must be an int, but got {length!r}.")
    counts = {len(t) for t in tensors(xs) if t.ndim}
    if length is not None:
        counts.add(length)
    if any(not t.ndim for t in tensors(xs)):
        raise ValueError("For 'scan', each Tensor in 'xs' must have an axis, but one has none.")
    if not counts:
        raise ValueError("For 'scan', 'length' must be given where 'xs' has no Tensors.")
    if len(counts) > 1 or min(counts) < 0:
        raise ValueError(f"For 'scan', the Tensors in 'xs' and 'length' must have one length, "
                         f"but got {' and '.join(map(str, sorted(counts)))}.")
    return counts.pop()


def _stacked(f: Any, init: Any, xs: Any, results: list[Any]) -> Any:
    """Results of steps, each along a new first axis."""
    if not results:  # their forms are those of a step on zeros
        _, result = f(init, map_tensors(lambda t: wrap(t._raw.new_zeros(t.shape[1:])), xs))
        return map_tensors(lambda t: wrap(t._raw.detach().new_zeros((0, *t.shape))), result)
    columns = zip(*[[t._raw for t in tensors_as(results[0], result)] for result in results],
                  strict=True)
    return with_raws(results[0], [torch.stack(column) for column in columns])


def _are_tensors(value: Any) -> bool:
    """Whether a structure has Tensors alone; what else an object holds is what it is."""
    kind = kind_of(value)
    if kind is None:
        return isinstance(value, Tensor) or value is None
    return all(_are_tensors(part) or kind.keeps and kind_of(part) is None
               for part in kind.parts(value))


def with_raws(like: Any, raws: list[torch.Tensor]) -> Any:
    """A structure with other raw tensors in place of its Tensors."""
    flat = iter(raws)
    return map_tensors(lambda _: wrap(next(flat)), like)


class _Recorded:
    """A loop that is to become one operation of the graph that is being recorded.

    Args:
        program: the program's functions in it.
        init: the first value.
    """

    def __init__(self, program: tuple[Any, ...], init: Any):
        self.program, self.init = program, init
        self.result: Any = None
        self.raws = [t._raw for t in tensors(init)]
        self.is_possible = bool(self.raws) and not any(
            isinstance(t, Parameter) for t in tensors(init))

    def whiles(self, condition: Any, body: Any) -> tuple[Any] | None:
        """The last value of a `while_loop`; None if the program's own loop has to run."""
        def holds(raws: list[torch.Tensor]) -> torch.Tensor | None:
            found = condition(with_raws(self.init, raws))
            return found._raw if isinstance(found, Tensor) else None

        def step(raws: list[torch.Tensor], _: list[torch.Tensor]) -> Any:
            found = body(with_raws(self.init, raws))
            return ([t._raw for t in tensors(found)], []) if alike(found, self.init) else None

        if not self.is_possible:
            return None
        ends = state.trace.loop(self.program, step, holds, self.raws, [], None)
        return None if ends is None else (with_raws(self.init, ends[0]),)

    def scans(self, f: Any, xs: Any, stacks: list[torch.Tensor], count: int) -> Any:
        """The last value, a result and the stacks of results; None as for `whiles`."""
        def step(raws: list[torch.Tensor], elements: list[torch.Tensor]) -> Any:
            found, self.result = f(with_raws(self.init, raws), with_raws(xs, elements))
            if not alike(found, self.init) or not _are_tensors(self.result):
                return None
            return [t._raw for t in tensors(found)], [t._raw for t in tensors(self.result)]

        if not self.is_possible:
            return None
        ends = state.trace.loop(self.program, step, None, self.raws, stacks, count)
        return None if ends is None else (
            with_raws(self.init, ends[0]), self.result, ends[1])


def alike(value: Any, first: Any) -> bool:
    """Whether two values are of the same structure, and the same but for their Tensors."""
    if isinstance(first, Tensor):
        return isinstance(value, Tensor) and not isinstance(value, Parameter)
    kind = kind_of(first)
    if kind is None or type(value) is not type(first):
        return value is first or type(value) is type(first) in (int, float, bool, str) and (
            repr(value) == repr(first))
    return kind.agrees(value, first) and (
        not isinstance(first, dict) or list(value) == list(first)) and all(
            map(alike, kind.parts(value), kind.parts(first)))
