"""`implicit`, `custom_linear_solve`: gradients of solutions, by the equation they solve.

If x solves r(x, a) = 0, then dx/da = -(dr/dx)^-1 dr/da (the implicit function theorem). A solver's
steps are no part of the derivative: it may be any program. Everything is a node with a rule that is
differentiable itself, so derivatives of any order and in both modes follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap
from .custom import in_structure, with_values
from .forward import push as forward_push
from .krylov import Apply, cg, gmres
from .level import watched
from .node import Rule, attach
from .pullback import vjp
from .reverse import checked_weights
from .rules import rule_name
from .stop import no_grad
from .tree import (
    check_no_hidden,
    differentiable,
    map_tensors,
    same_structure,
    tensors,
    tensors_as,
)
from .vmap import vmap

Directions = Sequence[torch.Tensor | None]

_DIRECT = 512  # unknowns up to which "auto" forms the matrix
SOLVERS = ("auto", "direct", "cg", "gmres")


def custom_linear_solve(matvec: Callable[..., Any], b: Any, *args: Any, solver: Any = "auto",
                        symmetric: bool = False, weights: Any = None) -> Any:
    """The x with ``matvec(x, *args) == b``, differentiable by `b`, `args` and `weights`.

    The derivative solves one more system of the same kind, with the transposed matrix.

    Args:
        matvec: a function that is linear in its first argument.
        b: the right-hand side: a Tensor, or a structure of them; `x` has the same form.
        args: what else `matvec` takes.
        solver: ``"direct"`` forms the matrix; ``"cg"`` is the method of conjugate gradients, for
            positive definite matrices; ``"gmres"`` is for any; ``"auto"`` is the first for up to
            512 unknowns and otherwise, by `symmetric`, one of the others. Or a function of a
            matvec of x alone and of b, which gives x.
        symmetric: whether the matrix is its own transpose; the conjugate one, of complex numbers.
        weights: Parameters that `matvec` uses, to differentiate by as well.

    Raises:
        TypeError: if `matvec` is no function, or its result isn't of the form of `b`.
        ValueError: if there is no such solver.

    Examples:
        >>> import lamella as ms
        >>> a, b = ms.Tensor([[2.0, 0.0], [1.0, 4.0]]), ms.Tensor([2.0, 9.0])
        >>> def solution(a, b):
        ...     return ms.custom_linear_solve(lambda x, a: a @ x, b, a)
        >>> print(solution(a, b))
        [1. 2.]
        >>> print(ms.grad(lambda a, b: solution(a, b).sum(), 1)(a, b))
        [0.375 0.25 ]
    """
    if not callable(matvec):
        raise TypeError(f"For 'custom_linear_solve', 'matvec' must be a function, "
                        f"but got {type(matvec).__name__}.")
    if not callable(solver) and solver not in SOLVERS:
        raise ValueError(f"For 'custom_linear_solve', 'solver' must be a function or one of "
                         f"{', '.join(map(repr, SOLVERS))}, but got {solver!r}.")
    known = checked_weights("custom_linear_solve", weights) or ()

    def solve(b: Any, *args: Any) -> Any:
        def of_x(x: Any) -> Any:
            return matvec(x, *args)

        return solver(of_x, b) if callable(solver) else _solved(of_x, b, solver, symmetric)

    def pull(x: Any, given: tuple, gradient: Any) -> tuple[Any, ...]:
        b, *args = given

        def transposed(u: Any, *args: Any) -> Any:
            return vjp(lambda v: matvec(v, *args), _zeros(u))[1](u)[0]

        # of complex numbers the transposed matrix is the conjugate one
        same = symmetric and not any(t._raw.is_complex() for t in tensors(b))
        u = custom_linear_solve(matvec if same else transposed, gradient, *args,
                                solver=solver, symmetric=symmetric, weights=known or None)
        by_args, by_weights = pulled(lambda *a: matvec(x, *a), tuple(args), known,
                                      map_tensors(lambda t: -t, u))
        return (u, *by_args), by_weights

    def push(x: Any, given: tuple, tangents: Directions) -> Any:
        b, *args = given
        count = sum(1 for _ in tensors(b))
        right = in_structure(b, [torch.zeros_like(t._raw) if way is None else way
                                 for t, way in zip(tensors(b), tangents[:count], strict=True)])
        if any(way is not None for way in tangents[count:]):
            right = _difference(right, _moved(lambda *a: matvec(x, *a), tuple(args), known,
                                              tangents[count:]))
        return custom_linear_solve(matvec, right, *args, solver=solver, symmetric=symmetric,
                                   weights=known or None)

    return with_rule(solve, pull, (b, *args), known, f"solution of {rule_name(matvec)}", push)


def implicit(solve: Callable[..., Any], residual: Callable[..., Any] | None = None, *,
             fixed_point: Callable[..., Any] | None = None, solver: Any = "auto",
             symmetric: bool = False, weights: Any = None) -> Callable[..., Any]:
    """A function that solves an equation, with the derivatives of the solution.

    Args:
        solve: from arguments to the x with ``residual(x, *args) == 0``; any program: it isn't
            differentiated, and may loop until it has converged.
        residual: the equation, in the structure of x.
        fixed_point: instead of `residual`, a function with ``fixed_point(x, *args) == x``.
        solver: what solves the linear system of the derivative, as for `custom_linear_solve`.
        symmetric: whether the derivative of the residual by x is symmetric, as it is where the
            residual is a gradient.
        weights: Parameters that the equation uses, to differentiate by as well.

    Returns:
        A function of the arguments. It may be differentiated by them and by `weights` in both
        modes, to any order, and goes under `vmap`.

    Raises:
        TypeError: if an argument is no function.
        ValueError: unless one of `residual` and `fixed_point` is given.

    Examples:
        >>> import lamella as ms
        >>> def newton(a):
        ...     x = ms.ops.ones_like(a)
        ...     for _ in range(20):
        ...         x = (x + a / x) / 2
        ...     return x
        >>> root = ms.implicit(newton, lambda x, a: x * x - a)
        >>> print(root(ms.Tensor(4.0)), ms.grad(root)(ms.Tensor(4.0)))
        2.0 0.25
    """
    if (residual is None) == (fixed_point is None):
        raise ValueError("For 'implicit', one of 'residual' and 'fixed_point' must be given.")
    for name, value in (("solve", solve), ("residual", residual or fixed_point)):
        if not callable(value):
            raise TypeError(f"For 'implicit', '{name}' must be a function, "
                            f"but got {type(value).__name__}.")
    known = checked_weights("implicit", weights) or ()

    def equation(x: Any, *args: Any) -> Any:
        if residual is None:
            assert fixed_point is not None
            return _difference(_as(x, fixed_point(x, *args)), x)
        return _as(x, residual(x, *args))

    def transposed(u: Any, x: Any, *args: Any) -> Any:
        return vjp(lambda v: equation(v, *args), x)[1](u)[0]

    def pull(x: Any, given: tuple, gradient: Any) -> tuple[Any, ...]:
        u = custom_linear_solve(transposed, gradient, x, *given, solver=solver,
                                symmetric=symmetric, weights=known or None)
        return pulled(lambda *a: equation(x, *a), given, known, map_tensors(lambda t: -t, u))

    def linear(v: Any, x: Any, *args: Any) -> Any:
        return forward_push(lambda x: equation(x, *args), (x,), [t._raw for t in tensors(v)])[1]

    def push(x: Any, given: tuple, tangents: Directions) -> Any:
        image = _moved(lambda *a: equation(x, *a), given, known, tangents)
        return custom_linear_solve(linear, map_tensors(lambda t: -t, image), x, *given,
                                   solver=solver, symmetric=symmetric, weights=known or None)

    def solution(*args: Any) -> Any:
        return with_rule(solve, pull, args, known,
                         f"solution of {rule_name(residual or fixed_point)}",  # type: ignore
                         push)

    return solution


def with_rule(run: Callable[..., Any], pull: Callable[..., Any], args: tuple,
              weights: tuple[Parameter, ...], label: str,
              push: Callable[..., Any] | None = None) -> Any:
    """What `run` gives for arguments, with derivatives by these and by weights.

    Args:
        run: isn't differentiated.
        pull: from the result, the arguments and the result's gradient to a tuple of gradients, and
            those of the weights.
        push: from the result, the arguments and the raw tangents of the Tensors in these and of the
            weights (None for zero) to the tangent of the result; default: the transpose of `pull`.
    """
    raws = [t._raw for t in tensors(args)]
    inputs = [*raws, *(w._raw for w in weights)]
    if not watched(inputs):
        return run(*args)
    with no_grad(), with_values(weights, [raw.detach() for raw in inputs[len(raws):]]):
        out = run(*in_structure(args, [raw.detach() for raw in raws]))
    check_no_hidden(label, "the result", out)

    def rule(given: Any, found: Any, gradients: Any) -> list[Any]:
        with with_values(weights, given[len(raws):]):
            by_args, by_weights = pull(in_structure(out, found), in_structure(args, given),
                                       in_structure(out, gradients))
        leaves = [part for arg, gradient in zip(args, by_args, strict=True)
                  for part in _gradients(arg, gradient)]
        return [*leaves, *(g._raw for g in by_weights)]

    def forward(given: Any, found: Any, tangents: Any) -> list[torch.Tensor]:
        assert push is not None
        with with_values(weights, given[len(raws):]):
            tangent = push(in_structure(out, found), in_structure(args, given[:len(raws)]),
                           tangents)
        return [t._raw for t in tensors_as(out, tangent)]

    tied = iter(attach(Rule(label, rule, forward if push else None),
                       [t._raw for t in tensors(out)], inputs))
    return map_tensors(lambda _: wrap(next(tied)), out)


def _moved(fn: Callable[..., Any], args: tuple, weights: tuple[Parameter, ...],
           tangents: Directions) -> Any:
    """The tangent of a function's result, along raw tangents of its arguments and of weights."""
    def of_all(args: tuple, values: tuple[Tensor, ...]) -> Any:
        with with_values(weights, [value._raw for value in values]):
            return fn(*args)

    return forward_push(of_all, (args, tuple([wrap(w._raw) for w in weights])), tangents)[1]


def _gradients(argument: Any, gradient: Any) -> list[torch.Tensor | None]:
    if gradient is None:
        return [None for _ in tensors(argument)]
    return [t._raw if differentiable(own._raw) else None
            for own, t in zip(tensors(argument), tensors_as(argument, gradient), strict=True)]


def pulled(fn: Callable[..., Any], args: tuple, weights: tuple[Parameter, ...], gradient: Any
            ) -> tuple[list[Any], Sequence[Tensor]]:
    """The gradients of a function by those arguments that hold Tensors, and by weights.

    Hooks of the weights are left to the gradient that these are part of.
    """
    places = [i for i, arg in enumerate(args)
              if any(differentiable(t._raw) for t in tensors(arg))]

    def of_those(*chosen: Any) -> Any:
        given = dict(zip(places, chosen, strict=False))
        with with_values(weights, [value._raw for value in chosen[len(places):]]):
            return fn(*[given.get(i, arg) for i, arg in enumerate(args)])

    found: list[Any] = [None] * len(args)
    if not places and not weights:
        return found, ()
    pull = vjp(of_those, *[args[i] for i in places], *[wrap(w._raw) for w in weights])[1]
    parts = pull(gradient)
    for place, part in zip(places, parts, strict=False):
        found[place] = part
    return found, parts[len(places):]


def _zeros(tree: Any) -> Any:
    return map_tensors(lambda t: wrap(torch.zeros_like(t._raw)), tree)


def _as(like: Any, tree: Any) -> Any:
    """A structure whose dicts have their keys in the order of `like`, if it is of that form."""
    if not same_structure(like, tree):
        return tree
    return in_structure(like, [t._raw for t in tensors_as(like, tree)])


def _difference(a: Any, b: Any) -> Any:
    other = tensors_as(a, b)
    return map_tensors(lambda t: t - next(other), a)


def _solved(matvec: Callable[[Any], Any], b: Any, solver: str, symmetric: bool) -> Any:
    """The solution of a linear system, by one of the solvers here."""
    parts = [t._raw for t in tensors(b)]
    sizes, shapes = [p.numel() for p in parts], [p.shape for p in parts]

    def apply(flat: torch.Tensor) -> torch.Tensor:
        pieces = [p.reshape(s) for p, s in zip(flat.split(sizes), shapes, strict=True)]
        result = matvec(in_structure(b, pieces))
        if not same_structure(b, result):
            raise TypeError(f"For 'custom_linear_solve', 'matvec' must give the structure of 'b', "
                            f"but it gave a {type(result).__name__}.")
        return torch.cat([t._raw.reshape(-1) for t in tensors_as(b, result)])

    right = torch.cat([p.reshape(-1) for p in parts])
    if solver == "auto":
        solver = ("direct" if right.numel() <= _DIRECT else "cg" if symmetric else "gmres")
    x = {"direct": _direct, "cg": cg, "gmres": gmres}[solver](apply, right)
    return in_structure(b, [p.reshape(s) for p, s in zip(x.split(sizes), shapes, strict=True)])



def _direct(apply: Apply, b: torch.Tensor) -> torch.Tensor:
    """By the matrix, of which `apply` gives the columns in one batched run."""
    units = wrap(torch.eye(b.numel(), dtype=b.dtype, device=b.device))
    columns = vmap(lambda unit: wrap(apply(unit._raw)), randomness="same")(units)._raw
    return torch.linalg.solve(columns.mT, b)
